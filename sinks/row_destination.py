"""A store in SQL that a log is appended to, as the supervisor sees it; what the sinks of this kind share.

Their jobs differ in what they read of which Kafka topic (a `RowFormat`), and in their columns.
"""

from __future__ import annotations

import argparse
import functools
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from sinks.appending import AppendTask, RowFormat, append_partitions
from sinks.batches import BatchWriter, Work
from sinks.command_line import check_positive, named_topics, sink_parser
from sinks.destination import Writer
from sinks.log import stream_log
from sinks.progress import Progress
from sinks.running import PYTHON_WORKERS, Sink, start_triggered
from sinks.supervision import Supervisor
from telemetry.settings import TelemetrySettings, parsed_telemetry

_DAY_SECONDS = 86_400

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RowSink:
    """One sink: a Kafka topic, what is stored of it, and when."""

    name: str
    kafka: str
    topic: str
    format: RowFormat
    columns: Callable[[DataFrame], DataFrame]
    """Records as Spark's Kafka source has them → what `format` reads, with `partition` and `offset`, and all rows."""
    keep_days: int
    trigger: str = "microbatch"
    interval_ms: int = 5_000
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)

    def sink(self) -> Sink:
        """What is run."""
        return Sink(self.name, PYTHON_WORKERS, self.supervised, self.interval_ms)

    def supervised(self, spark: SparkSession, started: Callable[[], None]) -> Supervisor:
        """Its supervisor."""
        return Supervisor(
            start=lambda writer, checkpoint: self._start(spark, writer, checkpoint),
            started=started,
            kafka=self.kafka,
            topic=self.topic,
            open=lambda: RowDestination(self.format, self.keep_days),
            scratch=spark.conf.get("spark.local.dir", None),
        )

    def _start(self, spark: SparkSession, writer: Writer, checkpoint: str) -> StreamingQuery:
        records = self.columns(stream_log(spark, self.kafka, self.topic, writer.known))
        stream = records.writeStream.foreachBatch(writer)
        return start_triggered(stream, self.trigger, self.interval_ms, checkpoint)


class RowDestination:
    """See the protocol, `sinks.destination.Destination`."""

    remedy = "give each Kafka a database of its own"

    def __init__(self, format: RowFormat, keep_days: int) -> None:
        """Open the store; it keeps so many days.

        Raises:
            StoreUrlError: The URL does not name a store that there is.
            StoreUnavailableError: It does not answer.
        """
        self._format = format
        self._store = format.open()
        self._keep_days = keep_days

    def positions(self, partitions: Iterable[int]) -> dict[int, int | None]:
        """See the protocol."""
        return self._store.positions(partitions)

    def writer(
        self, positions: Mapping[int, int | None], progress: Progress, stopping: threading.Event
    ) -> BatchWriter:
        """See the protocol."""
        return BatchWriter(
            lambda: self._store.positions([0]), self._work, dict(positions), progress, stopping
        )

    def tidy(self) -> None:
        """Delete what is older than is kept."""
        dropped = self._store.drop_older(int((time.time() - self._keep_days * _DAY_SECONDS) * 1_000))
        _log.info("%d rows were older than %d days", dropped, self._keep_days)

    def close(self) -> None:
        """See the protocol."""
        self._store.close()

    def _work(self, known: dict[int, int | None]) -> Work:
        return functools.partial(append_partitions, task=AppendTask(self._format, known))


def parse_row_sink(
    program: str,
    description: str,
    variable: str,
    interval_ms: int,
    keep_days: int,
    arguments: Sequence[str] | None,
) -> argparse.Namespace:
    """Read the command line of a sink of this kind; `topics` is what `--topic-prefix` names, `telemetry` its settings.

    Args:
        program: As users call it.
        description: What it does.
        variable: The environment's variable in which the database may stand.
        interval_ms: How long a batch gathers by default.
        keep_days: Days after which rows are deleted by default.
        arguments: The command line; None: this process's.
    """
    parser = sink_parser(program, description, interval_ms)
    parser.add_argument(
        "--database",
        metavar="URL",
        default=os.environ.get(variable),
        help=f"sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE; or {variable} in the environment, "
        "which no list of processes shows",
    )
    parser.add_argument(
        "--keep-days", type=int, default=keep_days, metavar="N", help="days after which rows are deleted"
    )
    given = parser.parse_args(arguments)
    if not given.database:
        parser.error(f"--database: name the database, or set {variable}")
    check_positive(parser, given, "interval_ms", "keep_days")
    given.topics = named_topics(parser, given)
    given.telemetry = parsed_telemetry(parser, given)
    return given
