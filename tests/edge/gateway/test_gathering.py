"""Gathering before an append; what happens when is told by the loop's timers, which the test fires by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from edge.gateway.gathering import Gathering


class Timers:
    """Stands in for the event loop: its clock, and what is to be called when."""

    def __init__(self) -> None:
        self.now = 100.0
        self.due: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        self.due.append((self.now + seconds, call))

    def fire(self) -> float:
        """Let the time of the one timer come; returns it."""
        [(self.now, call)] = self.due
        self.due.clear()
        call()
        return self.now


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> Timers:
    timers = Timers()
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: timers)
    return timers


class Rounds:
    """Takes all that waits, or so many at a time."""

    def __init__(self, longest: float | None = None, *, room: int = 1_000) -> None:
        self.gathering: Gathering[int] = Gathering(self.append, 0.5, longest)
        self.rounds: list[list[int]] = []
        self.room = room

    def append(self) -> None:
        self.gathering.begin_round()
        items = self.gathering.items
        self.rounds.append([items.popleft() for _ in range(min(self.room, len(items)))])


def test_the_first_goes_at_once_and_those_behind_it_together(timers: Timers) -> None:
    rounds = Rounds()
    for number in range(4):
        rounds.gathering.add(number)
    assert rounds.rounds == [[0]]
    assert timers.fire() == 100.5
    assert rounds.rounds == [[0], [1, 2, 3]]
    timers.now += 0.2
    rounds.gathering.add(4)
    assert timers.fire() == 101.0, "counted from the last round"
    timers.now += 0.5
    rounds.gathering.add(5)
    assert rounds.rounds[2:] == [[4], [5]]
    assert not timers.due


def test_the_more_there_was_the_longer_it_gathers(timers: Timers) -> None:
    rounds = Rounds(longest=1.2)
    for number in range(4):
        rounds.gathering.add(number)
    assert timers.fire() == 100.5  # a round of three
    rounds.gathering.add(4)
    assert timers.fire() == pytest.approx(101.7)
    rounds.gathering.add(5)
    assert timers.fire() == pytest.approx(102.2), "the round before had one"


def test_what_found_no_room_waits_for_who_sees_to_it(timers: Timers) -> None:
    rounds = Rounds(room=0)
    rounds.gathering.add(0)
    rounds.gathering.add(1)
    assert not timers.due
    rounds.room = 2
    rounds.append()
    assert rounds.rounds == [[], [0, 1]]
