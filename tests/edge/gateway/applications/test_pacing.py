"""Paces, on a clock of the test's own."""

from __future__ import annotations

import pytest

from edge.gateway.applications.pacing import Pace


def taken(pace: Pace, now: float) -> int:
    count = 0
    while not pace.wait(now):
        count += 1
    return count


@pytest.mark.parametrize("rate", [0.5, 3.0, 1_000.0, 20_000.0])
@pytest.mark.parametrize("tick", [0.000_1, 0.007, 0.04])
def test_never_faster_and_hardly_slower(rate: float, tick: float) -> None:
    pace = Pace(rate, 100.0)
    count = 0
    for number in range(int(2 / tick)):
        now = 100.0 + number * tick
        count += taken(pace, now)
        assert count <= rate * (now - 100.0) + 1.001
    assert count >= rate * 2 * 0.98 - 2


def test_a_pause_is_not_caught_up_with() -> None:
    pace = Pace(100.0, 0.0)
    assert taken(pace, 0.0) == 1
    assert taken(pace, 50.0) <= 7


def test_it_tells_when_to_ask_again() -> None:
    pace = Pace(4.0, 0.0)
    assert [pace.wait(0.0), pace.wait(0.0), pace.wait(0.25)] == [0.0, 0.25, 0.0]


def test_no_rate_is_any_rate() -> None:
    pace = Pace(0.0, 0.0)
    assert not any(pace.wait(0.0) for _ in range(10_000))
