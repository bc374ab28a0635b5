"""The pulse: tells when this process has stood still for so long that others may have been given its clients.

A gateway that was stopped (SIGSTOP, a machine that froze) goes on where it stood: packets of clients that have long
been let in elsewhere are in its sockets, publishes of theirs in its queues. Its owners' word that it must disconnect
them comes too late for those. So whatever takes a step for a client looks at the pulse first.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

_BEAT = 0.5  # seconds


class Pulse:
    """Beats in the event loop; a beat that is very late is as if the process had been away."""

    def __init__(
        self, limit: float, stood_still: Callable[[], None], clock: Callable[[], float] | None = None
    ) -> None:
        """Begin to beat.

        Args:
            limit: Seconds without a beat, above which it counts as away; less than others wait before they act.
            stood_still: Called then, before anything else is done.
            clock: Seconds; None for the event loop's clock.
        """
        self._limit = limit
        self._stood_still = stood_still
        self._loop = asyncio.get_running_loop()
        self._clock = clock or self._loop.time
        self._last = self._clock()
        self._timer = self._loop.call_later(_BEAT, self._beat)
        self._beat_at = time.monotonic()  # the loop's own clock stands still while the loop does
        self.delay = 0.0
        """Seconds by which the last beat was late: how long the event loop had others to do first."""

    @property
    def still_for(self) -> float:
        """Seconds since the last beat that was due; 0 between beats. Any thread may ask."""
        return max(0.0, time.monotonic() - self._beat_at - _BEAT)

    def check(self) -> None:
        """Look whether it has beaten lately; cheap enough for each packet."""
        now = self._clock()
        if now - self._last > self._limit:
            log.warning("stood still for %.1f s: connected clients are sent away", now - self._last)
            self._last = now
            self._stood_still()

    def stop(self) -> None:
        """Beat no more."""
        self._timer.cancel()

    def _beat(self) -> None:
        self.delay = self.still_for
        self.check()
        self._last = self._clock()
        self._beat_at = time.monotonic()
        self._timer = self._loop.call_later(_BEAT, self._beat)
