"""The sink job: `tbmq.msg.persisted` minus acknowledgements, into the store, as a Spark micro-batch query.

Run it with spark-submit, or as `python -m sinks.job`; spark-defaults.conf has settings that it needs too. It prints
`SINK STARTED` when the query runs; SIGTERM ends it in order. Its place in the log is in the store alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from contracts.kafka_topics import KafkaTopics
from sinks.command_line import check_positive, named_topics, sink_parser
from sinks.destination import Writer
from sinks.log import stream_log
from sinks.persisted.destination import PersistedDestination
from sinks.persisted.records import COLUMNS
from sinks.persisted.store import StoreSettings
from sinks.running import PYTHON_WORKERS, STARTED, Sink, run_sink, start_triggered
from sinks.supervision import Supervisor
from stores import DEFAULT_LIMITS, Limits
from telemetry.settings import TelemetrySettings, parsed_telemetry

__all__ = ["STARTED", "Settings", "main", "parse_arguments", "persisted_sink", "start_query"]

URL_VARIABLE = "SLUICEMQ_STORE"
DEFAULT_INTERVAL_MS = 3_000
"""How long a batch gathers. A message costs the store something only when its acknowledgement comes in another batch,
and a batch costs Spark half a second of CPU whatever is in it: the longer, the less of both. Nobody waits for the sink;
the bound is how much of the log a gateway reads at a reconnect."""

DEFAULT_TOPICS = KafkaTopics()


@dataclass(frozen=True)
class Settings:
    """What the command line says."""

    kafka: str
    store: StoreSettings
    trigger: str = "microbatch"
    interval_ms: int = DEFAULT_INTERVAL_MS
    topics: KafkaTopics = DEFAULT_TOPICS
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)


def parse_arguments(arguments: Sequence[str] | None = None) -> Settings:
    """Read the command line."""
    parser = sink_parser("sinks.job", "Store what persistent clients are owed.", DEFAULT_INTERVAL_MS)
    parser.add_argument(
        "--store",
        metavar="URL",
        default=os.environ.get(URL_VARIABLE),
        help="redis://, rediss://, redis+sentinel://, redis+cluster://, sqlite:/// or postgresql+psycopg://; "
        "or SLUICEMQ_STORE in the environment, which no list of processes shows",
    )
    parser.add_argument(
        "--limit",
        type=int,
        default=DEFAULT_LIMITS.messages,
        metavar="N",
        help="messages kept for one client; above it the oldest go",
    )
    parser.add_argument(
        "--ttl-seconds",
        type=int,
        default=DEFAULT_LIMITS.ttl_seconds,
        metavar="N",
        help="how long a message is kept",
    )
    given = parser.parse_args(arguments)
    if not given.store:
        parser.error("--store: name the store, or set SLUICEMQ_STORE")
    check_positive(parser, given, "limit", "ttl_seconds", "interval_ms")
    topics = named_topics(parser, given)
    store = StoreSettings(given.store, topics.prefix, Limits(given.limit, given.ttl_seconds))
    telemetry = parsed_telemetry(parser, given)
    return Settings(given.kafka, store, given.trigger, given.interval_ms, topics, telemetry)


def start_query(spark: SparkSession, settings: Settings, writer: Writer, checkpoint: str) -> StreamingQuery:
    """Start a query from where the writer's store stands."""
    records = stream_log(spark, settings.kafka, settings.topics.persisted, writer.known).select(*COLUMNS)
    stream = records.writeStream.foreachBatch(writer)
    return start_triggered(stream, settings.trigger, settings.interval_ms, checkpoint)


def persisted_sink(settings: Settings) -> Sink:
    """The sink."""

    def supervised(spark: SparkSession, started: Callable[[], None]) -> Supervisor:
        return Supervisor(
            start=lambda writer, checkpoint: start_query(spark, settings, writer, checkpoint),
            started=started,
            kafka=settings.kafka,
            topic=settings.topics.persisted,
            open=lambda: PersistedDestination(settings.store),
            scratch=spark.conf.get("spark.local.dir", None),
        )

    return Sink("sluicemq-sink", PYTHON_WORKERS, supervised, settings.interval_ms)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sink; returns its exit status."""
    settings = parse_arguments(arguments)
    return run_sink(persisted_sink(settings), settings.telemetry)


if __name__ == "__main__":
    sys.exit(main())
