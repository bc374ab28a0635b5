"""The router job: the one place where the parts of `routing` meet.

Run it with spark-submit, or as `python -m routing.job`; spark-defaults.conf has the settings that it needs. It reads
`tbmq.msg.all`, joins each message against the subscription table, writes routed records, and goes on whatever single
Kafka topic or record is in its way. It prints `ROUTER STARTED` when the query runs; SIGTERM ends it in order.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from contracts.errors import ContractError
from contracts.kafka_topics import DEFAULT_PREFIX, KafkaTopics
from contracts.topics import Shape
from routing.errors import HooksError, RoutingError
from routing.generations import GenerationFolder
from routing.hooks.hooks import Hooks
from routing.observed import observed
from routing.pipeline import route
from routing.records import stream_publishes, write_records
from routing.routes.datasource import SHAPES_SEPARATOR, MqttRoutes, default_snapshot_dir
from routing.supervision import QueryPlan, Supervisor
from routing.telling import Telling, describe
from telemetry.logs import configure_logs
from telemetry.settings import TelemetrySettings, add_telemetry_options, parsed_telemetry

STARTED = "ROUTER STARTED"
"""The line on standard output that tells that messages are being routed."""

SHORTEST_BATCH_SECONDS = 5
"""Spark's own limit for a real-time batch."""

BATCHES_PER_GENERATION = 5
"""How many times a rollover is tried before Spark's own, with its pause, commits and reads the table anew."""


@dataclass(frozen=True)
class Settings:
    """What the command line says."""

    kafka: str
    checkpoint: str
    trigger: str
    batch_seconds: int
    topics: KafkaTopics
    snapshot_dir: Path
    rollover: str = "seamless"
    hooks_file: Path | None = None
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)

    @property
    def rollover_seconds(self) -> float | None:
        """After what time the next generation takes over; None if none ever does."""
        return self.batch_seconds if (self.trigger, self.rollover) == ("realtime", "seamless") else None

    @property
    def real_time_seconds(self) -> int:
        """How long Spark is to make a batch."""
        # A generation is one batch. It ends by itself only when the rollover was not possible several times.
        return self.batch_seconds * (BATCHES_PER_GENERATION if self.rollover_seconds else 1)


def parse_arguments(arguments: Sequence[str] | None = None) -> Settings:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="routing.job", description="Route MQTT messages to gateways.")
    parser.add_argument("--kafka", required=True, metavar="HOST:PORT", help="bootstrap servers")
    parser.add_argument("--checkpoint", required=True, metavar="DIR", help="where the router keeps its place")
    parser.add_argument(
        "--trigger",
        choices=("realtime", "microbatch", "available-now"),
        default="realtime",
        help="realtime: milliseconds; microbatch: less CPU; available-now: what is there, then end",
    )
    parser.add_argument(
        "--batch-seconds",
        type=int,
        default=60,
        metavar="N",
        help="length of a real-time batch: how often the table is read anew, and how much is replayed after a crash",
    )
    parser.add_argument("--topic-prefix", default=DEFAULT_PREFIX, help="of all Kafka topics")
    parser.add_argument(
        "--snapshot-dir",
        type=Path,
        default=default_snapshot_dir(),
        metavar="DIR",
        help="where this host keeps copies of the subscription table",
    )
    parser.add_argument(
        "--rollover",
        choices=("seamless", "pause"),
        default="seamless",
        help="between real-time batches: overlap them, which needs two task slots for each partition and room for two "
        "tables, or pause for up to a second",
    )
    parser.add_argument(
        "--hooks", type=Path, metavar="FILE", help="a TOML file of transformations and rules (docs/hooks.md)"
    )
    add_telemetry_options(parser)
    given = parser.parse_args(arguments)
    if given.batch_seconds < SHORTEST_BATCH_SECONDS:
        parser.error(f"--batch-seconds: write a number from {SHORTEST_BATCH_SECONDS} up")
    try:
        topics = KafkaTopics(given.topic_prefix)
    except ContractError as error:
        parser.error(str(error))
    return Settings(
        kafka=given.kafka,
        checkpoint=given.checkpoint,
        trigger=given.trigger,
        batch_seconds=given.batch_seconds,
        topics=topics,
        snapshot_dir=given.snapshot_dir,
        rollover=given.rollover,
        hooks_file=given.hooks,
        telemetry=parsed_telemetry(parser, given),
    )


