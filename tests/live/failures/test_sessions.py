"""I7 under failures: gateways that are killed or stand still, owners that die in a storm, Kafka that stops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from admin.demo.client import ConnectionLostError
from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import PubComp, Publish, PubRec, PubRel, Will
from tests.live.conftest import Connecting
from tests.live.device import device
from tests.live.peers import Peer, within

pytestmark = [pytest.mark.live, pytest.mark.timeout(900, func_only=True)]

BOUND = 6.0 + 3.0
"""Seconds within which a killed gateway's clients may go elsewhere: the session timeout, and a little."""
SLACK = 30.0
"""What a machine that is busy with other tests, too, may need on top: without that bound they would wait for ever."""


@pytest.fixture
async def mended(stack: Stack) -> AsyncIterator[Stack]:
    """The stack, whose parts go on at the end whatever happens."""
    yield stack
    for part in ("kafka", "gw1", "gw2"):
        stack.resume(part)


async def test_who_was_connected_to_a_killed_gateway_gets_in_elsewhere(
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress
) -> None:
    lost = [await connect(gw2) for _ in range(20)]
    restarts = stack.kill("gw2")
    loop = asyncio.get_running_loop()
    killed_at = loop.time()
    back = await asyncio.gather(*(connect(gw1, client_id=peer.client_id) for peer in lost))
    assert loop.time() - killed_at < BOUND + SLACK
    for peer in back:
        await within(peer.client.ping())
    await asyncio.to_thread(stack.wait_restarted, "gw2", restarts)
    for peer in back:
        await within(peer.client.ping())  # the new life of its node took nothing from them


async def test_an_owner_dies_in_a_storm_of_connects(
    stack: Stack, connect: Connecting, gw1: MqttAddress
) -> None:
    """Each connect on the gateway that lives is answered, in time, and once."""
    restarts = 0
    loop = asyncio.get_running_loop()
    storm = []
    for number in range(300):
        storm.append(asyncio.ensure_future(connect(gw1)))
        if number == 150:
            restarts, killed_at = stack.kill("gw2"), loop.time()
        await asyncio.sleep(0.005)  # the pace: the kill is to meet connects
    peers = await asyncio.wait_for(asyncio.gather(*storm), BOUND + SLACK + 30.0)
    assert loop.time() - killed_at < BOUND + SLACK
    for peer in peers:
        await within(peer.client.ping())
    await asyncio.to_thread(stack.wait_restarted, "gw2", restarts)


async def test_a_gateway_that_stood_still_gives_up_who_has_gone_elsewhere(
    mended: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    stale, bystander, watcher = await connect(gw2), await connect(gw2), await connect(gw1)
    await watcher.subscribe(topic, qos=1)
    mended.pause("gw2")
    fresh = await connect(gw1, client_id=stale.client_id)
    mended.resume("gw2")
    # Both were taken for lost; who has not come back elsewhere may come back here.
    await within(stale.client.ended)
    await within(bystander.client.ended)
    await within(fresh.client.ping())
    again = await connect(gw2, client_id=bystander.client_id)
    await fresh.publish(topic, "fresh")
    await again.publish(topic, "again")
    assert sorted(await watcher.payloads(2)) == ["again", "fresh"]


async def test_what_a_gateway_finds_in_its_sockets_when_it_goes_on_is_not_published_twice(
    mended: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """I5: the client has gone on with its QoS 2 exchange elsewhere, and the gateway that stood still has it to read."""
    watcher = await connect(gw1)
    await watcher.subscribe(topic, qos=2)
    publish, client_id = Publish(topic, b"once", qos=2, packet_id=7), f"{topic}-publisher"
    async with device(gw2, client_id) as stale:
        mended.pause("gw2")
        stale.raw.send(publish)
        async with device(gw1, client_id) as fresh:
            fresh.raw.send(replace(publish, dup=True))
            assert await fresh.next() == PubRec(7)
            mended.resume("gw2")
            await stale.raw.until_end()
            fresh.raw.send(PubRel(7))
            assert await fresh.next() == PubComp(7)
    again = await connect(gw2)
    await again.publish(topic, "end")
    assert await watcher.payloads_until("end") == ["once"]


async def test_connecting_while_kafka_stands_still(
    mended: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress
) -> None:
    there = await connect(gw1)
    mended.pause("kafka")
    waiting = [asyncio.ensure_future(connect(address)) for address in (gw1, gw2) for _ in range(20)]
    again = asyncio.ensure_future(connect(gw2, client_id=there.client_id))
    done, _ = await asyncio.wait(waiting, timeout=8.0)
    assert not done
    await within(there.client.ping())
    mended.resume("kafka")
    for peer in await asyncio.wait_for(asyncio.gather(*waiting), 60.0):
        await within(peer.client.ping())
    assert await within(there.client.ended) == 0x8E
    await within((await within(again)).client.ping())


async def test_connected_clients_stay_when_kafka_is_killed(
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress
) -> None:
    """The group of owners is set up anew meanwhile; nobody is taken for lost."""
    peers = [await connect(address) for address in (gw1, gw2) for _ in range(5)]
    restarts = stack.kill("kafka")
    await asyncio.to_thread(stack.wait_restarted, "kafka", restarts)
    await within(connect(gw1))
    await within(connect(gw2))
    for peer in peers:
        await within(peer.client.ping())
        assert not peer.client.ended.done()


async def test_takeovers_while_an_owner_dies(
    stack: Stack, connect: Connecting, gw1: MqttAddress, topic: str
) -> None:
    """Clients that hop to the gateway that lives, with their wills; each will goes out at most once."""
    watcher = await connect(gw1)
    await watcher.subscribe(f"{topic}/#", qos=1)
    names = [f"{topic}-hop-{number}" for number in range(40)]

    async def hop(name: str) -> Peer:
        peer = None
        for round in range(4):
            try:
                peer = await connect(gw1, client_id=name, will=Will(f"{topic}/{name[-2:]}", b"%d" % round, 1))
            except ConnectionLostError:
                continue
        assert peer is not None
        return peer

    hopping = [asyncio.create_task(hop(name)) for name in names]
    restarts = stack.kill("gw2")
    for peer in await asyncio.wait_for(asyncio.gather(*hopping), BOUND + SLACK + 60.0):
        await within(peer.client.ping())
    await asyncio.to_thread(stack.wait_restarted, "gw2", restarts)
    await watcher.publish(f"{topic}/end", "end")
    came = await watcher.payloads_until("end")
    assert len(came) <= 3 * len(names)
