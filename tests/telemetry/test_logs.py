"""Log lines for machines."""

from __future__ import annotations

import json
import logging
import sys

import pytest

from telemetry.logs import LogFormat, formatter


def record(message: str, *arguments: object, **extra: object) -> logging.LogRecord:
    made = logging.getLogger("edge.test").makeRecord(
        "edge.test", logging.WARNING, __file__, 1, message, arguments, None, extra=extra
    )
    made.created = 0.25
    return made


def test_a_line_is_one_object_with_what_it_is_about() -> None:
    written = formatter(LogFormat.JSON, part="gateway", node="gw1").format(
        record("client %s is\nslow ü", "c1", client="c1", message_id="3:17")
    )
    assert "\n" not in written
    assert json.loads(written) == {
        "time": "1970-01-01T00:00:00.250+00:00",
        "level": "warning",
        "logger": "edge.test",
        "message": "client c1 is\nslow ü",
        "part": "gateway",
        "node": "gw1",
        "client": "c1",
        "message_id": "3:17",
    }
    assert next(iter(json.loads(written))) == "time"


def test_an_exception_stays_within_its_line() -> None:
    try:
        raise ValueError("no good")
    except ValueError:
        made = record("it broke")
        made.exc_info = sys.exc_info()
    written = formatter(LogFormat.JSON).format(made)
    assert "\n" not in written
    assert "ValueError: no good" in json.loads(written)["exc_info"]


def test_text_is_as_ever() -> None:
    assert formatter(LogFormat.TEXT, part="gateway").format(record("so")).endswith("WARNING edge.test so")


@pytest.mark.parametrize("format", list(LogFormat))
def test_what_cannot_be_json_does_not_break_the_line(format: LogFormat) -> None:
    assert formatter(format).format(record("odd", client=object()))
