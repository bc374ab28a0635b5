"""Turns: an observer has every second one, and each of its turns is compared with those around it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bench import turns
from bench.load.recording import Moment
from bench.turns import COUNTED, FIRST_AFTER, SETTLE, Look, Turns, looks


class Noted:
    """An observer that notes what it is told."""

    processes: Mapping[str, int] = {}

    def __init__(self) -> None:
        self.told: list[str] = []

    def begin(self) -> None:
        self.told.append("begin")

    def look(self) -> None:
        self.told.append("look")

    def end(self) -> None:
        self.told.append("end")


class Clock:
    """A clock that goes when it is told to."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


def test_every_second_turn_is_the_observers(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, observer = Clock(), Noted()
    monkeypatch.setattr(turns, "time", clock)
    schedule = Turns(observer, 2)
    schedule.tick()
    assert schedule.begun_at == []
    clock.now += FIRST_AFTER
    for _ in range(5):
        schedule.tick()
        schedule.tick()  # too early for the next
        clock.now += SETTLE + COUNTED
    schedule.tick()  # there is no sixth
    assert observer.told == ["begin", "look", "look", "end"] * 2
    first = 100.0 + FIRST_AFTER
    assert schedule.begun_at == [first + number * (SETTLE + COUNTED) for number in range(5)]
    assert clock.now - 100.0 <= schedule.seconds


def moments(rates: list[tuple[float, float]]) -> list[Moment]:
    """A recording from 0 on, of turns with so many messages a second and CPU for each."""
    found: list[Moment] = [(0.0, 0, {"gw1": 0.0, "browser 1": 0.0, "browser 2": 0.0})]
    for rate, cpu in rates:
        at, messages, used = found[-1]
        turn = SETTLE + COUNTED
        spent = used["gw1"] + rate * turn * cpu
        browser = used["browser 1"] + 0.1 * turn
        found.append(
            (
                at + turn,
                int(messages + rate * turn),
                {"gw1": spent, "browser 1": browser, "browser 2": browser},
            )
        )
    return found


def test_a_turn_is_compared_with_the_mean_of_those_around_it() -> None:
    recorded = moments([(1_000, 1e-5), (900, 1.1e-5), (1_400, 1e-5), (1_200, 1e-5), (1_000, 1e-5)])
    begun_at = [number * (SETTLE + COUNTED) for number in range(5)]
    first, second = looks(begun_at, recorded)
    assert first.rate_alone == pytest.approx(1_200)
    assert first.cost == pytest.approx(25.0)
    assert second.cost == pytest.approx(0.0)
    assert first.added("gw1") == pytest.approx(10.0)
    assert first.cores("browser") == pytest.approx(0.2)


def test_turns_that_the_load_did_not_see_are_left_out() -> None:
    recorded = moments([(1_000, 1e-5)] * 3)
    turn = SETTLE + COUNTED
    begun_at = [number * turn - turn for number in range(7)]
    (look,) = looks(begun_at[1:4], recorded)
    assert isinstance(look, Look)
    with pytest.raises(RuntimeError, match="was not there"):
        looks(begun_at[:3], recorded)  # it was not yet there in the first of them
    with pytest.raises(RuntimeError, match="was not there"):
        looks(begun_at[2:], recorded)  # and no more in the third
