"""The settings of a job: command line before environment, and sentences for what is wrong."""

from __future__ import annotations

import argparse

import pytest

from telemetry.logs import LogFormat
from telemetry.settings import TelemetrySettings, add_telemetry_options, parsed_telemetry


def read(*arguments: str) -> TelemetrySettings:
    parser = argparse.ArgumentParser()
    add_telemetry_options(parser)
    return parsed_telemetry(parser, parser.parse_args(arguments))


def test_nothing_is_served_unless_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("METRICS_LISTEN", "LOG_FORMAT", "LOG_LEVEL"):
        monkeypatch.delenv(f"SLUICEMQ_{name}", raising=False)
    assert read() == TelemetrySettings(None, LogFormat.TEXT, "info")


def test_the_command_line_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICEMQ_METRICS_LISTEN", "[::1]:9464")
    monkeypatch.setenv("SLUICEMQ_LOG_FORMAT", "json")
    monkeypatch.setenv("SLUICEMQ_LOG_LEVEL", "ERROR")
    assert read() == TelemetrySettings(("::1", 9464), LogFormat.JSON, "error")
    given = ("--listen-metrics", "0.0.0.0:1", "--log-format", "text", "--log-level", "debug")
    assert read(*given) == TelemetrySettings(("0.0.0.0", 1), LogFormat.TEXT, "debug")  # noqa: S104


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--listen-metrics", "9464", "HOST:PORT"),
        ("--listen-metrics", "x:70000", "HOST:PORT"),
        ("--log-format", "xml", "text or json"),
        ("--log-level", "loud", "warning"),
    ],
)
def test_what_is_wrong_is_told(
    option: str, value: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        read(option, value)
    assert said in capsys.readouterr().err
