"""The demo's replay against a real stack: it says that all of it held, and could say otherwise."""

from __future__ import annotations

import pytest

from admin.demo.readings import first_readings
from admin.demo.replay import Journey, replay
from admin.demo.traveller import Stage
from admin.stack.gateway import MqttAddress

pytestmark = pytest.mark.live


@pytest.mark.mqtt(v3="7.1.2-1")
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


async def test_travellers(gw1: MqttAddress, gw2: MqttAddress) -> None:
    told: list[str] = []
    stages = [Stage(200, None, "offline"), Stage(500, gw2, "elsewhere"), Stage(700, gw1, "back")]
    elsewhere = [Stage(300, None, "stopped"), Stage(800, gw2, "resumed")]
    journeys = [
        Journey("traveller", gw1, stages, told.append),
        Journey("application", gw1, elsewhere, told.append),
    ]
    outcome = await replay(first_readings(1_000), 500, gw1, gw2, journeys=journeys)
    assert outcome.holds
    assert told == ["offline", "stopped", "elsewhere", "back", "resumed"]
    travelled = [(verdict.note, verdict.delivered) for verdict in outcome.verdicts[-2:]]
    assert travelled == [("(traveller)", 1_000), ("(application)", 1_000)]
