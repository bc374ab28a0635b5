"""A sink as a process: its Spark session, its signals, and how it ends; what all of the sinks' jobs share."""

from __future__ import annotations

import argparse
import contextlib
import logging
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TextIO

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from contracts.errors import ContractError
from contracts.kafka_topics import DEFAULT_PREFIX, KafkaTopics
from sinks.errors import SinkError
from sinks.observed import observed
from sinks.supervision import Supervisor
from stores import StoreUrlError
from telemetry.logs import configure_logs
from telemetry.settings import TelemetrySettings, add_telemetry_options

STARTED = "SINK STARTED"
"""The line on standard output that tells that the log is being written on."""

SparkSettings = dict[str, str | int | float | bool | None]
"""What differs from spark-defaults.conf, which has what the router needs."""


def sink_parser(program: str, description: str, interval_ms: int) -> argparse.ArgumentParser:
    """The options that every sink has."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("--kafka", required=True, metavar="HOST:PORT", help="bootstrap servers")
    parser.add_argument(
        "--trigger",
        choices=("microbatch", "available-now"),
        default="microbatch",
        help="microbatch: run on; available-now: what is there, then end",
    )
    parser.add_argument(
        "--interval-ms", type=int, default=interval_ms, metavar="N", help="how long a batch gathers"
    )
    parser.add_argument("--topic-prefix", default=DEFAULT_PREFIX, help="of all Kafka topics")
    add_telemetry_options(parser)
    return parser


def check_positive(
    parser: argparse.ArgumentParser, given: argparse.Namespace, *names: str, lowest: int = 1
) -> None:
    """End the process with a sentence where a number is too low."""
    for name in names:
        if getattr(given, name) < lowest:
            parser.error(f"--{name.replace('_', '-')}: write a number from {lowest} up")


def named_topics(parser: argparse.ArgumentParser, given: argparse.Namespace) -> KafkaTopics:
    """The Kafka topics under the prefix that was given; ends the process with a sentence where it is none."""
    try:
        return KafkaTopics(given.topic_prefix)
    except ContractError as error:
        parser.error(str(error))


def start_triggered(
    stream: DataStreamWriter, trigger: str, interval_ms: int, checkpoint: str
) -> StreamingQuery:
    """Start a query that has its batches' function."""
    # As a URI: a cluster's default file system may be another than this machine's.
    stream = stream.option("checkpointLocation", Path(checkpoint).absolute().as_uri())
    if trigger == "available-now":
        return stream.trigger(availableNow=True).start()
    return stream.trigger(processingTime=f"{interval_ms} milliseconds").start()


def run_sink(
    name: str, settings: Mapping[str, str | int | float | bool | None],
    supervised: Callable[[SparkSession, Callable[[], None]], Supervisor],
    telemetry: TelemetrySettings, interval_ms: int,
) -> int:  # fmt: skip
    """Run a sink until it is told to stop, or all that was there is written (available-now).

    Args:
        name: The application's, for Spark.
        settings: Spark's, for this sink.
        supervised: Makes the supervisor; its second argument is to be called when the first query runs.
        telemetry: How it tells of itself.
        interval_ms: How long a batch gathers.

    Returns:
        0, or 1 with one sentence on standard error.
    """
    configure_logs(telemetry.log_format, telemetry.log_level, part="sink", sink=name)
    # A database's migrations tell at length that there is nothing to do.
    logging.getLogger("alembic").setLevel(logging.WARNING)
    # The supervisor tells what a batch died of; py4j would show Python's stack as well.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    spark = SparkSession.builder.appName(name).config(map=dict(settings)).getOrCreate()
    # What a query dies of is told by the supervisor, in one line; Spark would tell it many times over, in hundreds.
    spark.sparkContext.setLogLevel("FATAL")
    supervisor = supervised(spark, lambda: _say(sys.stdout, STARTED))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: supervisor.stop())
    try:
        with observed(name, supervisor, telemetry.listen, interval_ms):
            supervisor.run()
    except (SinkError, StoreUrlError) as error:
        _say(sys.stderr, f"The sink has stopped: {error}")
        return 1
    except (Py4JError, ConnectionError, EOFError):
        _say(sys.stderr, "The sink has stopped: its Spark JVM is gone; start it again.")
        return 1
    except OSError as error:
        if not error.filename:
            raise
        _say(sys.stderr, f"The sink has not started: {error.filename} can't be listened on: {error.strerror}")
        return 1
    finally:
        with contextlib.suppress(Py4JError, ConnectionError, EOFError):
            spark.stop()
    return 0


def _say(stream: TextIO, line: str) -> None:
    stream.write(line + "\n")
    stream.flush()
