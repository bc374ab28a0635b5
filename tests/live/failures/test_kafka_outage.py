"""Kafka is killed, or stops for a while (P18): nothing is acknowledged that is not stored, nothing stored is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import psutil
import pytest

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import Publish
from tests.live.conftest import Connecting
from tests.live.peers import Peer

pytestmark = [pytest.mark.live, pytest.mark.timeout(900, func_only=True)]

SECONDS_TO_COME_BACK = 300.0
MEBIBYTE = 1 << 20


@pytest.fixture
async def stopped(stack: Stack) -> AsyncIterator[Stack]:
    """The stack, whose Kafka goes on at the end whatever happens."""
    yield stack
    stack.resume("kafka")


def numbers(messages: list[Publish], topic: str) -> list[int]:
    """The numbers on one topic, in the order in which they came."""
    return [int(message.payload) for message in messages if message.topic == topic]


async def test_kill_in_the_middle_of_traffic(
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    subscriber, publisher = await connect(gw2), await connect(gw1)
    await subscriber.subscribe(f"{topic}/#")
    acknowledged: list[asyncio.Future[int]] = []
    restarts = 0
    for number in range(1_000):
        if number == 500:
            restarts = stack.kill("kafka")
        acknowledged += [publisher.client.publish(f"{topic}/{qos}", b"%d" % number, qos) for qos in (1, 2)]
        await asyncio.sleep(0.001)  # the pace: the kill is to meet traffic
    assert set(await asyncio.wait_for(asyncio.gather(*acknowledged), SECONDS_TO_COME_BACK)) == {0}
    came = await subscriber.take(2_000, SECONDS_TO_COME_BACK)
    assert numbers(came, f"{topic}/1") == list(range(1_000))
    assert numbers(came, f"{topic}/2") == list(range(1_000))
    await asyncio.to_thread(stack.wait_restarted, "kafka", restarts)
    for qos in (1, 2):  # what would come a second time stands before these
        await publisher.publish(f"{topic}/{qos}", "-1", qos)
    assert [message.payload for message in await subscriber.take(2)] == [b"-1", b"-1"]
    assert subscriber.inbox == []


async def test_stop_and_go_on(
    stopped: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    subscriber, publisher, late = await connect(gw2), await connect(gw1), await connect(gw1)
    await subscriber.subscribe(f"{topic}/#")
    await publisher.publish(f"{topic}/before")
    assert (await subscriber.take())[0].topic == f"{topic}/before"
    stopped.pause("kafka")
    acknowledged = [
        publisher.client.publish(f"{topic}/{qos}", str(number).encode(), qos)
        for number in range(100)
        for qos in (0, 1, 2)
    ]
    subscribing = asyncio.create_task(late.subscribe(f"{topic}/late"))
    await ping_for_a_while(publisher, late, subscriber)
    assert not subscribing.done()
    assert not [future for future in acknowledged if future.done()][
        100:
    ]  # QoS 0 alone, which waits for nothing
    assert subscriber.inbox == []
    stopped.resume("kafka")
    assert set(await asyncio.wait_for(asyncio.gather(*acknowledged), SECONDS_TO_COME_BACK)) == {0}
    await asyncio.wait_for(subscribing, SECONDS_TO_COME_BACK)
    came = await subscriber.take(300, SECONDS_TO_COME_BACK)
    for qos in (0, 1, 2):
        assert numbers(came, f"{topic}/{qos}") == list(range(100))
    await publisher.publish(f"{topic}/late", "hello")
    assert await late.payloads(1, SECONDS_TO_COME_BACK) == ["hello"]


async def ping_for_a_while(*peers: Peer, seconds: float = 8.0) -> None:
    """Each ping is answered; so many seconds are more than the gateway's and Kafka's own short timeouts."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while loop.time() < end:
        for peer in peers:
            await asyncio.wait_for(peer.client.ping(), 5.0)
        await asyncio.sleep(0.1)


async def test_a_flood_while_it_stops_costs_bounded_memory(
    stopped: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    gateway = psutil.Process(stopped.pid("gw1"))
    subscriber, bystander, keen = await connect(gw2), await connect(gw1), await connect(gw1)
    flooders = [await connect(gw1) for _ in range(4)]
    await subscriber.subscribe(f"{topic}/#")
    before = gateway.memory_info().rss
    stopped.pause("kafka")
    waiting = [keen.client.publish(f"{topic}/keen", str(number).encode(), 1) for number in range(500)]
    payload = bytes(16 << 10)
    for flooder in flooders:  # 250 MiB at QoS 0, and 64 MiB of QoS 1 within the window of each
        for number in range(5_000):
            flooder.client.publish(f"{topic}/flood", payload, qos=int(number < 1_000))
    await ping_for_a_while(bystander)
    assert gateway.memory_info().rss - before < 250 * MEBIBYTE
    assert not any(future.done() for future in waiting)
    for flooder in flooders:
        flooder.client.drop()
    stopped.resume("kafka")
    assert set(await asyncio.wait_for(asyncio.gather(*waiting), SECONDS_TO_COME_BACK)) == {0}
    keen_numbers: list[int] = []
    while len(keen_numbers) < 500:
        keen_numbers += numbers(await subscriber.take(1, SECONDS_TO_COME_BACK), f"{topic}/keen")
    assert keen_numbers == list(range(500))
