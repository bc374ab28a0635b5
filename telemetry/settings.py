"""The settings that every part has for this, by its command line or the environment."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass

from telemetry.addresses import Address, parse_listen
from telemetry.logs import LEVELS, LogFormat

LISTEN_VARIABLE = "SLUICEMQ_METRICS_LISTEN"
FORMAT_VARIABLE = "SLUICEMQ_LOG_FORMAT"
LEVEL_VARIABLE = "SLUICEMQ_LOG_LEVEL"
LISTEN_HELP = "Address to serve /metrics and /health on; it tells anybody who reaches it."


@dataclass(frozen=True)
class TelemetrySettings:
    """What a part is told."""

    listen: Address | None = None
    """Where metrics and health are served; None: nowhere."""
    log_format: LogFormat = LogFormat.TEXT
    log_level: str = "info"


def add_telemetry_options(parser: argparse.ArgumentParser) -> None:
    """The options of a part that reads its command line with argparse."""
    environment = os.environ
    parser.add_argument(
        "--listen-metrics", metavar="HOST:PORT", default=environment.get(LISTEN_VARIABLE) or None,
        help=f"{LISTEN_HELP} By default none; or {LISTEN_VARIABLE}",
    )  # fmt: skip
    parser.add_argument(
        "--log-format", default=environment.get(FORMAT_VARIABLE) or LogFormat.TEXT.value,
        help=f"text or json; or {FORMAT_VARIABLE}",
    )  # fmt: skip
    parser.add_argument(
        "--log-level", default=environment.get(LEVEL_VARIABLE) or "info",
        help=f"{', '.join(LEVELS)}; or {LEVEL_VARIABLE}",
    )  # fmt: skip


def parsed_telemetry(parser: argparse.ArgumentParser, given: argparse.Namespace) -> TelemetrySettings:
    """What those options say; ends the process with a sentence where one is wrong."""
    try:
        return telemetry_settings(vars(given))
    except ValueError as error:
        parser.error(str(error))


def telemetry_settings(given: Mapping[str, str | None]) -> TelemetrySettings:
    """Read `listen_metrics`, `log_format` and `log_level`.

    Raises:
        ValueError: One is wrong; the message says what to write.
    """
    listen = given["listen_metrics"]
    return TelemetrySettings(
        None if not listen else parse_listen(listen),
        parse_format(given["log_format"] or ""),
        parse_level(given["log_level"] or ""),
    )


def parse_format(text: str) -> LogFormat:
    """A log format.

    Raises:
        ValueError: It is none.
    """
    try:
        return LogFormat(text.lower())
    except ValueError:
        raise ValueError(f"log format {text!r}: write text or json") from None


def parse_level(text: str) -> str:
    """A log level.

    Raises:
        ValueError: It is none.
    """
    if text.lower() not in LEVELS:
        raise ValueError(f"log level {text!r}: write one of {', '.join(LEVELS)}")
    return text.lower()
