"""Share groups while parts die: each message of QoS 2 to exactly one member, whoever dispatched it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from tests.live.conftest import Connecting
from tests.live.failures.test_persistence_failures import Subscriber, publish_to, subscriber
from tests.live.peers import eventually

pytestmark = [pytest.mark.live, pytest.mark.timeout(600, func_only=True)]

MESSAGES = 400


def together(members: list[Subscriber]) -> list[str]:
    return [payload for member in members for payload in member.payloads]


def check_given_once(pair: list[Subscriber], qos: int) -> None:
    """A group's members have all messages between them; at QoS 2 each of them once, and each member in order."""
    sent, came = [str(number) for number in range(MESSAGES)], together(pair)
    if qos == 1:
        assert sorted(set(came), key=int) == sent
        return
    assert sorted(came, key=int) == sent
    for member in pair:
        assert member.payloads == sorted(member.payloads, key=int)


@pytest.mark.parametrize("part", ["gw2", "router", "kafka"])
async def test_a_part_is_killed_in_the_middle(
    stack: Stack, connect: Connecting, gw1: MqttAddress, topic: str, unique: Callable[[str], str], part: str
) -> None:
    """P06. There are several groups at either QoS, so that either gateway dispatches some of them."""
    topics = {qos: f"{topic}/{qos}" for qos in (1, 2)}
    publishers = {qos: await connect(gw1) for qos in topics}
    groups = {f"$share/{name}/{topics[qos]}": qos for name in ("a", "b", "c", "d") for qos in topics}

    async def publish(numbers: range) -> None:
        await asyncio.gather(
            *(publish_to(publishers[qos], name, numbers, qos) for qos, name in topics.items())
        )

    with ExitStack() as at_end:
        members = {
            group: [at_end.enter_context(subscriber(stack, unique("member"), group)) for _ in range(2)]
            for group in groups
        }
        await publish(range(MESSAGES // 2))
        restarts = stack.kill(part)
        await publish(range(MESSAGES // 2, MESSAGES))
        await asyncio.to_thread(stack.wait_restarted, part, restarts)
        for group, pair in members.items():
            await eventually(lambda pair=pair: len(set(together(pair))) == MESSAGES, group, 120)  # type: ignore[misc]
            check_given_once(pair, groups[group])
