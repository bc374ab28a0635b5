"""What is appended to Kafka gathers while more comes: many records at the cost of a few."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Gathering(Generic[Item]):
    """What comes after a pause goes at once; what comes close behind waits for its end, and goes together."""

    def __init__(self, append: Callable[[], None], pause: float, longest: float | None = None) -> None:
        """Nothing waits yet.

        Args:
            append: Called in the event loop when it is time: begins a round, and takes from `items` what it can.
            pause: Seconds between rounds.
            longest: The more there was in a round, the longer the next one gathers, up to so many seconds; None: all
                are alike.
        """
        self.items: deque[Item] = deque()
        """What waits, the oldest first."""
        self._append = append
        self._least, self._longest = pause, pause if longest is None else longest
        self._pause = pause
        self._begun_at = 0.0
        self._loop = asyncio.get_running_loop()

    def add(self, item: Item) -> None:
        """Have it wait for its round, which may be now."""
        self.items.append(item)
        if len(self.items) > 1:
            return  # whoever was first has seen to it
        since = self._loop.time() - self._begun_at
        if since >= self._pause:
            self._append()
        else:
            self._loop.call_later(self._pause - since, self._append)

    def begin_round(self) -> None:
        """What waits is appended now, whether it was time or not."""
        self._begun_at = self._loop.time()
        self._pause = min(self._longest, self._least * max(1, len(self.items)))
