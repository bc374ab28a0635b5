"""Rates by client id or address: who comes back soon finds what it has left, who stays away is forgotten. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakValueDictionary

from edge.gateway.limits.rate import Rate, Window


class KeyedRates:
    """Key → rate; memory is that of the keys that are in use, or were within two times of the longest window.

    A rate that nobody has used for its longest window has all its tokens again, so a new one does as well.
    """

    def __init__(self, windows: Sequence[Window]) -> None:
        self._windows = windows
        self._period = max(window.seconds for window in windows)
        self._rates: WeakValueDictionary[str, Rate] = WeakValueDictionary()
        self._recent: set[Rate] = set()
        self._older: set[Rate] = set()
        self._turn_at = float("-inf")

    def __len__(self) -> int:
        return len(self._rates)

    def of(self, key: str, now: float) -> Rate:
        """The rate of a key; it stays the key's for as long as somebody holds it, and a while beyond."""
        rate = self._rates.get(key)
        if rate is None:
            rate = self._rates[key] = Rate(self._windows)
        self._hold(rate, now)
        return rate

    def keep(self, key: str, now: float) -> None:
        """Whoever holds a key's rate will hold it no more, but the key may come back."""
        rate = self._rates.get(key)
        if rate is not None:
            self._hold(rate, now)

    def _hold(self, rate: Rate, now: float) -> None:
        if now >= self._turn_at:
            # Where a whole period passed without a turn, what is recent has not been used for that long either.
            self._older = self._recent if now < self._turn_at + self._period else set()
            self._recent = set()
            self._turn_at = now + self._period
        self._recent.add(rate)
