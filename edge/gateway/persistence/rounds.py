"""Rounds: work done for all who wait at once, and again where Kafka or the store did not answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0  # seconds between attempts while something does not answer

log = logging.getLogger(__name__)

Item = TypeVar("Item")


class Rounds(Generic[Item]):
    """Those who come while a round is under way are in the next."""

    def __init__(
        self,
        work: Callable[[list[Item]], Awaitable[None]],
        is_wanted: Callable[[Item], bool],
        failures: tuple[type[Exception], ...],
        what: str,
        most: int | None = None,
    ) -> None:
        """Prepare to work.

        Args:
            work: Does one round.
            is_wanted: Whether somebody still waits; asked before each round.
            failures: What `work` raises when it is to be tried again.
            what: What cannot be read meanwhile, for the log; with `%d` for how many wait.
            most: How many are in one round at most; None for all.
        """
        self._work = work
        self._is_wanted = is_wanted
        self._failures = failures
        self._what = what
        self._most = most
        self._waiting: list[Item] = []
        self._task: asyncio.Task[None] | None = None

    def add(self, item: Item) -> None:
        """Somebody waits."""
        self._waiting.append(item)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    def stop(self) -> None:
        """Give up what is under way."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        pause = _FIRST_PAUSE
        while self._waiting:
            round = [item for item in self._waiting[: self._most] if self._is_wanted(item)]
            del self._waiting[: self._most]
            try:
                await self._work(round)
                pause = _FIRST_PAUSE
            except self._failures as error:
                log.warning(f"{self._what} cannot be read yet: %s", len(round), error)
                self._waiting += round
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
