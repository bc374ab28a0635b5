"""P14: the router's table is read anew while it runs; what clients change holds at once, and by each table after."""

from __future__ import annotations

import json

import pytest

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from edge.mqtt.properties import Properties
from tests.live.conftest import Connecting
from tests.live.failures.conftest import PARTITIONS
from tests.live.peers import eventually, sibling, within

pytestmark = [pytest.mark.live, pytest.mark.timeout(900, func_only=True)]

PATIENCE = 150.0
NEW_TABLES = 2
"""With the first, what was carried in-band stands in the table, and what has ended is gone from it."""


def generation(stack: Stack) -> int:
    """Which generation of the router is in charge: each has read the table anew."""
    [file] = (stack.data / "router").rglob("generation.json")
    return int(json.loads(file.read_bytes())["number"])


async def test_changes_are_honoured(
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, client_id: str
) -> None:
    """A new filter, an UNSUBSCRIBE, another QoS, a session that expires: published to at +0, and by each new table.

    Another ACL: tests/live/test_secured.py, which has users.
    """
    fence = sibling(topic, f"{topic}/fence", PARTITIONS)
    publisher, steady, new, gone, raised, lowered = [await connect(gw) for gw in (gw1, *[gw2] * 5)]
    for peer, qos in ((steady, 2), (gone, 2), (raised, 0), (lowered, 2)):
        await peer.subscribe(topic, qos=qos)
    short = Properties(session_expiry_interval=1)
    expiring = await connect(gw2, client_id=client_id, properties=short)
    await expiring.subscribe(topic, qos=2)
    restarts = stack.restarts("router")

    async def publish(payload: str) -> None:
        await publisher.publish(topic, payload, qos=2)
        await publisher.publish(fence, payload, qos=2)

    async def next_table() -> None:
        at_first = generation(stack)
        await eventually(lambda: generation(stack) > at_first, "the router reads its table", PATIENCE)

    await next_table()  # All of that is in the table now.
    await publish("before")
    for peer, qos in ((steady, 2), (gone, 2), (raised, 0), (lowered, 2), (expiring, 2)):
        [message] = await peer.take(1, PATIENCE)
        assert (message.payload, message.qos) == (b"before", qos)
    await new.subscribe(topic, qos=1)
    assert await gone.unsubscribe(topic) == (0,)
    await gone.subscribe(fence)
    await raised.subscribe(topic, qos=1)
    await lowered.subscribe(topic, qos=0)
    expiring.client.drop()
    await within(expiring.client.ended)
    moments = [f"after {number}" for number in range(NEW_TABLES + 1)]
    for moment in moments:
        await publish(moment)
        if moment != moments[-1]:
            await next_table()
    for peer, qos in ((steady, 2), (new, 1), (raised, 1), (lowered, 0)):
        came = await peer.take(len(moments), PATIENCE)
        assert [(message.payload.decode(), message.qos) for message in came] == [(m, qos) for m in moments]
    # What stands behind all of them came, and nothing else.
    assert await gone.payloads(len(moments), PATIENCE) == moments
    assert not gone.inbox
    back = await connect(gw2, client_id=client_id, clean_start=False, properties=short)
    await back.subscribe(fence)
    await publish("end")
    assert await back.payloads(1, PATIENCE) == ["end"]
    assert stack.restarts("router") == restarts