def load_hooks(spark: SparkSession, settings: Settings) -> Hooks | None:
    """The user's own hooks, checked; None where there are none.

    Raises:
        HooksError: Something in them is wrong.
    """
    if settings.hooks_file is None:
        return None
    hooks = Hooks.load(spark, settings.hooks_file, settings.topics)
    if hooks.kafka_topics and settings.rollover_seconds is not None:
        # Markers prove what is written to the broker's own Kafka topics alone (passage.py).
        raise HooksError(
            f"{settings.hooks_file}: a rule writes to a Kafka topic of your own; start the router with --rollover pause"
        )
    return hooks


def start_query(
    spark: SparkSession, settings: Settings, plan: QueryPlan, hooks: Hooks | None = None
) -> StreamingQuery:
    """Start a generation's query; it goes on from its checkpoint if it has one."""
    publishes = stream_publishes(
        spark,
        settings.kafka,
        settings.topics,
        bounded=settings.trigger != "realtime",
        offsets=plan.generation.offsets,
    )
    routes = (
        spark.read.format(MqttRoutes.name())
        .option("kafka", settings.kafka)
        .option("topic_prefix", settings.topics.prefix)
        .option("snapshot_dir", str(settings.snapshot_dir))
        .option("shapes", join_shapes(plan.shapes))
        .load()
    )
    records = route(
        publishes,
        routes,
        sorted(plan.shapes, key=lambda shape: shape.text),
        settings.topics,
        plan.generation.number,
        plan.quarantine,
        plan.exact_guard,
        hooks,
    )
    checkpoint = GenerationFolder(settings.checkpoint).checkpoint(plan.generation)
    # As a URI: a cluster's default file system may be another than the one that is mounted here.
    writer = write_records(records, settings.kafka, Path(checkpoint).absolute().as_uri())
    match settings.trigger:
        case "realtime":
            writer = writer.trigger(realTime=f"{settings.real_time_seconds} seconds")  # type: ignore[call-overload]
        case "microbatch":
            writer = writer.trigger(processingTime="0 seconds")
        case _:
            writer = writer.trigger(availableNow=True)
    return writer.start()


def join_shapes(shapes: frozenset[Shape]) -> str:
    """Shapes as the option of `mqtt_routes`."""
    return SHAPES_SEPARATOR.join(sorted(shape.text for shape in shapes))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the router until it is told to stop, or all that was there is routed (available-now).

    Returns:
        0, or 1 with one sentence on standard error.
    """
    settings = parse_arguments(arguments)
    configure_logs(settings.telemetry.log_format, settings.telemetry.log_level, part="router")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    spark = SparkSession.builder.appName("sluicemq-router").getOrCreate()
    # What a query dies of is told by the supervisor, in one line; Spark would tell it many times over, in hundreds.
    spark.sparkContext.setLogLevel("FATAL")
    spark.dataSource.register(MqttRoutes)
    try:
        hooks = load_hooks(spark, settings)
    except HooksError as error:
        _say(sys.stderr, f"The router has not started: {error}")
        spark.stop()
        return 1
    supervisor = Supervisor(
        start=lambda plan: start_query(spark, settings, plan, hooks),
        started=lambda: _say(sys.stdout, STARTED),
        kafka=settings.kafka,
        topics=settings.topics,
        snapshot_dir=settings.snapshot_dir,
        checkpoint=settings.checkpoint,
        rollover_seconds=settings.rollover_seconds,
    )
    telling = Telling(
        settings.kafka,
        settings.topics.states,
        describe(supervisor, settings.trigger),
        supervisor.chronicle.changed,
    )
    # What only works off what is there (available-now) may run beside the router, which is what is to be told of.
    if settings.trigger != "available-now":
        telling.start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: supervisor.stop())
    try:
        with observed(supervisor, settings.telemetry.listen):
            supervisor.run()
    except RoutingError as error:
        _say(sys.stderr, f"The router has stopped: {error}")
        return 1
    except (Py4JError, ConnectionError, EOFError):
        _say(sys.stderr, "The router has stopped: its Spark JVM is gone; start it again.")
        return 1
    except OSError as error:
        if not error.filename:
            raise
        _say(
            sys.stderr, f"The router has not started: {error.filename} can't be listened on: {error.strerror}"
        )
        return 1
    finally:
        telling.stop()
        with contextlib.suppress(Py4JError, ConnectionError, EOFError):
            spark.stop()
    return 0


def _say(stream: TextIO, line: str) -> None:
    stream.write(line + "\n")
    stream.flush()


if __name__ == "__main__":
    sys.exit(main())
