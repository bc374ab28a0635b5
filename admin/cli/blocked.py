"""`sluicemq blocked`: who may not connect, whatever credentials it has."""

from __future__ import annotations

import re
import time
from typing import Annotated

import typer
from rich.table import Table

from admin.cli.cells import plain, point_in_time
from admin.cli.console import out, tell
from admin.cli.identity_database import CsvFile, DatabaseUrl, csv_lines, identity_database, plain_errors
from admin.errors import UsageError
from contracts.wall_clock import epoch_ms
from identity.block_list import Block, Subject
from identity.blocked_file import parse_time, read_blocks

app = typer.Typer(help="List, add, import and remove blocked clients.", no_args_is_help=True)

Value = Annotated[
    str, typer.Argument(help="A client id, user name or address, or a pattern.", show_default=False)
]
By = Annotated[Subject, typer.Option(help="By what the client is recognised.")]
IsPattern = Annotated[
    bool, typer.Option("--pattern", help="The value is a pattern (RE2) for the whole of it.")
]

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


@app.command("list")
def list_blocked(database: DatabaseUrl) -> None:
    """List who is blocked, and who was until it expired."""
    with identity_database(database) as stored:
        listed = stored.blocked.list()
    now_ms = epoch_ms()
    table = Table("by", "value", "pattern", "expires", "reason")
    for block in listed:
        expires = point_in_time(block.expires_at_ms)
        if block.is_over(now_ms):
            expires.append(" (over)")
        table.add_row(
            block.subject, plain(block.value), "yes" if block.is_pattern else "", expires, plain(block.reason)
        )
    out.print(table)


@app.command()
def add(
    value: Value,
    database: DatabaseUrl,
    by: By = Subject.CLIENT_ID,
    pattern: IsPattern = False,
    reason: Annotated[str, typer.Option(help="Why, for people.")] = "",
    duration: Annotated[
        str | None, typer.Option("--for", help="How long: 90s, 30m, 12h, 7d.", show_default="for ever")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Until when (ISO 8601, UTC), instead.")] = None,
) -> None:
    """Block a client; one that is blocked in the same way gets the new reason and expiry."""
    if duration is not None and until is not None:
        raise UsageError("--for and --until say the same: give one of them.")
    with plain_errors():
        expires_at = parse_time(until) if until is not None else None
    if duration is not None:
        expires_at = int((time.time() + _seconds(duration)) * 1000)
    with identity_database(database) as stored:
        stored.blocked.put([Block(by, value, pattern, reason, expires_at)])
    tell(f"Blocked {value}")


@app.command("import")
def import_blocked(file: CsvFile, database: DatabaseUrl) -> None:
    """Block all of a CSV file (by, value, pattern, reason, expires at), or none."""
    with csv_lines(file) as lines:
        read = read_blocks(lines)
    with identity_database(database) as stored:
        stored.blocked.put(read)
    tell(f"Blocked {len(read)}")


@app.command()
def remove(
    value: Value, database: DatabaseUrl, by: By = Subject.CLIENT_ID, pattern: IsPattern = False
) -> None:
    """Block a client no longer."""
    with identity_database(database) as stored:
        stored.blocked.remove(Block(by, value, pattern))
    tell(f"{value} is not blocked any more")


@app.command()
def tidy(database: DatabaseUrl) -> None:
    """Remove what has expired."""
    with identity_database(database) as stored:
        tell(f"Removed {stored.blocked.drop_expired()}")


def _seconds(duration: str) -> int:
    found = re.fullmatch(r"([0-9]{1,9})([smhd])", duration)
    if found is None:
        raise UsageError(f"{duration!r} is no duration: write it as in 90s, 30m, 12h or 7d.")
    return int(found[1]) * _UNITS[found[2]]
