"""Pacing: no more than so many a second, whatever the clock's grain. Pure: who asks tells the time."""

from __future__ import annotations

_GRAIN = (
    0.05  # seconds; what was not used of so much time may be caught up with, as timers are late by some of it
)


class Pace:
    """How fast one application is given what had gathered for it."""

    def __init__(self, rate: float, now: float) -> None:
        """Begin.

        Args:
            rate: Messages a second; 0 for any number.
            now: The time in seconds.
        """
        self._interval = 1.0 / rate if rate else 0.0
        self._next_at = now

    def wait(self, now: float) -> float:
        """Take one more message: 0 if it may go now, else the seconds after which to ask again."""
        if self._next_at > now:
            return self._next_at - now
        if self._interval:
            self._next_at = max(self._next_at, now - _GRAIN) + self._interval
        return 0.0
