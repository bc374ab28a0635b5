"""The options by which a sub-command's process tells of itself, and how they are read."""

from __future__ import annotations

from typing import Annotated

import typer

from admin.errors import UsageError
from telemetry.logs import LEVELS
from telemetry.settings import (
    FORMAT_VARIABLE,
    LEVEL_VARIABLE,
    LISTEN_HELP,
    LISTEN_VARIABLE,
    TelemetrySettings,
    telemetry_settings,
)

ListenMetrics = Annotated[
    str | None,
    typer.Option("--listen-metrics", envvar=LISTEN_VARIABLE, help=LISTEN_HELP, show_default="none"),
]
LogFormatName = Annotated[
    str,
    typer.Option("--log-format", envvar=FORMAT_VARIABLE, help="How log lines are written: text or json."),
]
LogLevelName = Annotated[
    str,
    typer.Option("--log-level", envvar=LEVEL_VARIABLE, help=f"From which level on: {', '.join(LEVELS)}."),
]


def read_telemetry(listen: str | None, log_format: str, log_level: str) -> TelemetrySettings:
    """What those options say.

    Raises:
        UsageError: One of them is wrong.
    """
    try:
        return telemetry_settings(
            {"listen_metrics": listen, "log_format": log_format, "log_level": log_level}
        )
    except ValueError as error:
        raise UsageError(f"{error}.".replace("..", ".")) from None
