"""The sink job: `tbmq.msg.persisted` minus acknowledgements, into the store, as a Spark micro-batch query.

Run it with spark-submit, or as `python -m sinks.job`; spark-defaults.conf has settings that it needs too. It prints
`SINK STARTED` when the query runs; SIGTERM ends it in order. Its place in the log is in the store alone.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from contracts.errors import ContractError
from contracts.kafka_topics import DEFAULT_PREFIX, KafkaTopics
from sinks.errors import SinkError
from sinks.persisted.batches import BatchWriter
from sinks.persisted.log import stream_log
from sinks.persisted.store import StoreSettings
from sinks.supervision import Supervisor
from stores import DEFAULT_LIMITS, Limits, StoreUrlError

STARTED = "SINK STARTED"
"""The line on standard output that tells that the log is being folded."""

DEFAULT_INTERVAL_MS = 3_000
"""How long a batch gathers. A message costs the store something only when its acknowledgement comes in another batch,
and a batch costs Spark half a second of CPU whatever is in it: the longer, the less of both. Nobody waits for the sink;
the bound is how much of the log a gateway reads at a reconnect."""

DEFAULT_TOPICS = KafkaTopics()

SPARK_SETTINGS: dict[str, str | int | float | bool | None] = {
    "spark.python.daemon.module": "sinks.persisted.daemon",
    # A batch of rows on its way to a worker: records of some KiB need no more for speed, those of 3 MiB must fit.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(4 << 20),
}
"""What differs from spark-defaults.conf, which has what the router needs."""


@dataclass(frozen=True)
class Settings:
    """What the command line says."""

    kafka: str
    store: StoreSettings
    trigger: str = "microbatch"
    interval_ms: int = DEFAULT_INTERVAL_MS
    topics: KafkaTopics = DEFAULT_TOPICS


def parse_arguments(arguments: Sequence[str] | None = None) -> Settings:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="sinks.job", description="Store what persistent clients are owed.")
    parser.add_argument("--kafka", required=True, metavar="HOST:PORT", help="bootstrap servers")
    parser.add_argument(
        "--store",
        metavar="URL",
        default=os.environ.get("SLUICEMQ_STORE"),
        help="redis://, rediss://, redis+sentinel://, redis+cluster://, sqlite:/// or postgresql+psycopg://; "
        "or SLUICEMQ_STORE in the environment, which no list of processes shows",
    )
    parser.add_argument(
        "--trigger",
        choices=("microbatch", "available-now"),
        default="microbatch",
        help="microbatch: run on; available-now: what is there, then end",
    )
    parser.add_argument(
        "--interval-ms",
        type=int,
        default=DEFAULT_INTERVAL_MS,
        metavar="N",
        help="how long a batch gathers; what is acknowledged within it costs the store nothing",
    )
    parser.add_argument("--topic-prefix", default=DEFAULT_PREFIX, help="of all Kafka topics")
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
    for option, number in (
        ("--limit", given.limit),
        ("--ttl-seconds", given.ttl_seconds),
        ("--interval-ms", given.interval_ms),
    ):
        if number < 1:
            parser.error(f"{option}: write a number from 1 up")
    try:
        topics = KafkaTopics(given.topic_prefix)
    except ContractError as error:
        parser.error(str(error))
    store = StoreSettings(given.store, topics.prefix, Limits(given.limit, given.ttl_seconds))
    return Settings(given.kafka, store, given.trigger, given.interval_ms, topics)


def start_query(
    spark: SparkSession, settings: Settings, writer: BatchWriter, checkpoint: str
) -> StreamingQuery:
    """Start a query from where the writer's store stands."""
    records = stream_log(spark, settings.kafka, settings.topics.persisted, writer.known)
    # As a URI: a cluster's default file system may be another than this machine's.
    place = Path(checkpoint).absolute().as_uri()
    stream = records.writeStream.foreachBatch(writer).option("checkpointLocation", place)
    if settings.trigger == "available-now":
        return stream.trigger(availableNow=True).start()
    return stream.trigger(processingTime=f"{settings.interval_ms} milliseconds").start()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sink until it is told to stop, or all that was there is stored (available-now).

    Returns:
        0, or 1 with one sentence on standard error.
    """
    settings = parse_arguments(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    # A database's migrations tell at length that there is nothing to do.
    logging.getLogger("alembic").setLevel(logging.WARNING)
    # The supervisor tells what a batch died of; py4j would show Python's stack as well.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    spark = SparkSession.builder.appName("sluicemq-sink").config(map=SPARK_SETTINGS).getOrCreate()
    # What a query dies of is told by the supervisor, in one line; Spark would tell it many times over, in hundreds.
    spark.sparkContext.setLogLevel("FATAL")
    supervisor = Supervisor(
        start=lambda writer, checkpoint: start_query(spark, settings, writer, checkpoint),
        started=lambda: _say(sys.stdout, STARTED),
        kafka=settings.kafka,
        topic=settings.topics.persisted,
        settings=settings.store,
        scratch=spark.conf.get("spark.local.dir", None),
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: supervisor.stop())
    try:
        supervisor.run()
    except (SinkError, StoreUrlError) as error:
        _say(sys.stderr, f"The sink has stopped: {error}")
        return 1
    except (Py4JError, ConnectionError, EOFError):
        _say(sys.stderr, "The sink has stopped: its Spark JVM is gone; start it again.")
        return 1
    finally:
        with contextlib.suppress(Py4JError, ConnectionError, EOFError):
            spark.stop()
    return 0


def _say(stream: TextIO, line: str) -> None:
    stream.write(line + "\n")
    stream.flush()


if __name__ == "__main__":
    sys.exit(main())
