"""Retained messages outlive gateways: both are killed, and whoever subscribes then sees what was acknowledged."""

from __future__ import annotations

import asyncio

import pytest

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from tests.live.conftest import Connecting

pytestmark = [pytest.mark.live, pytest.mark.timeout(900, func_only=True)]


async def test_they_survive_all_gateways(
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    publisher = await connect(gw1)
    topics = [f"{topic}/{number}" for number in range(50)]
    for name in topics:
        await publisher.publish(name, "first", retain=True)
    await publisher.publish(topics[0], "", retain=True)
    # The last are acknowledged right before the kill.
    await asyncio.gather(*(publisher.publish(name, "last", 2, retain=True) for name in topics[1:]))
    restarts = {name: stack.kill(name) for name in ("gw1", "gw2")}
    for name, before in restarts.items():
        await asyncio.to_thread(stack.wait_restarted, name, before)
    for address in (gw1, gw2):
        subscriber = await connect(address)
        await subscriber.subscribe(f"{topic}/+", qos=1)
        came = {message.topic: (message.payload, message.retain) for message in await subscriber.take(49)}
        assert came == dict.fromkeys(topics[1:], (b"last", True))
    cleaner = await connect(gw2)
    await asyncio.gather(*(cleaner.publish(name, "", retain=True) for name in topics))
