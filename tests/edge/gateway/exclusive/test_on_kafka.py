"""Exclusive subscriptions between two gateways on a real Kafka: who gets them, who does not, and when they are free."""

from __future__ import annotations

import asyncio

import pytest

from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import Subscription
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode
from tests.edge.gateway.conftest import Starting
from tests.live.peers import V3_1_1, V5, Peer, within

pytestmark = pytest.mark.live

LASTING = Properties(session_expiry_interval=600)
TAKEN = ReasonCode.QUOTA_EXCEEDED


async def subscribe(peer: Peer, *filters: str) -> tuple[int, ...]:
    """Subscribe at QoS 1; returns what SUBACK says."""
    return await within(peer.client.subscribe(*(Subscription(filter, 1) for filter in filters)))


async def end(peer: Peer) -> None:
    await within(peer.client.disconnect())


async def test_one_client_in_the_cluster_holds_it(start: Starting) -> None:
    starting = (start(node, exclusive_subscriptions=True) for node in ("gw1", "gw2"))
    (_, gw1), (_, gw2) = await asyncio.gather(*starting)
    await check_races(gw1, gw2)
    await check_holding(gw1, gw2)
    await check_lasting_sessions(gw1, gw2)
    await check_forms(gw1)


async def check_races(gw1: MqttAddress, gw2: MqttAddress) -> None:
    """Many ask at the same time, on both: exactly one gets each filter."""
    peers = [await Peer.connect((gw1, gw2)[n % 2]) for n in range(6)]
    for number in range(10):
        answers = await asyncio.gather(*(subscribe(peer, f"$exclusive/race/{number}") for peer in peers))
        assert sorted(answers) == [(1,)] + [(TAKEN,)] * 5
    for peer in peers:
        await end(peer)


async def check_holding(gw1: MqttAddress, gw2: MqttAddress) -> None:
    holder, other, old = await Peer.connect(gw1), await Peer.connect(gw2), await Peer.connect(gw2, V3_1_1)
    assert await subscribe(holder, "$exclusive/a/#", "b") == (1, 1)
    assert await subscribe(holder, "$exclusive/a/#") == (1,)  # renewed
    assert await subscribe(other, "$exclusive/a/#", "a/#", "$exclusive/a/+") == (TAKEN, 1, 1)
    assert await subscribe(old, "$exclusive/a/#") == (0x80,)
    assert await other.unsubscribe("$exclusive/a/#", "$exclusive/a/+") == (0x11, 0)
    assert await holder.unsubscribe("$exclusive/a/#") == (0,)
    assert await subscribe(old, "$exclusive/a/#") == (1,)  # at once, on another gateway
    assert await subscribe(holder, "$exclusive/a/#") == (TAKEN,)
    await end(old)
    while await subscribe(holder, "$exclusive/a/#") == (TAKEN,):
        pass  # what an ended connection leaves, it leaves soon
    assert await holder.unsubscribe("a/#") == (0,)  # the two are one
    assert await subscribe(other, "$exclusive/a/#") == (1,)
    for peer in (holder, other):
        await end(peer)


async def check_lasting_sessions(gw1: MqttAddress, gw2: MqttAddress) -> None:
    """A session keeps its hold while its client is away, and takes it along to another gateway."""
    away = await Peer.connect(gw1, V5, "lasting", properties=LASTING)
    assert await subscribe(away, "$exclusive/l") == (1,)
    await end(away)
    other = await Peer.connect(gw1)
    assert await subscribe(other, "$exclusive/l") == (TAKEN,)
    back = await Peer.connect(gw2, V5, "lasting", clean_start=False, properties=LASTING)
    assert await subscribe(other, "$exclusive/l") == (TAKEN,)
    assert await subscribe(back, "$exclusive/l") == (1,)
    await end(back)
    new = await Peer.connect(gw2, V5, "lasting", clean_start=True)  # its session ends, and with it the hold
    assert await subscribe(other, "$exclusive/l") == (1,)
    for peer in (new, other):
        await end(peer)


async def check_forms(gw1: MqttAddress) -> None:
    peer = await Peer.connect(gw1)
    refused = ("$exclusive/", "$exclusive/$share/g/a", "$exclusive/$exclusive/a")
    assert await subscribe(peer, *refused, "$exclusive") == (ReasonCode.TOPIC_FILTER_INVALID,) * 3 + (1,)
    await end(peer)


@pytest.mark.parametrize(("version", "reason"), [(V5, ReasonCode.TOPIC_FILTER_INVALID), (V3_1_1, 0x80)])
async def test_they_are_off_by_default(start: Starting, version: ProtocolVersion, reason: int) -> None:
    _, gw1 = await start("gw1")
    peer = await Peer.connect(gw1, version)
    assert await subscribe(peer, "$exclusive/a", "a") == (reason, 1)
    await end(peer)
