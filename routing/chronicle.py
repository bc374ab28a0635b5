"""What has become of a router since it started: written by its supervision, read by whoever tells of it (telling.py).

Plain fields, each written by the supervisor's thread alone; who reads them from another thread may see some of them a
moment earlier than others.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from contracts.wall_clock import epoch_ms

STARTING, RUNNING, ROLLING_OVER = "starting", "running", "rolling_over"
WAITING, RESTARTING, FAILED, STOPPED = "waiting_for_kafka", "restarting", "failed", "stopped"


@dataclass
class Chronicle:
    """One life of the router."""

    state: str = STARTING
    """One of the names above."""
    generation_started_at_ms: int = 0
    rollovers: int = 0
    postponed_rollovers: int = 0
    """Since the generation was behind, or there was no gateway."""
    last_rollover_ms: int | None = None
    """How long the last one took, from the first marker until the former generation had ended."""
    restarts: int = 0
    """Of the query, other than by rollovers."""
    last_failure: str | None = None
    routed: Mapping[int, int] = field(default_factory=dict)
    """By partition of `tbmq.msg.all`: all before this offset is routed."""
    changed: threading.Event = field(default_factory=threading.Event)
    """Set when something has happened; whoever tells of it clears it."""
    _rollover_began_at: float = 0.0

    def enter(self, state: str) -> None:
        """Be in a state from now on."""
        if state != self.state:
            self.state = state
            self.changed.set()

    def query_started(self) -> None:
        """A generation's query has been started."""
        self.generation_started_at_ms = epoch_ms()
        self.changed.set()

    def rollover_began(self) -> None:
        """The next generation is to take over."""
        self._rollover_began_at = time.monotonic()
        self.enter(ROLLING_OVER)

    def rollover_ended(self, routed: Mapping[int, int] | None) -> None:
        """It has, beginning at these offsets; None: it could not."""
        if routed is None:
            self.postponed_rollovers += 1
        else:
            self.rollovers += 1
            self.last_rollover_ms = round(1000 * (time.monotonic() - self._rollover_began_at))
            self.routed = routed
        self.enter(RUNNING)

    def query_ended(self, why: str) -> None:
        """The query is to be started again."""
        self.restarts += 1
        self.last_failure = why
        self.enter(RESTARTING)

    def progressed(self, progress: Any, topic: str) -> None:
        """Take in how far a query has come by its own account, which Spark gives when a batch ends."""
        try:
            ends = json.loads(progress.sources[0].endOffset)[topic]
            self.routed = {int(partition): int(offset) for partition, offset in ends.items()}
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            return  # nothing yet
