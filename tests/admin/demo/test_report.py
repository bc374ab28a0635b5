"""What the demo shows, with and without a terminal."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from admin.demo.replay import Outcome
from admin.demo.report import closing_line, closing_table, shown_progress
from admin.demo.verdict import Verdict

GOOD = Verdict("a/+", 1, 1000, 1000, 0, 0, 0, (0.002, 0.0255))
BAD = replace(GOOD, delivered=998, duplicates=3, late=4, wrong=5)


def rendered(*verdicts: Verdict, acknowledged: int = 1000) -> str:
    console = Console(file=io.StringIO(), width=120)
    outcome = Outcome(list(verdicts), 1000, acknowledged, 5.0)
    console.print(closing_table(outcome))
    console.print(closing_line(outcome))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_what_held() -> None:
    text = rendered(GOOD)
    assert "1,000 of 1,000 │ kept  │          0 │ intact  │    2.0 │   25.5" in text
    assert "All of it held: 1,000 messages published and acknowledged, 1,000 deliveries in 5 s" in text


def test_what_is_special_stands_beside_the_filter() -> None:
    assert "a/+ (traveller)" in rendered(replace(GOOD, note="(traveller)"))


def test_what_did_not_hold() -> None:
    text = rendered(GOOD, BAD)
    assert "998 of 1,000 │ 4 late │          3 │ 5 wrong" in text
    assert "NOT hold" in text
    assert "2 deliveries are missing, and 1 of 2 subscribers have a fault" in " ".join(text.split())


def test_an_acknowledgement_that_did_not_come_is_a_fault() -> None:
    assert "NOT hold: 999 of 1,000" in rendered(GOOD, acknowledged=999)


def test_progress_in_a_pipe_is_a_few_lines() -> None:
    console = Console(file=io.StringIO(), width=120, force_terminal=False)
    with shown_progress(console, 100, 300) as tell:
        for number in range(1, 101):
            tell(number, number, 3 * number)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().count("\n") == 5


def test_progress_in_a_terminal() -> None:
    console = Console(file=io.StringIO(), width=120, force_terminal=True)
    with shown_progress(console, 100, 300) as tell:
        tell(50, 40, 110)
    assert isinstance(console.file, io.StringIO)
    assert "110/300" in console.file.getvalue()
