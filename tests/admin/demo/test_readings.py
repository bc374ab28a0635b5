"""The demo's data are what they are said to be."""

from __future__ import annotations

import importlib.util
import json

import pytest

from admin.demo.readings import AVAILABLE, TOPICS, first_readings
from admin.errors import AdminError


def test_readings_come_in_the_order_of_time() -> None:
    readings = first_readings(AVAILABLE)
    assert len(readings) == AVAILABLE
    assert {reading.topic for reading in readings} == set(TOPICS)
    times = [reading.time for reading in readings]
    assert times == sorted(times)


def test_payloads_tell_themselves_apart() -> None:
    readings = first_readings(AVAILABLE)
    assert len({(reading.topic, reading.payload) for reading in readings}) == AVAILABLE
    assert json.loads(readings[0].payload) == {"number": 1, "time": "2010/01/01 00:00", "fahrenheit": 39.4}


def test_data_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(AdminError, match="pip install"):
        first_readings(1)
