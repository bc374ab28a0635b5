"""What the demo shows: progress while it runs, and the closing table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from admin.demo.replay import Outcome
from admin.demo.replay import Progress as Told
from admin.demo.verdict import Verdict

_LINES = 5
"""So many lines of progress where there is no terminal."""


@contextmanager
def shown_progress(console: Console, messages: int, deliveries: int) -> Iterator[Told]:
    """Show how the replay gets on: three bars in a terminal, a few lines in a pipe."""
    if not console.is_terminal:
        yield _lines(console, messages, deliveries)
        return
    columns = (TextColumn("{task.description:12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bars:
        tasks = [
            bars.add_task(what, total=total)
            for what, total in (
                ("published", messages),
                ("acknowledged", messages),
                ("delivered", deliveries),
            )
        ]

        def tell(*numbers: int) -> None:
            for task, number in zip(tasks, numbers, strict=True):
                bars.update(task, completed=number)

        yield tell


def _lines(console: Console, messages: int, deliveries: int) -> Told:
    told = 0

    def tell(published: int, acknowledged: int, delivered: int) -> None:
        nonlocal told
        fifths = published * _LINES // messages
        if fifths > told or delivered == deliveries:
            told = fifths
            console.print(
                f"published {published:,} of {messages:,}, acknowledged {acknowledged:,}, delivered {delivered:,}"
            )

    return tell


def closing_table(outcome: Outcome) -> Table:
    """Make the table, a row a subscriber."""
    right = {"justify": "right", "no_wrap": True}
    table = Table(
        Column("filter", no_wrap=True),
        Column("QoS", **right),  # type: ignore[arg-type]
        Column("delivered", **right),  # type: ignore[arg-type]
        Column("order"),
        Column("duplicates", **right),  # type: ignore[arg-type]
        Column("content"),
        Column("p50 ms", **right),  # type: ignore[arg-type]
        Column("p99 ms", **right),  # type: ignore[arg-type]
        title="Every delivery, checked",
    )
    for verdict in outcome.verdicts:
        table.add_row(*_cells(verdict), style=None if verdict.holds else "bold red")
    return table


def _cells(verdict: Verdict) -> tuple[str, ...]:
    return (
        f"{verdict.filter} {verdict.note}".rstrip(),
        str(verdict.qos),
        f"{verdict.delivered:,} of {verdict.expected:,}",
        f"{verdict.late:,} late" if verdict.late else "kept",
        f"{verdict.duplicates:,}",
        f"{verdict.wrong:,} wrong" if verdict.wrong else "intact",
        f"{1000 * verdict.latency(0.5):,.1f}",
        f"{1000 * verdict.latency(0.99):,.1f}",
    )


def closing_line(outcome: Outcome) -> str:
    """Say in one line whether everything held."""
    if outcome.holds:
        return (
            f"All of it held: {outcome.published:,} messages published and acknowledged, {outcome.deliveries:,}"
            f" deliveries in {outcome.seconds:.0f} s, each once, in order and intact."
        )
    failed = sum(not verdict.holds for verdict in outcome.verdicts)
    missing = sum(verdict.missing for verdict in outcome.verdicts)
    return (
        f"It did NOT hold: {outcome.acknowledged:,} of {outcome.published:,} messages were acknowledged,"
        f" {missing:,} deliveries are missing, and {failed} of {len(outcome.verdicts)} subscribers have a fault."
    )
