"""Share groups while parts die: each message of QoS 2 to exactly one member, whoever dispatched it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from tests.live.conftest import Connecting
from tests.live.failures.test_persistence_failures import Subscriber, subscriber
from tests.live.peers import Peer, eventually

pytestmark = [pytest.mark.live, pytest.mark.timeout(600, func_only=True)]

MESSAGES = 600


def together(members: list[Subscriber]) -> list[str]:
    return [payload for member in members for payload in member.payloads]


@pytest.mark.parametrize("part", ["gw2", "router", "kafka"])
@pytest.mark.parametrize("qos", [1, 2])
async def test_a_part_is_killed_in_the_middle(
    stack: Stack,
    connect: Connecting,
    gw1: MqttAddress,
    topic: str,
    unique: Callable[[str], str],
    part: str,
    qos: int,
) -> None:
    """P06. There are several groups, so that either gateway dispatches some of them."""
    publisher: Peer = await connect(gw1)
    groups = [f"$share/{name}/{topic}" for name in ("a", "b", "c", "d")]
    with ExitStack() as at_end:
        members = {
            group: [at_end.enter_context(subscriber(stack, unique("member"), group)) for _ in range(2)]
            for group in groups
        }
        for number in range(MESSAGES):
            if number == MESSAGES // 2:
                restarts = stack.kill(part)
            await publisher.publish(topic, str(number), qos)
        await asyncio.to_thread(stack.wait_restarted, part, restarts)
        sent = [str(number) for number in range(MESSAGES)]
        for group, pair in members.items():
            await eventually(lambda pair=pair: len(set(together(pair))) == MESSAGES, group, 120)  # type: ignore[misc]
            came = together(pair)
            if qos == 2:
                assert sorted(came, key=int) == sent
                for member in pair:
                    assert member.payloads == sorted(member.payloads, key=int)
            else:
                assert sorted(set(came), key=int) == sent
