"""`sluicemq trace`: what it takes, and how steps become a message's way."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from admin.cli.main import app
from admin.cli.trace import parse_seconds
from admin.cli.trace_view import MOST_MESSAGES, TraceView
from admin.errors import UsageError


def step(kind: str, at_ms: float, **more: Any) -> dict[str, Any]:
    return {"step": kind, "node": "gw1", "at_ms": at_ms, "traces": ["t"], "topic": "a/b", **more}


def record(topic: str, at_ms: int) -> dict[str, Any]:
    return {"topic": topic, "partition": 0, "offset": 9, "at_ms": at_ms}


WAY = [
    step("received", 1_000.0, publish="gw1-1", client="c1", qos=1, packet_id=7, bytes=3),
    step(
        "appended", 1_004.0, publish="gw1-1", message="2:17", client="c1", kafka=record("tbmq.msg.all", 1_003)
    ),
    step("routed", 1_009.0, message="2:17", filter="a/+", kafka=record("tbmq.msg.downlink.basic.gw1", 1_007)),
    step("sent", 1_010.0, message="2:17", client="c2", qos=1),
    step("acknowledged", 1_012.5, message="2:17", client="c2", packet_id=3),
]


def shown(view: TraceView) -> str:
    console = Console(width=200, record=True, file=None, quiet=True)
    console.quiet = False
    with console.capture() as captured:
        console.print(view.render("Trace"))
    return captured.get()


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [2, 3, 0, 1, 4], [4, 3, 2, 1, 0]])
def test_steps_become_one_way_whatever_comes_first(order: list[int]) -> None:
    view = TraceView()
    for number in order:
        view.take(WAY[number])
    assert len(view.ways) == 1
    text = shown(view)
    kinds = ["received", "appended", "routed", "sent", "acknowledged"]
    assert sorted(kinds, key=text.index) == kinds
    assert "message 2:17 on a/b" in text
    assert "+7.0 ms" in text, "when the router wrote, not when the gateway read"
    assert "+12.5 ms" in text


def test_other_messages_are_apart_and_old_ones_make_room() -> None:
    view = TraceView()
    for number in range(MOST_MESSAGES + 3):
        view.take(step("routed", 1.0, message=f"0:{number}", filter="#", kafka=record("x", 1)))
    view.take(step("sent", 2.0, message="0:1", client="c", left_out=4))
    text = shown(view)
    assert len(view.ways) == MOST_MESSAGES + 3
    assert "message 0:2 " not in text
    assert f"message 0:{MOST_MESSAGES + 2} " in text
    assert "4 steps were not told" in text


def test_what_clients_chose_stays_text() -> None:
    view = TraceView()
    view.take(step("sent", 1.0, message="0:1", client="[red]\x1b[2J") | {"topic": "[bold]x\x07"})
    text = shown(view)
    assert "[red]" in text
    assert "[bold]x" in text
    assert "\x1b[2J" not in text
    assert "\x07" not in text


def test_times() -> None:
    assert [parse_seconds(text) for text in ("30s", "5m", "1h")] == [30, 300, 3_600]
    for wrong in ("", "5", "0s", "2h", "5 m", "-5m"):
        with pytest.raises(UsageError):
            parse_seconds(wrong)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--topic", "a/#/b"],
        ["--client", "c", "--for", "tomorrow"],
        ["--client", "c", "--topic-prefix", "?"],
    ],
)
def test_what_is_wrong_is_told_before_kafka_is_asked(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, ["trace", "--kafka", "127.0.0.1:1", *arguments])
    assert isinstance(result.exception, UsageError)
