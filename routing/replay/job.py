"""The command `python -m routing.replay`: route messages of the past once more, or tell who would get them, and why.

With spark-submit: `spark-submit --properties-file spark-defaults.conf routing/replay/__main__.py --kafka …`.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from contracts.errors import ContractError
from contracts.kafka_topics import DEFAULT_PREFIX, KafkaTopics
from routing.errors import RoutingError
from routing.moments import EARLIEST, LATEST, Moment
from routing.replay.replay import Replay, replayed
from routing.replay.run import ReplayRequest, run_replay
from routing.replay.table import ChosenTable, choose_table
from routing.routes.assumptions import Assumptions
from routing.transforms.explained import explain_clients, explain_targets

ENDED = "REPLAY ENDED"
"""The line on standard output that tells that all is written."""


@dataclass(frozen=True)
class Command:
    """What the command line says."""

    request: ReplayRequest
    checkpoint: str | None
    explain: str | None
    """A folder for Parquet, or `-` for lines of JSON on standard output."""


def parse_arguments(arguments: Sequence[str] | None = None) -> Command:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="routing.replay", description="Route messages of the past once more, or tell who would get them."
    )
    parser.add_argument("--kafka", required=True, metavar="HOST:PORT", help="bootstrap servers")
    parser.add_argument("--topic-prefix", default=DEFAULT_PREFIX, help="of the Kafka topics that are read")
    parser.add_argument("--archive", metavar="DIR", help="take the messages from an archive instead of Kafka")
    moment = "earliest, latest, a time with its zone, or offsets as JSON"
    parser.add_argument("--start", default=EARLIEST, metavar="MOMENT", help=f"of the messages: {moment}")
    parser.add_argument("--end", default=LATEST, metavar="MOMENT", help="of the messages, exclusive")
    parser.add_argument("--as-of", default=LATEST, metavar="MOMENT", help="of the subscription table")
    parser.add_argument(
        "--incomplete",
        choices=("error", "allow"),
        default="error",
        help="whether to take what compaction has left of the table as of that moment",
    )
    row = "JSON, or @FILE with a line each"
    parser.add_argument(
        "--add", action="append", default=[], metavar="ROW", help=f"assume a subscription: {row}"
    )
    parser.add_argument("--remove", action="append", default=[], metavar="ROW", help=f"assume it gone: {row}")
    parser.add_argument(
        "--in-band", choices=("keep", "drop"), default="keep", help="routes that messages carry themselves"
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--into", metavar="PREFIX", help="write routed records to Kafka topics of this prefix")
    what.add_argument("--explain", metavar="DIR|-", help="tell who would get them: Parquet, or JSON lines")
    parser.add_argument("--checkpoint", metavar="DIR", help="where a replay keeps its place; with --into")
    given = parser.parse_args(arguments)
    if (given.into is None) != (given.checkpoint is None):
        parser.error("--checkpoint belongs to --into, which needs it")
    try:
        for text in (given.start, given.end, given.as_of):
            Moment.parse(text)
        for prefix in filter(None, (given.topic_prefix, given.into)):
            KafkaTopics(prefix)
        assumptions = Assumptions.of(_rows(given.add), _rows(given.remove))
    except (RoutingError, ContractError, OSError, ValueError) as error:
        parser.error(str(error))
    request = ReplayRequest(
        kafka=given.kafka,
        source=given.topic_prefix,
        into=given.into or "",
        start=given.start,
        end=given.end,
        as_of=given.as_of,
        assumptions=assumptions,
        archive=given.archive,
        in_band=given.in_band == "keep",
        is_part_enough=given.incomplete == "allow",
    )
    return Command(request, given.checkpoint, given.explain)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says.

    Returns:
        0, or 1 with one sentence on standard error.
    """
    command = parse_arguments(arguments)
    logging.getLogger("py4j").setLevel(logging.ERROR)
    spark = SparkSession.builder.appName("sluicemq-replay").getOrCreate()
    spark.sparkContext.setLogLevel("FATAL")
    try:
        if command.checkpoint is not None:
            topics = run_replay(spark, command.request, command.checkpoint)
            for name in sorted(topics):
                sys.stdout.write(f"wrote to {name}\n")
        else:
            _explain(spark, command)
    except RoutingError as error:
        sys.stderr.write(f"The replay has stopped: {error}\n")
        return 1
    except PySparkException as error:
        sys.stderr.write(f"The replay has stopped: {_sentence(error)}\n")
        return 1
    finally:
        spark.stop()
    if command.explain != "-":
        sys.stdout.write(ENDED + "\n")
    return 0


def _explain(spark: SparkSession, command: Command) -> None:
    request, topics = command.request, KafkaTopics(command.request.source)
    table: ChosenTable = choose_table(
        spark, request.kafka, topics, request.as_of, request.assumptions, request.is_part_enough
    )
    records = Replay(spark, request.kafka, topics, request.archive).messages(request.start, request.end)
    given = replayed(records, table.assumed, request.in_band)
    found = explain_clients(explain_targets(given, table.routes, table.shapes), table.subscriptions)
    if command.explain != "-":
        found.write.mode("error").parquet(str(command.explain))
        return
    for line in found.toJSON().toLocalIterator():
        sys.stdout.write(f"{line}\n")


def _rows(given: Sequence[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for text in given:
        lines = Path(text[1:]).read_text().splitlines() if text.startswith("@") else [text]
        for line in filter(str.strip, lines):
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError(f'{line}: write an object such as {{"client_id": "c", "filter": "a/+"}}')
            found.append(row)
    return found


def _sentence(error: PySparkException) -> str:
    """What our own readers said, if it was they; else the first line of what Spark says."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith("routing.errors.")]
    return ours[-1].partition(": ")[2] if ours else (lines or ["Spark gave no reason"])[0]


if __name__ == "__main__":
    sys.exit(main())
