"""Over the ends of batches, where the table is read anew, everything comes once, in order: in-band or by the table."""

from __future__ import annotations

import asyncio

import pytest

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from tests.live.conftest import Connecting
from tests.live.peers import Peer, check_all_since

pytestmark = [pytest.mark.live, pytest.mark.timeout(900, func_only=True)]

BATCHES = 2
SECONDS = BATCHES * 10.0 + 5.0
SECONDS_TO_COME_BACK = 300.0


@pytest.mark.mqtt(v3="4.6.0-6", v5="4.6.0-5 4.6.0-6")
async def test_order_and_count_over_batches(
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """Three subscribers from the start, and one with a new shape every five seconds; all get all from then on."""
    restarts = stack.restarts("router")
    publisher = await connect(gw1)
    first = [await connect(gw2) for _ in range(3)]
    for subscriber, filter in zip(first, (topic, f"{topic.split('/')[0]}/+", f"{topic}/#"), strict=True):
        await subscriber.subscribe(filter, qos=1)
    joined: list[tuple[int, Peer]] = [(0, subscriber) for subscriber in first]
    loop = asyncio.get_running_loop()
    began_at, number = loop.time(), 0
    while loop.time() - began_at < SECONDS:
        if loop.time() - began_at > 5 * (len(joined) - 2):
            joined.append((number, await connect(gw2)))
            await joined[-1][1].subscribe(*new_shape(topic, len(joined)), qos=1)
        await publisher.publish(topic, str(number))
        number += 1
        await asyncio.sleep(0.005)
    await publisher.publish(topic, "end")
    for since, subscriber in joined:
        came = [int(payload) for payload in await subscriber.payloads_until("end", SECONDS_TO_COME_BACK)]
        check_all_since(came, since, number)
    assert stack.restarts("router") == restarts


def new_shape(topic: str, depth: int) -> tuple[str, str]:
    """The topic itself, and a filter of a shape that only this test has, which does not match it."""
    return topic, "/".join([topic, *("+" for _ in range(depth)), "x"])
