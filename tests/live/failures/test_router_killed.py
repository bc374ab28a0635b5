"""I3 and I4: the router's JVM is killed in the middle of traffic. Nothing is lost, doubled or out of order."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable

import pytest

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import Publish
from tests.live.conftest import Connecting
from tests.live.peers import Peer

pytestmark = [pytest.mark.live, pytest.mark.timeout(900, func_only=True)]

MESSAGES = 2_000
SECONDS_TO_COME_BACK = 300.0

Flows = dict[str, tuple[int, list[int]]]
"""Topic → QoS, and the numbers that are published there."""


def flows_of(topic: str) -> Flows:
    """Two thousand numbers at each QoS; at 0 and 2 they alternate between two topics (P02)."""
    numbers = list(range(MESSAGES))
    found = {f"{topic}/1": (1, numbers)}
    for qos in (0, 2):
        found |= {f"{topic}/{qos}/{place}": (qos, numbers[place::2]) for place in (0, 1)}
    return found


async def publish(publisher: Peer, flows: Flows, kill: Callable[[], object]) -> None:
    """Publish the numbers in their order, and do the deed in the middle of them."""
    acknowledged: list[asyncio.Future[int]] = []
    topics_of: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for topic, (qos, numbers) in flows.items():
        for number in numbers:
            topics_of[number].append((topic, qos))
    for number in range(MESSAGES):
        acknowledged += [
            publisher.client.publish(name, b"%d" % number, qos) for name, qos in topics_of[number]
        ]
        if number % 20 == 0:
            await asyncio.sleep(0.005)  # the pace: some 2,000 a second, so that the kill meets traffic
        if number == MESSAGES // 2:
            kill()
    assert set(await asyncio.wait_for(asyncio.gather(*acknowledged), SECONDS_TO_COME_BACK)) == {0}


def sorted_by_topic(messages: list[Publish]) -> Flows:
    """What came, as it came."""
    numbers: dict[tuple[str, int], list[int]] = defaultdict(list)
    for message in messages:
        numbers[message.topic, message.qos].append(int(message.payload))
    return {topic: (qos, came) for (topic, qos), came in numbers.items()}


async def test_kill_in_the_middle(
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """P02, P11: what was written in the batch that is not committed is written again, and comes once at each QoS."""
    exact, wildcard, publisher = await connect(gw2), await connect(gw2), await connect(gw1)
    flows = flows_of(topic)
    await exact.subscribe(*flows)
    await wildcard.subscribe(f"{topic}/#")
    restarts: list[int] = []
    await publish(publisher, flows, lambda: restarts.append(stack.kill("router")))
    for subscriber in (exact, wildcard):
        came = await subscriber.take(3 * MESSAGES, SECONDS_TO_COME_BACK)
        assert sorted_by_topic(came) == flows
    await asyncio.to_thread(stack.wait_restarted, "router", restarts[0], SECONDS_TO_COME_BACK)
    # What the new router repeats stands before what it gets now, topic by topic.
    for name in flows:
        await publisher.publish(name, "end")
    for subscriber in (exact, wildcard):
        assert await subscriber.payloads(len(flows), SECONDS_TO_COME_BACK) == ["end"] * len(flows)
        assert subscriber.inbox == []


async def test_what_is_published_while_it_is_away(
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """P08 (b): it goes on where it was, and also finds who subscribed meanwhile."""
    publisher, subscriber = await connect(gw1), await connect(gw2)
    restarts = stack.kill("router")
    await subscriber.subscribe(topic, f"{topic}/+")
    for number in range(50):
        await publisher.publish(f"{topic}/{number}" if number % 2 else topic, str(number))
    came = sorted(map(int, await subscriber.payloads(50, SECONDS_TO_COME_BACK)))
    assert came == list(range(50))
    await asyncio.to_thread(stack.wait_restarted, "router", restarts, SECONDS_TO_COME_BACK)
