"""I3 and I4: the router's JVM is killed in the middle of traffic. Nothing is lost, doubled or out of order."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable

import pytest

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from tests.live.conftest import Connecting
from tests.live.peers import Peer

pytestmark = [pytest.mark.live, pytest.mark.timeout(900, func_only=True)]

MESSAGES = 2_000
SECONDS_TO_COME_BACK = 300.0


async def publish_numbers(publisher: Peer, topics: list[str], qos: int, killed: Callable[[], object]) -> None:
    """Publish numbered messages on alternating topics, and do the deed in the middle of them."""
    acknowledged = []
    for number in range(MESSAGES):
        topic = topics[number % len(topics)]
        acknowledged.append(publisher.client.publish(topic, str(number).encode(), qos))
        if number % 20 == 0:
            await asyncio.sleep(0.005)  # the pace: some 2,000 a second, so that the kill meets traffic
        if number == MESSAGES // 2:
            killed()
    assert set(await asyncio.wait_for(asyncio.gather(*acknowledged), SECONDS_TO_COME_BACK)) == {0}


@pytest.mark.parametrize("qos", [1, 0, 2])
async def test_kill_in_the_middle_of_2000_messages(
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, qos: int
) -> None:
    exact, wildcard, publisher = await connect(gw2), await connect(gw2), await connect(gw1)
    topics = [topic] if qos == 1 else [f"{topic}/{number}" for number in range(4)]
    await exact.subscribe(*topics)
    await wildcard.subscribe(f"{topic}/#")
    restarts: list[int] = []
    await publish_numbers(publisher, topics, qos, lambda: restarts.append(stack.kill("router")))
    for subscriber in (exact, wildcard):
        came = await subscriber.take(MESSAGES, SECONDS_TO_COME_BACK)
        numbers = defaultdict(list)
        for message in came:
            assert message.qos == qos
            numbers[message.topic].append(int(message.payload))
        assert numbers == {
            name: list(range(MESSAGES))[place :: len(topics)] for place, name in enumerate(topics)
        }
    await asyncio.to_thread(stack.wait_restarted, "router", restarts[0])
    await expect_nothing_more(publisher, [exact, wildcard], topics)


async def expect_nothing_more(publisher: Peer, subscribers: list[Peer], topics: list[str]) -> None:
    """What the new router repeats stands before what it gets now, topic by topic."""
    for name in topics:
        await publisher.publish(name, "end")
    for subscriber in subscribers:
        assert await subscriber.payloads(len(topics), SECONDS_TO_COME_BACK) == ["end"] * len(topics)
        assert subscriber.inbox == []


async def test_what_is_published_while_the_router_is_away(
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """P08 (b): it goes on where it was, and also finds who subscribed meanwhile."""
    publisher, subscriber = await connect(gw1), await connect(gw2)
    restarts = stack.kill("router")
    await subscriber.subscribe(topic, f"{topic}/+")
    for number in range(50):
        await publisher.publish(f"{topic}/{number}" if number % 2 else topic, str(number))
    assert stack.restarts("router") <= restarts + 1
    came = sorted(map(int, await subscriber.payloads(50, SECONDS_TO_COME_BACK)))
    assert came == list(range(50))
    await asyncio.to_thread(stack.wait_restarted, "router", restarts)
