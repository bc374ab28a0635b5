"""Sinks as a process: its Spark session, its signals, and how it ends; one sink, or several as queries side by side."""

from __future__ import annotations

import contextlib
import logging
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from sinks.command_line import AVAILABLE_NOW
from sinks.errors import SinkError
from sinks.observed import Watched, observed
from sinks.supervision import Supervisor
from stores import StoreUrlError
from telemetry.logs import configure_logs
from telemetry.settings import TelemetrySettings

STARTED = "SINK STARTED"
"""The line on standard output that tells that the log is being written on, by all sinks of the process."""

SparkSettings = dict[str, str | int | float | bool | None]
"""What differs from spark-defaults.conf, which has what the router needs."""

PYTHON_WORKERS: SparkSettings = {
    "spark.python.daemon.module": "sinks.daemon",
    # A batch of rows on its way to a worker: records of some KiB need no more for speed, those of 3 MiB must fit.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(4 << 20),
}
"""For sinks whose work is that of Spark's Python workers."""

RETRY_SECONDS = 60.0
"""After which a sink that has given up is tried again where it shares its process with others."""

_JVM_GONE = (Py4JError, ConnectionError, EOFError)


@dataclass(frozen=True)
class Sink:
    """One sink, as its job describes it."""

    name: str
    """The application's, for Spark, and in the log."""
    settings: SparkSettings
    """Spark's; sinks that share a process must not differ in one."""
    supervised: Callable[[SparkSession, Callable[[], None]], Supervisor]
    """Makes the supervisor; its second argument is to be called when the first query runs."""
    interval_ms: int = 0
    """How long a batch gathers."""


def start_triggered(
    stream: DataStreamWriter, trigger: str, interval_ms: int, checkpoint: str
) -> StreamingQuery:
    """Start a query that has its batches' function."""
    # As a URI: a cluster's default file system may be another than this machine's.
    stream = stream.option("checkpointLocation", Path(checkpoint).absolute().as_uri())
    if trigger == AVAILABLE_NOW:
        return stream.trigger(availableNow=True).start()
    return stream.trigger(processingTime=f"{interval_ms} milliseconds").start()


def run_sink(sink: Sink, telemetry: TelemetrySettings) -> int:
    """Run one sink until it is told to stop, gives up, or all that was there is written (available-now).

    Returns:
        0, or 1 with one sentence on standard error.
    """
    return run_sinks(sink.name, [sink], telemetry, None)


def run_sinks(
    name: str,
    sinks: Sequence[Sink],
    telemetry: TelemetrySettings,
    retry_seconds: float | None = RETRY_SECONDS,
) -> int:
    """Run sinks side by side until they are told to stop, or all that was there is written (available-now).

    Each has a thread and a query of its own, and takes turns with the others at Spark's task slots.

    Args:
        name: The application's, for Spark.
        sinks: What to run.
        telemetry: How they tell of themselves.
        retry_seconds: A sink that gives up is tried again after so long; None: it is not.

    Returns:
        0, or 1 with a sentence for each sink that gave up on standard error.
    """
    configure_logs(telemetry.log_format, telemetry.log_level, part="sink", sink=name)
    if len(sinks) > 1:
        for handler in logging.getLogger().handlers:
            handler.addFilter(_tell_which)
    # A database's migrations tell at length that there is nothing to do.
    logging.getLogger("alembic").setLevel(logging.WARNING)
    # The supervisor tells what a batch died of; py4j would show Python's stack as well.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    builder = SparkSession.builder.appName(name).config("spark.scheduler.mode", "FAIR")
    for sink in sinks:
        builder = builder.config(map=sink.settings)
    spark = builder.getOrCreate()
    # What a query dies of is told by the supervisor, in one line; Spark would tell it many times over, in hundreds.
    spark.sparkContext.setLogLevel("FATAL")
    started = _Started(len(sinks))
    running = [_Running(sink.name, spark, sink.supervised(spark, started), retry_seconds) for sink in sinks]
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: _stop(running))
    try:
        watched = [
            Watched(one.name, one.supervisor, sink.interval_ms)
            for one, sink in zip(running, sinks, strict=True)
        ]
        with observed(name, watched, telemetry.listen):
            return 0 if _run_all(running) else 1
    except _JVM_GONE:
        _say(sys.stderr, "The sink has stopped: its Spark JVM is gone; start it again.")
        return 1
    except OSError as error:
        if not error.filename:
            raise
        _say(sys.stderr, f"The sink has not started: {error.filename} can't be listened on: {error.strerror}")
        return 1
    finally:
        with contextlib.suppress(*_JVM_GONE):
            spark.stop()


def _tell_which(record: logging.LogRecord) -> bool:
    """Have a line say which sink it is about: each has a thread of its name."""
    if record.threadName and record.threadName.startswith("sluicemq-"):
        record.name = f"{record.threadName} {record.name}"
    return True


@dataclass
class _Started:
    """Says that the log is being written on, once all sinks do."""

    missing: int
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self) -> None:
        with self._lock:
            self.missing -= 1
            if not self.missing:
                _say(sys.stdout, STARTED)


@dataclass(frozen=True)
class _Running:
    """One sink in its thread."""

    name: str
    spark: SparkSession
    supervisor: Supervisor
    retry_seconds: float | None

    def run(self) -> bool:
        """Run it to its end; whether that came in order. Raises what tells that the JVM is gone."""
        threading.current_thread().name = self.name
        # A pool of its own at Spark's scheduler: those of one pool wait for one another.
        self.spark.sparkContext.setLocalProperty("spark.scheduler.pool", self.name)
        while True:
            try:
                self.supervisor.run()
            except (SinkError, StoreUrlError) as error:
                _say(sys.stderr, f"The sink has stopped: {error}")
                if self.retry_seconds is None:
                    return False
                if self.supervisor.stops_within(self.retry_seconds):
                    return True
            else:
                return True


def _run_all(running: Sequence[_Running]) -> bool:
    with ThreadPoolExecutor(len(running)) as pool:
        try:
            runs = [pool.submit(one.run) for one in running]
            done, _ = wait(runs, return_when=FIRST_EXCEPTION)
            for run in done:
                run.result()  # what went wrong with one is the end of all
            return all(run.result() for run in runs)
        finally:
            _stop(running)


def _stop(running: Sequence[_Running]) -> None:
    for one in running:
        one.supervisor.stop()


def _say(stream: TextIO, line: str) -> None:
    stream.write(line + "\n")
    stream.flush()
