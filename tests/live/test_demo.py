"""The demo's replay against a real stack: it says that all of it held, and could say otherwise."""

from __future__ import annotations

import pytest

from admin.demo.readings import first_readings
from admin.demo.replay import replay
from admin.stack.gateway import MqttAddress

pytestmark = pytest.mark.live


async def test_replay(gw1: MqttAddress, gw2: MqttAddress) -> None:
    told: list[tuple[int, int, int]] = []
    outcome = await replay(first_readings(1_000), 500, gw1, gw2, lambda *numbers: told.append(numbers))
    assert outcome.holds
    assert len(outcome.verdicts) == 9
    assert (
        outcome.deliveries
        == sum(verdict.expected for verdict in outcome.verdicts)
        == 3 * (500 + 1_000 + 1_000)
    )
    assert told[-1] == (1_000, 1_000, outcome.deliveries)
