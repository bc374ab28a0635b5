"""What the command lines of all sinks have in common."""

from __future__ import annotations

import argparse

from contracts.errors import ContractError
from contracts.kafka_topics import DEFAULT_PREFIX, KafkaTopics
from telemetry.settings import add_telemetry_options

AVAILABLE_NOW = "available-now"
"""The trigger that reads what is there, then ends."""


def sink_parser(program: str, description: str, interval_ms: int | None = None) -> argparse.ArgumentParser:
    """The options that every sink has; `interval_ms`: what it is by default, None where there is no such option."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("--kafka", required=True, metavar="HOST:PORT", help="bootstrap servers")
    parser.add_argument(
        "--trigger",
        choices=("microbatch", AVAILABLE_NOW),
        default="microbatch",
        help="microbatch: run on; available-now: what is there, then end",
    )
    if interval_ms is not None:
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
