"""Supervision: keep one query running, each time from where its destination (here: the store) stands.

the store does not answer       → the batch waits (batches.py); before a query, so does this
the store has fallen back       → a new query from where it stands now, at once
Kafka does not answer           → wait for it
the store is ahead of Kafka     → give up: a human must say which of the two is right
anything else                   → a new query, a few times
"""

from __future__ import annotations

import contextlib
import logging
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from sinks.batches import last_cause
from sinks.destination import Destination, Writer
from sinks.errors import (
    BatchFailedError,
    LogUnavailableError,
    PositionLostError,
    SinkFailedError,
    SinkStoppedError,
)
from sinks.log import check_ends, log_ends
from sinks.progress import Progress
from sinks.waiting import patiently
from stores import StoreUnavailableError

MAX_FAILURES = 5
"""Failures in a row, with Kafka and the store there, before the sink gives up; its starter may start it again."""
STEADY_SECONDS = 120.0
"""A query that ran this long has recovered: the count of failures begins anew."""
BACK_OFF_SECONDS = 1.0
"""Before a restart; doubled for each further one in a row."""
WATCH_SECONDS = 0.25
"""How often the query is asked how it is; bounds how long SIGTERM waits."""
CHECK_SECONDS = 10.0
"""How often to look whether the store has fallen back: one that was emptied is rebuilt though nobody publishes."""
TIDY_SECONDS = 3_600.0
"""How often what is past its time is looked for. Readers leave it out anyway; this frees the room."""

_log = logging.getLogger(__name__)


@dataclass
class Supervisor:
    """Runs queries one after the other until it is told to stop."""

    start: Callable[[Writer, str], StreamingQuery]
    """Starts a query that gives its batches to a writer; the second argument is its checkpoint's folder."""
    started: Callable[[], None]
    """Called once, when the first query runs."""
    kafka: str
    topic: str
    open: Callable[[], Destination]
    """Opens the destination; raises StoreUnavailableError while it does not answer."""
    scratch: str | None = None
    """Where checkpoints are made, to be thrown away; None: where the system keeps temporary files."""
    check_seconds: float = CHECK_SECONDS
    tidy_seconds: float = TIDY_SECONDS
    progress: Progress = field(default_factory=Progress)
    destination: Destination | None = None
    """Where it writes; None before it has answered, and after the end."""
    query: StreamingQuery | None = None
    """The newest query."""
    restarts: int = 0
    """How many queries were started after the first one."""
    _stopping: threading.Event = field(default_factory=threading.Event)
    _announced: bool = False
    _failures: int = 0

    def stop(self) -> None:
        """End the running query soon; may be called from a signal handler."""
        self._stopping.set()

    def stops_within(self, seconds: float) -> bool:
        """Wait for so long, or until it is told to stop; tell whether it was."""
        return self._stopping.wait(seconds)

    def run(self) -> None:
        """Run until `stop` is called or the query ends by itself.

        Raises:
            StoreAheadError: The store has more of the log than Kafka.
            SinkFailedError: The query fails again and again, or there is no writing where it is to write.
            StoreUrlError: The URL does not name a store that there is.
        """
        try:
            destination = patiently(self.open, self._stopping)
        except SinkStoppedError:
            return
        except Py4JJavaError as error:  # of Spark's file systems
            raise SinkFailedError(last_cause(str(error))) from None
        with contextlib.closing(destination):
            self.destination = destination
            try:
                self._run_queries(destination)
            finally:
                self.destination = None

    def _run_queries(self, destination: Destination) -> None:
        while not self._stopping.is_set():
            began_at = time.monotonic()
            try:
                self._run_query(destination)
                return
            except SinkStoppedError:
                return
            except PositionLostError as error:
                _log.warning("%s; the log is read again from there", error)
            except LogUnavailableError as error:
                _log.error("waiting: %s", error)
                self._stopping.wait(BACK_OFF_SECONDS)
            except (PySparkException, BatchFailedError, Py4JJavaError) as error:
                if self._stopping.is_set():
                    return
                self._back_off(error, time.monotonic() - began_at)
            finally:
                self.progress.tell(now=True)
            self.restarts += 1

    def _run_query(self, destination: Destination) -> None:
        """Run one query until it ends, or is to end."""
        ends = log_ends(self.kafka, self.topic)
        positions = patiently(lambda: destination.positions(ends), self._stopping)
        check_ends(positions, ends, self.topic, destination.remedy)
        writer = destination.writer(positions, self.progress, self._stopping)
        with tempfile.TemporaryDirectory(
            prefix="checkpoint-", dir=self.scratch, ignore_cleanup_errors=True
        ) as checkpoint:
            query = self.query = self.start(writer, checkpoint)
            try:
                self._watch(query, writer, destination)
            except PySparkException:
                if writer.failure is not None:
                    raise writer.failure from None
                raise
            finally:
                with contextlib.suppress(
                    Py4JError, ConnectionError
                ):  # Where the JVM is gone, so is the query.
                    query.stop()

    def _watch(self, query: StreamingQuery, writer: Writer, destination: Destination) -> None:
        check_at = time.monotonic() + self.check_seconds
        tidy_at = time.monotonic() + self.tidy_seconds
        while not query.awaitTermination(WATCH_SECONDS):  # type: ignore[arg-type]
            if self._stopping.is_set():
                return
            if writer.failure is not None:
                raise writer.failure
            if not self._announced and not query.status["message"].startswith("Initializing"):
                self._announced = True
                self.started()
            self.progress.tell()
            # A store that is away now is the business of the next batch.
            with contextlib.suppress(StoreUnavailableError):
                if time.monotonic() >= check_at:
                    check_at = time.monotonic() + self.check_seconds
                    check_positions(writer.known, destination)
                if time.monotonic() >= tidy_at:
                    tidy_at = time.monotonic() + self.tidy_seconds
                    destination.tidy()

    def _back_off(self, error: Exception, ran_seconds: float) -> None:
        said = last_cause(str(error))
        _log.error("the query failed: %s", said)
        if ran_seconds > STEADY_SECONDS:
            self._failures = 0
        self._failures += 1
        if self._failures > MAX_FAILURES:
            raise SinkFailedError(f"the query failed {self._failures} times in a row: {said}")
        self._stopping.wait(BACK_OFF_SECONDS * 2 ** (self._failures - 1))


def check_positions(known: Mapping[int, int | None], destination: Destination) -> None:
    """Check that a destination still has what it had.

    Raises:
        PositionLostError: It has fallen back.
        StoreUnavailableError: It does not answer.
    """
    # A copy from before the reading: a batch that ends meanwhile only moves the store forward.
    before = dict(known)
    for partition, stands in destination.positions(before).items():
        had = before[partition]
        if had is not None and (stands is None or stands < had):
            raise PositionLostError(
                f"the store has fallen back in partition {partition}, from {had} to {stands}"
            )
