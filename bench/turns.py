"""Turns within one load: now nobody looks, now somebody does, so that a machine with neighbours does the same to both.

Each turn of somebody stands between two of nobody, and is compared with the mean of these.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from bench.load.process import Measured
from bench.load.recording import Moment, between
from bench.observers import Observer

SETTLE = 1.0
"""Seconds of each turn that do not count: what was stopped catches up."""
COUNTED = 5.0
"""Seconds that do: the console's pages ask as often, so that each turn has one look of theirs."""
LONGEST_TURN = SETTLE + COUNTED + 0.6
"""With what a tick may come late."""
FIRST_AFTER = 10.0
"""Seconds until the first turn: the load connects, which 500 subscribers take seconds to, and warms up."""


class Turns:
    """Has an observer look in every second turn; called by ticks, about twice a second."""

    def __init__(self, observer: Observer, looks: int) -> None:
        """So many turns of the observer, and one more of nobody."""
        self._observer = observer
        self._left = 2 * looks + 1
        self.seconds = FIRST_AFTER + self._left * LONGEST_TURN
        """How long all of them take at most."""
        self._due_at = time.monotonic() + FIRST_AFTER
        self._is_looking = False
        self.begun_at: list[float] = []
        """When each turn began, on the monotonic clock; the first is nobody's."""

    def tick(self) -> None:
        """Go on to the next turn, if it is time; else let the observer look, if it is its turn."""
        if time.monotonic() >= self._due_at and self._left:
            self._next()
        if self._is_looking:
            self._observer.look()

    def _next(self) -> None:
        self._is_looking = len(self.begun_at) % 2 == 1
        if self._is_looking:
            self._observer.begin()
        elif self.begun_at:
            self._observer.end()
        now = time.monotonic()
        self.begun_at.append(now)
        self._left -= 1
        self._due_at = now + SETTLE + COUNTED


@dataclass(frozen=True)
class Look:
    """One turn of an observer, and the turns of nobody before and after it."""

    before: Measured
    seen: Measured
    after: Measured

    @property
    def cost(self) -> float:
        """Percent of the rate that it takes."""
        return 100.0 * (1 - rate(self.seen) / self.rate_alone)

    @property
    def rate_alone(self) -> float:
        """Messages a second without it."""
        return (rate(self.before) + rate(self.after)) / 2

    def added(self, process: str) -> float:
        """Percent that it adds to a process's CPU for a message."""
        alone = (cpu(self.before, process) + cpu(self.after, process)) / 2
        return 100.0 * (cpu(self.seen, process) / alone - 1)

    def cores(self, processes: str) -> float:
        """Cores that all processes use whose names begin like this, while it looks."""
        used = (seconds for name, seconds in self.seen["cpu"].items() if name.startswith(processes))
        return float(sum(used)) / float(self.seen["seconds"])


def looks(begun_at: Sequence[float], moments: Sequence[Moment]) -> list[Look]:
    """What a load's recording says of each turn of the observer; without those that it does not have all of.

    Raises:
        RuntimeError: There is none.
    """
    first, last = moments[0][0], moments[-1][0]
    turns = [
        between(moments, at + SETTLE, at + SETTLE + COUNTED)
        if first <= at + SETTLE and at + SETTLE + COUNTED <= last
        else None
        for at in begun_at
    ]
    found = []
    for before, seen, after in zip(turns[::2], turns[1::2], turns[2::2], strict=False):
        if before and seen and after and all(one["messages"] > 0 for one in (before, seen, after)):
            found.append(Look(before, seen, after))
    if not found:
        raise RuntimeError("the load was not there while the observer took turns")
    return found


def rate(measured: Measured) -> float:
    """Messages a second."""
    return float(measured["messages"] / measured["seconds"])


def cpu(measured: Measured, process: str) -> float:
    """CPU seconds a message."""
    return float(measured["cpu"][process] / measured["messages"])
