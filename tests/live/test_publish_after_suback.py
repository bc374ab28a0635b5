"""I2: a message published after a SUBACK, on any gateway, reaches that subscription, each time and at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from admin.stack.gateway import MqttAddress
from tests.live.conftest import Connecting

pytestmark = pytest.mark.live

ROUNDS = 500


def filter_of(number: int, prefix: str) -> tuple[str, str]:
    """A filter that nobody has held before, and a topic that it matches: exact, wildcard, or of a new shape."""
    match number % 3:
        case 0:
            return f"{prefix}/exact/{number}", f"{prefix}/exact/{number}"
        case 1:
            return f"{prefix}/+/{number}", f"{prefix}/any/{number}"
    depth, place = 4 + number // 3 // 12, 1 + number // 3 % 12 % 3
    levels = [prefix, *(f"l{number}" for _ in range(depth))]
    topic = "/".join(levels)
    levels[place] = "+"
    return "/".join([*levels[:-1], "#"]) if number // 9 % 2 else "/".join(levels), topic


@pytest.mark.timeout(240, func_only=True)
async def test_500_rounds(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, unique: Callable[[str], str]
) -> None:
    prefix = unique("suback")
    subscriber, publisher = await connect(gw2), await connect(gw1)
    missed = []
    for number in range(ROUNDS):
        filter, topic = filter_of(number, prefix)
        await subscriber.subscribe(filter, qos=1)
        publisher.client.publish(topic, str(number).encode(), qos=1)
        try:
            [payload] = await subscriber.payloads(1, seconds=20)
        except AssertionError:
            missed.append(filter)
        else:
            assert payload == str(number)
        await subscriber.unsubscribe(filter)
    assert missed == []
    assert subscriber.inbox == []
