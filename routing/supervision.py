"""Supervision: keep one query running, and restart it with what its end has taught.

new shapes at a batch's end      → restart with them
a missing Kafka topic            → quarantine it, restart (I11)
a record too large for Kafka     → restart with the exact guard (I11)
a damaged checkpoint             → give up, naming the file
anything else                    → restart, a few times
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from contracts.kafka_topics import KafkaTopics
from contracts.topics import Shape
from routing.errors import CheckpointError, RouterFailedError, RouteTableError
from routing.failures import Failure
from routing.routes.kafka import RouteLog
from routing.shapes import shapes_in_use

MAX_FAILURES = 5
"""Failures in a row, with Kafka there, before the router gives up; whoever started it may start it again."""
STEADY_SECONDS = 120.0
"""A query that ran this long has recovered: the count of failures begins anew."""
BACK_OFF_SECONDS = 1.0
"""Before the second restart in a row; doubled for each further one."""
WATCH_SECONDS = 0.5
"""How often the query is asked how it is; bounds how long SIGTERM waits."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class QueryPlan:
    """What is a literal in the plan, and so needs a restart to change."""

    shapes: frozenset[Shape] = frozenset()
    quarantine: frozenset[str] = frozenset()
    """Kafka topics that are not written to because they are missing."""
    exact_guard: bool = False
    """Whether each record is measured wholly."""
    generation: int = 1
    """Counts the queries that this job has started."""


@dataclass
class Supervisor:
    """Runs queries one after the other until it is told to stop."""

    start: Callable[[QueryPlan], StreamingQuery]
    """Starts a query with a plan."""
    started: Callable[[], None]
    """Called once, when the first query runs."""
    kafka: str
    topics: KafkaTopics
    snapshot_dir: Path
    checkpoint: str
    plan: QueryPlan = QueryPlan()
    quarantined: int = 0
    """How many times a Kafka topic was put in quarantine."""
    _stopping: threading.Event = field(default_factory=threading.Event)
    _announced: bool = False
    _failures: int = 0

    def stop(self) -> None:
        """End the running query soon; may be called from a signal handler."""
        self._stopping.set()

    def run(self) -> None:
        """Run until `stop` is called or the query ends by itself.

        Raises:
            CheckpointError: The checkpoint is damaged.
            RouterFailedError: The query fails again and again.
        """
        while not self._stopping.is_set():
            began_at = time.monotonic()
            try:
                if self._run_once():
                    return
            except (PySparkException, RouteTableError) as error:
                if self._stopping.is_set():
                    return
                if time.monotonic() - began_at > STEADY_SECONDS:
                    self._failures = 0
                self._learn(Failure(_full_text(error)))

    def _run_once(self) -> bool:
        """Run one query; False when it was ended to be started again."""
        self._renew_plan()
        query = self.start(self.plan)
        try:
            return self._watch(query)
        finally:
            with contextlib.suppress(Py4JError, ConnectionError):  # Where the JVM is gone, so is the query.
                query.stop()

    def _watch(self, query: StreamingQuery) -> bool:
        seen = -1
        while not query.awaitTermination(WATCH_SECONDS):  # type: ignore[arg-type]
            if self._stopping.is_set():
                return True
            if not self._announced and query.status["isTriggerActive"]:
                self._announced = True
                self.started()
            progress = query.lastProgress
            if progress is not None and progress["batchId"] != seen:
                seen = int(progress["batchId"])
                new = shapes_in_use(self.kafka, self.topics, self.snapshot_dir) - self.plan.shapes
                if new:
                    _log.info("new shapes: %s; restarting the query", ", ".join(s.text for s in new))
                    return False
        return True

    def _renew_plan(self) -> None:
        """Read the shapes, and review the quarantine: what exists by now may be written to again."""
        shapes = shapes_in_use(self.kafka, self.topics, self.snapshot_dir)
        existing = RouteLog(self.kafka, self.topics.subscriptions).existing_topics()
        generation = self.plan.generation + 1
        self.plan = replace(
            self.plan, shapes=shapes, quarantine=self.plan.quarantine - existing, generation=generation
        )

    def _learn(self, failure: Failure) -> None:
        """Change the plan so that the next query gets past what ended this one; raise where nothing can be done."""
        file = failure.checkpoint_file(self.checkpoint)
        if file is not None:
            raise CheckpointError(
                f"the checkpoint file {file} is damaged or missing ({failure.summary}): restore it from a copy, "
                f"or remove {self.checkpoint} to route all that Kafka still has once more"
            )
        if self._quarantine(failure.suspects):
            return
        if failure.is_too_large and not self.plan.exact_guard:
            _log.error("a record was too large for Kafka; from now on each record is measured wholly")
            self.plan = replace(self.plan, exact_guard=True)
            return
        self._back_off(failure)

    def _quarantine(self, suspects: frozenset[str]) -> bool:
        """Put those suspects in quarantine that do not exist; False when there is none, or Kafka does not answer."""
        if not suspects:
            return False
        try:
            missing = suspects - RouteLog(self.kafka, self.topics.subscriptions).existing_topics()
        except RouteTableError:
            return False
        if missing:
            self.quarantined += len(missing)
            names = ", ".join(sorted(missing))
            _log.error("Kafka topics are missing and get no records until they exist: %s", names)
            self.plan = replace(self.plan, quarantine=self.plan.quarantine | missing)
        return bool(missing)

    def _back_off(self, failure: Failure) -> None:
        _log.error("the query failed: %s", failure.summary)
        while not self._stopping.is_set() and not self._kafka_answers():
            _log.error("waiting for Kafka at %s", self.kafka)
        self._failures += 1
        if self._failures > MAX_FAILURES:
            raise RouterFailedError(f"the query failed {self._failures} times in a row: {failure.summary}")
        self._stopping.wait(BACK_OFF_SECONDS * 2 ** (self._failures - 1))

    def _kafka_answers(self) -> bool:
        try:
            RouteLog(self.kafka, self.topics.subscriptions).partitions()
        except RouteTableError:
            self._stopping.wait(BACK_OFF_SECONDS)
            return False
        return True


def _full_text(error: Exception) -> str:
    """All that an exception says, with the JVM's causes."""
    parts = [str(error)]
    if isinstance(error, StreamingQueryException):
        parts.append(str(getattr(error, "_stackTrace", "") or ""))
        cause = getattr(error, "_cause", None)
        if cause is not None:
            parts += [str(cause), str(getattr(cause, "_stackTrace", "") or "")]
    return "\n".join(parts)
