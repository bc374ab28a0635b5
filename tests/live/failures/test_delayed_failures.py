"""Delayed messages while gateways die: each is published once."""

from __future__ import annotations

import asyncio

import pytest

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from tests.live.conftest import Connecting
from tests.live.failures.conftest import PARTITIONS
from tests.live.peers import sibling

pytestmark = [pytest.mark.live, pytest.mark.timeout(600, func_only=True)]

SECONDS = range(2, 10)
EACH = 25


@pytest.mark.parametrize("victim", ["gw2", "gw1"])
async def test_a_gateway_is_killed_while_they_fall_due(
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, victim: str
) -> None:
    """They fall due over some seconds, in all partitions, so the killed one is in the middle of some or other."""
    stays = gw1 if victim == "gw2" else gw2
    subscriber, first, second = await connect(stays), await connect(gw1), await connect(gw2)
    root = topic.split("/")[0]
    await subscriber.subscribe(f"{root}/#", qos=2)
    sent: list[str] = []
    for number in range(EACH):
        for seconds in SECONDS:
            name = f"{root}/{number % PARTITIONS}"
            sent.append(f"{seconds}.{number:02}")
            publisher = first if seconds % 2 else second
            assert await publisher.publish(f"$delayed/{seconds}/{name}", sent[-1], 2) == 0
    came = await subscriber.payloads()
    restarts = stack.kill(victim)
    came += await subscriber.payloads(len(sent) - 1, 120)
    await asyncio.to_thread(stack.wait_restarted, victim, restarts)
    witness = await connect(stays)
    fences = [
        sibling(f"{root}/{number}", f"{root}/fence{number}/", PARTITIONS) for number in range(PARTITIONS)
    ]
    for fence in fences:  # behind all of them, wherever they stand
        await witness.publish(fence, "fence", 1)
    assert await subscriber.payloads(PARTITIONS) == ["fence"] * PARTITIONS
    assert sorted(came) == sorted(sent)
