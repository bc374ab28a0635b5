"""The archive's job: all messages of `tbmq.msg.all` by date and hour, as a Spark micro-batch query.

Run it with spark-submit, or as `python -m sinks.archive.job`; spark-defaults.conf has settings that it needs too. It
prints `SINK STARTED` when the query runs; SIGTERM ends it in order. Its place in Kafka is in the archive alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from contracts.archive import DELTA_SETTINGS, ArchiveFormat
from contracts.kafka_topics import KafkaTopics
from sinks.archive.compaction import CompactionSettings
from sinks.archive.delta import DeltaArchive
from sinks.archive.destination import Archive, ArchiveDestination, ArchiveWriter
from sinks.archive.parquet import ParquetArchive
from sinks.command_line import check_positive, named_topics, sink_parser
from sinks.destination import Writer
from sinks.log import stream_log
from sinks.running import Sink, SparkSettings, run_sink, start_triggered
from sinks.supervision import Supervisor
from telemetry.settings import TelemetrySettings, parsed_telemetry

DEFAULT_INTERVAL_MS = 60_000
"""How long a batch gathers: each makes a file for each Kafka partition, and nobody waits for the archive."""
OFFSETS_PER_BATCH = 2_000_000
"""A batch's bound. Rows pass through to the files, so no memory depends on it."""
TIDY_SECONDS = {ArchiveFormat.PARQUET: 60, ArchiveFormat.DELTA: 600}
"""How often to look for hours that are over: a look at the newest commit, and a job of Spark's on the table's log."""

SPARK_SETTINGS: SparkSettings = {
    # Rows of several hours come mixed where a backlog is archived; without it, each task would sort them first.
    "spark.sql.maxConcurrentOutputFileWriters": "24",
    # A writer holds a row group until it is full: of 128 MiB, some at a time would take more than the heap.
    "spark.hadoop.parquet.block.size": str(32 << 20),
}


@dataclass(frozen=True)
class Settings:
    """What the command line says."""

    kafka: str
    archive: str
    topics: KafkaTopics
    trigger: str = "microbatch"
    interval_ms: int = DEFAULT_INTERVAL_MS
    format: ArchiveFormat = ArchiveFormat.PARQUET
    tidy_seconds: int = TIDY_SECONDS[ArchiveFormat.PARQUET]
    compaction: CompactionSettings = field(default_factory=CompactionSettings)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)


def parse_arguments(arguments: Sequence[str] | None = None) -> Settings:
    """Read the command line."""
    parser = sink_parser("sinks.archive.job", "Archive all messages.", DEFAULT_INTERVAL_MS)
    default = CompactionSettings()
    parser.add_argument(
        "--archive", required=True, metavar="DIR", help="its folder: a path, or a URI that Spark knows"
    )
    parser.add_argument(
        "--format", choices=list(ArchiveFormat), default=ArchiveFormat.PARQUET,
        help="files of Parquet, or a table of Delta Lake, where Spark has that",
    )  # fmt: skip
    parser.add_argument(
        "--file-mib", type=int, default=default.target_bytes >> 20, metavar="N",
        help="size up to which the files of an hour are put together when it is over",
    )  # fmt: skip
    parser.add_argument(
        "--settle-seconds", type=int, default=int(default.settle_seconds), metavar="N",
        help="how long after its end an hour still gathers",
    )  # fmt: skip
    parser.add_argument(
        "--grace-seconds", type=int, default=int(default.grace_seconds), metavar="N",
        help="how long files that were put together stay for those who are reading them; Delta has its own setting",
    )  # fmt: skip
    parser.add_argument(
        "--tidy-seconds", type=int, metavar="N",
        help="how often to look for such hours; by default "
        + ", ".join(f"{seconds} ({form})" for form, seconds in TIDY_SECONDS.items()),
    )  # fmt: skip
    given = parser.parse_args(arguments)
    if given.tidy_seconds is None:
        given.tidy_seconds = TIDY_SECONDS[given.format]
    check_positive(parser, given, "interval_ms", "file_mib", "grace_seconds", "tidy_seconds")
    check_positive(parser, given, "settle_seconds", lowest=0)
    compaction = CompactionSettings(given.file_mib << 20, given.settle_seconds, given.grace_seconds)
    topics = named_topics(parser, given)
    return Settings(
        given.kafka, given.archive, topics, given.trigger, given.interval_ms,
        ArchiveFormat(given.format), given.tidy_seconds, compaction, parsed_telemetry(parser, given),
    )  # fmt: skip


def start_query(spark: SparkSession, settings: Settings, writer: Writer, checkpoint: str) -> StreamingQuery:
    """Start a query from where the archive stands."""
    if isinstance(writer, ArchiveWriter):
        writer.checkpoint = checkpoint
    records = stream_log(spark, settings.kafka, settings.topics.publishes, writer.known, OFFSETS_PER_BATCH)
    stream = records.writeStream.foreachBatch(writer)
    return start_triggered(stream, settings.trigger, settings.interval_ms, checkpoint)


def open_archive(spark: SparkSession, settings: Settings) -> Archive:
    """The archive in the form that is asked for.

    Raises:
        DeltaMissingError: It is to be a table of Delta Lake, which Spark has not.
    """
    made = DeltaArchive if settings.format == ArchiveFormat.DELTA else ParquetArchive
    return made(spark, settings.archive, settings.compaction)


def supervised(spark: SparkSession, settings: Settings, started: Callable[[], None]) -> Supervisor:
    """The supervisor of an archive."""
    topic = settings.topics.publishes
    return Supervisor(
        start=lambda writer, checkpoint: start_query(spark, settings, writer, checkpoint),
        started=started,
        kafka=settings.kafka,
        topic=topic,
        open=lambda: ArchiveDestination(open_archive(spark, settings), topic),
        scratch=spark.conf.get("spark.local.dir", None),
        tidy_seconds=settings.tidy_seconds,
    )


def archive_sink(settings: Settings) -> Sink:
    """The sink."""
    needs = {**SPARK_SETTINGS, **DELTA_SETTINGS} if settings.format == ArchiveFormat.DELTA else SPARK_SETTINGS
    return Sink(
        "sluicemq-archive", needs, lambda spark, started: supervised(spark, settings, started),
        settings.interval_ms,
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the archive; returns its exit status."""
    settings = parse_arguments(arguments)
    return run_sink(archive_sink(settings), settings.telemetry)


if __name__ == "__main__":
    sys.exit(main())
