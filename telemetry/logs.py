"""How logs are written: lines for people, or JSON for machines, by the standard library's logging.

A line in JSON has `time`, `level`, `logger` and `message`, what the process is (`part`, `node`), and what its event is
about: `client`, `message_id` (`<partition>:<offset>` in `tbmq.msg.all`) and the like, where the code gives them as
`extra`. Payloads, passwords and tokens are never given to a logger.
"""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from pythonjsonlogger.json import JsonFormatter

TEXT_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"
LEVELS = ("debug", "info", "warning", "error")


class LogFormat(StrEnum):
    """How a line is written."""

    TEXT = "text"
    JSON = "json"


class _JsonLine(JsonFormatter):
    def add_fields(
        self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]
    ) -> None:
        super().add_fields(log_data, record, message_dict)
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        first = {"time": at, "level": record.levelname.lower(), "logger": record.name}
        rest = {name: value for name, value in log_data.items() if name not in first}
        log_data.clear()
        log_data.update(first | rest)


def formatter(format: LogFormat, **about: str) -> logging.Formatter:
    """What writes a line; `about` is what all lines of the process say in JSON, such as `part` and `node`."""
    if format is LogFormat.TEXT:
        return logging.Formatter(TEXT_FORMAT)
    return _JsonLine("%(message)s", static_fields=dict(about), json_ensure_ascii=False)


def configure_logs(format: LogFormat, level: str, **about: str) -> None:
    """Have all loggers of this process write to standard error.

    Args:
        format: How.
        level: From which level on, one of `LEVELS`.
        about: As for `formatter`.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(format, **about))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
