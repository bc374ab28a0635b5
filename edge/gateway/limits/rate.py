"""Rates of the form `count:seconds,count:seconds`, as token buckets. Pure: who asks tells the time.

Of each window only one number is kept, when its tokens will all be there again (the generic cell rate algorithm), so a
client costs the same whether it may send ten messages or a million.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_FORM = re.compile(r"(\d{1,9}):(\d{1,9})", re.ASCII)
_GRAIN = 1e-6  # seconds; sums of floats are finer by far, and no clock here tells less


@dataclass(frozen=True, slots=True)
class Window:
    """So many at once, and as many in so many seconds from then on."""

    count: int
    seconds: int

    @property
    def step(self) -> float:
        """Seconds in which one token comes back."""
        return self.seconds / self.count


def parse_windows(text: str) -> tuple[Window, ...]:
    """Read `count:seconds,count:seconds`; nothing for an empty text.

    Raises:
        ValueError: It is not of this form.
    """
    windows = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        found = _FORM.fullmatch(part)
        if found is None or not all(int(number) for number in found.groups()):
            raise ValueError(f"{part!r} is no rate: write count:seconds, such as 10:1,300:60")
        windows.append(Window(int(found[1]), int(found[2])))
    return tuple(windows)


class Rate:
    """What one client, or all of them, may still do; all windows must allow it.

    In any time `t` that is `count + count * t / seconds` of each window at most.
    """

    __slots__ = ("__weakref__", "_steps", "_whole_at")

    def __init__(self, windows: Iterable[Window]) -> None:
        """Begin with all tokens there."""
        # A token is there while the window is whole again within all seconds but those of one token.
        self._steps = tuple((window.step, window.seconds - window.step + _GRAIN) for window in windows)
        self._whole_at = [float("-inf")] * len(self._steps)

    def allows(self, now: float) -> bool:
        """Whether one more may go."""
        for at, (_, slack) in zip(self._whole_at, self._steps, strict=True):  # noqa: SIM110 - a third of all()'s time
            if at - now > slack:
                return False
        return True

    def spend(self, now: float) -> None:
        """One more has gone, whether it was allowed or not; what was not allowed has to be waited for."""
        self._whole_at = [
            (at if at > now else now) + step
            for at, (step, _) in zip(self._whole_at, self._steps, strict=True)
        ]

    def wait(self, now: float) -> float:
        """Seconds until one more may go; 0 if it may now."""
        if self.allows(now):
            return 0.0
        return max(at - now - slack for at, (_, slack) in zip(self._whole_at, self._steps, strict=True))


def take(rates: Iterable[Rate], now: float) -> bool:
    """Spend one of each of these rates, if all of them allow it; else of none."""
    for rate in rates:
        if not rate.allows(now):
            return False
    for rate in rates:
        rate.spend(now)
    return True
