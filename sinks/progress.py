"""What the sink has done, as one log line at a rate that a person can read."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from sinks.outcomes import Counters

TELL_SECONDS = 10.0
"""At most one line in so long, and none while nothing happens."""

_log = logging.getLogger(__name__)


@dataclass
class Progress:
    """Counters of all batches; those since the last line are what the next one tells."""

    clock: Callable[[], float] = time.monotonic
    total: Counters = field(default_factory=Counters)
    """Since the start."""
    batches: int = 0
    """Since the last line."""
    _told_batches: int = 0
    _fresh: Counters = field(default_factory=Counters)
    _told_at: float | None = None

    def add(self, counters: Counters) -> None:
        """Sum up one partition of a batch."""
        self.total.add(counters)
        self._fresh.add(counters)

    @property
    def all_batches(self) -> int:
        """Since the start."""
        return self._told_batches + self.batches

    def tell(self, now: bool = False) -> None:
        """Log a line if it is time and there is something to say; `now`: do not wait for the time."""
        fresh, at = self._fresh, self.clock()
        if self._told_at is None:
            self._told_at = at
        if not self.batches or (not now and at - self._told_at < TELL_SECONDS):
            return
        _log.info(
            "%d batches in %.0f s: %d records, %d messages of which %d stored; %d deleted, %d dropped by the limit;"
            " %d repeats, %d unreadable; %d store operations",
            self.batches,
            at - self._told_at,
            fresh.records,
            fresh.messages,
            fresh.stored,
            fresh.deleted,
            fresh.dropped,
            fresh.repeats,
            fresh.unreadable,
            fresh.operations,
        )
        self._told_batches += self.batches
        self.batches, self._fresh, self._told_at = 0, Counters(), at
