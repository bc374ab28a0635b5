"""Supervision: keep one query running, and restart it with what its end has taught.

a real-time query's time is up   → the next generation takes over (generations.py), with all shapes in use by then
new shapes in other modes        → restart with them
a missing Kafka topic            → quarantine it, restart (I11)
it is there again                → the next generation takes over, from where it was last missing
a record too large for Kafka     → restart with the exact guard (I11)
a damaged checkpoint             → give up, naming the file
anything else                    → restart, a few times
"""

from __future__ import annotations

import contextlib
import gc
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
from routing.absence import Absence
from routing.checkpoints import damaged_file
from routing.chronicle import FAILED, RUNNING, STOPPED, WAITING, Chronicle
from routing.errors import CheckpointError, RouterFailedError, RouteTableError
from routing.failures import Failure
from routing.generations import FIRST, Generation, GenerationFolder
from routing.metrics import RouterMetrics
from routing.passage import Passage
from routing.routes.kafka import RouteLog
from routing.survey import Survey, survey_table

MAX_FAILURES = 5
"""Failures in a row, with Kafka there, before the router gives up; whoever started it may start it again."""
STEADY_SECONDS = 120.0
"""A query that ran this long has recovered: the count of failures begins anew."""
BACK_OFF_SECONDS = 1.0
"""Before the second restart in a row; doubled for each further one."""
SECONDS_TO_PASS = 10.0
"""How long a generation may take to answer markers. One that is so far behind has no pause that anybody could notice:
it runs on, and the rollover is tried again when its time is up once more."""
SHAPES_SECONDS = 5.0
"""How often new shapes are looked for at most: micro-batches may end many times a second."""
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
    generation: Generation = FIRST
    """Which generation runs this plan."""


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
    """The folder of all generations' checkpoints."""
    rollover_seconds: float | None = None
    """After what time the next generation takes over; None: never, the query begins its batches by itself."""
    plan: QueryPlan = QueryPlan()
    quarantined: int = 0
    """How many times a Kafka topic was put in quarantine."""
    missing: frozenset[str] = frozenset()
    """Kafka topics that the running plan does not write to, and that are looked for."""
    metrics: RouterMetrics = field(default_factory=RouterMetrics)
    in_charge: int | None = None
    """The generation that answers markers; None before the first query."""
    chronicle: Chronicle = field(default_factory=Chronicle)
    """What has become of it so far."""
    _stopping: threading.Event = field(default_factory=threading.Event)
    _announced: bool = False
    _failures: int = 0
    _running: list[StreamingQuery] = field(default_factory=list)
    _known_topics: dict[str, float] = field(default_factory=dict)
    _absence: Absence = field(init=False)

    def __post_init__(self) -> None:
        self._absence = Absence(self.kafka, self.topics)

    def stop(self) -> None:
        """End the running query soon; may be called from a signal handler."""
        self._stopping.set()

    def run(self) -> None:
        """Run until `stop` is called or the query ends by itself.

        Raises:
            CheckpointError: The checkpoint is damaged, or cannot be written.
            RouterFailedError: The query fails again and again.
        """
        try:
            self._run()
        except BaseException as error:
            self.chronicle.last_failure = str(error)
            self.chronicle.enter(FAILED)
            raise
        self.chronicle.enter(STOPPED)

    def _run(self) -> None:
        self._folder.put_in_charge(self._folder.current())
        self.plan = replace(self.plan, quarantine=self._folder.quarantine())
        self._await_kafka()  # It may be started before Kafka, or together with it.
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
                self.metrics.failures.inc()
                failure = Failure(_full_text(error))
                self.chronicle.query_ended(failure.summary)
                self._learn(failure)

    @property
    def query(self) -> StreamingQuery | None:
        """The query that routes, the newest where two do; None: none does."""
        return self._running[-1] if self._running else None

    @property
    def _folder(self) -> GenerationFolder:
        return GenerationFolder(self.checkpoint)

    def _run_once(self) -> bool:
        """Run generation after generation; False when the query was ended to be started again."""
        self._renew_plan(self._folder.current())
        try:
            query = self._start()
            self.in_charge = self.plan.generation.number
            while (successor := self._watch(query)) is not None:
                query = successor
                # The JVM keeps what Python refers to, also from a cycle that nobody has collected yet: of the
                # generation that has ended, all of its table.
                gc.collect()
            return self._stopping.is_set() or not query.isActive
        finally:
            while self._running:
                self._end(self._running[0])

    def _start(self) -> StreamingQuery:
        query = self.start(self.plan)
        self.chronicle.query_started()
        self._running.append(query)
        self.metrics.began(self.plan.generation.number)
        return query

    def _end(self, query: StreamingQuery) -> None:
        self._running.remove(query)
        with contextlib.suppress(Py4JError, ConnectionError):  # Where the JVM is gone, so is the query.
            query.stop()

    def _watch(self, query: StreamingQuery) -> StreamingQuery | None:
        """Watch a query until another takes over, which is returned, or until it ends or is to be ended."""
        due_at = time.monotonic() + (self.rollover_seconds or SHAPES_SECONDS)
        while not query.awaitTermination(WATCH_SECONDS):  # type: ignore[arg-type]
            if self._stopping.is_set():
                return None
            if not self._announced and query.status["isTriggerActive"]:
                self._announced = True
                self.started()
            self.chronicle.enter(RUNNING)
            is_back = self._absence.is_over()
            if time.monotonic() < due_at and not is_back:
                continue
            if is_back and self.rollover_seconds is None:
                _log.info("a missing Kafka topic is there; restarting the query")
                return None
            if self.rollover_seconds is not None:
                successor = self._roll_over(query)
                if successor is not None:
                    return successor
                due_at = time.monotonic() + self.rollover_seconds
            else:
                progress = query.lastProgress
                self.chronicle.progressed(progress, self.topics.publishes)
                if progress is not None and self._survey().shapes - self.plan.shapes:
                    _log.info("filters of new shapes are in use; restarting the query")
                    return None
                due_at = time.monotonic() + SHAPES_SECONDS
        return None

    def _roll_over(self, query: StreamingQuery) -> StreamingQuery | None:
        """Let the next generation take over, as generations.py has it; None if that is not possible now."""
        passage = Passage(
            self.kafka,
            self.topics,
            lambda: self._stopping.is_set() or not query.isActive,
            # What exists by now is written to by the next generation.
            self.plan.quarantine,
            self._known_topics,
        )
        began_at = time.monotonic()
        self.chronicle.rollover_began()
        offsets = passage.passed(self.plan.generation.number, SECONDS_TO_PASS)
        if offsets is None:
            self.chronicle.rollover_ended(None)
            _log.info(
                "generation %d is behind, or there is no gateway: it runs on", self.plan.generation.number
            )
            self.metrics.rolled_over(None)
            return None
        self.metrics.proved(time.monotonic() - began_at)
        generation = self.plan.generation.succeed(self._absence.rewind(offsets))
        self._renew_plan(generation)
        self._folder.put_in_charge(generation)
        successor = self._start()
        while not passage.is_live(generation.number, SECONDS_TO_PASS):
            for running in (query, successor):
                if running.awaitTermination(0.001):  # type: ignore[arg-type]
                    raise RouterFailedError("a generation ended while the next one took over")
            if self._stopping.is_set():
                break
        self.in_charge = generation.number
        self._end(query)
        self._folder.forget(generation)
        self.metrics.rolled_over(time.monotonic() - began_at)
        self.chronicle.rollover_ended(offsets)
        return successor

    def _renew_plan(self, generation: Generation) -> None:
        """Read the shapes, and review the quarantine: what exists by now may be written to again."""
        survey = self._survey()
        self.metrics.surveyed(survey)
        # The table passes over routes whose topic is missing; those of applications are promised all when it is back.
        applications = {name for name in survey.topics if name.startswith(self.topics.application_prefix)}
        self.missing = self._absence.review(self.plan.quarantine | applications)
        self.metrics.missing.set(len(self.missing))
        self._set_quarantine(self.plan.quarantine & self.missing)
        self.plan = replace(self.plan, shapes=survey.shapes, generation=generation)

    def _survey(self) -> Survey:
        return survey_table(self.kafka, self.topics, self.snapshot_dir)

    def _learn(self, failure: Failure) -> None:
        """Change the plan so that the next query gets past what ended this one; raise where nothing can be done."""
        file: str | Path | None = failure.checkpoint_file(self.checkpoint)
        if file is None:  # It may not say that it was one.
            file = damaged_file(Path(self._folder.checkpoint(self.plan.generation)))
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
            self.metrics.quarantines.inc(len(missing))
            names = ", ".join(sorted(missing))
            _log.error("Kafka topics are missing and get no records until they exist: %s", names)
            self._set_quarantine(self.plan.quarantine | missing)
        return bool(missing)

    def _set_quarantine(self, topics: frozenset[str]) -> None:
        if topics != self.plan.quarantine:
            self._folder.keep_quarantine(topics)
            self.metrics.quarantined.set(len(topics))
            self.plan = replace(self.plan, quarantine=topics)

    def _back_off(self, failure: Failure) -> None:
        _log.error("the query failed: %s", failure.summary)
        self._await_kafka()
        self._failures += 1
        if self._failures > MAX_FAILURES:
            raise RouterFailedError(f"the query failed {self._failures} times in a row: {failure.summary}")
        self._stopping.wait(BACK_OFF_SECONDS * 2 ** (self._failures - 1))

    def _await_kafka(self) -> None:
        while not self._stopping.is_set() and not self._kafka_answers():
            self.chronicle.enter(WAITING)
            _log.error("waiting for Kafka at %s", self.kafka)

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
