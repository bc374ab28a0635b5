"""Blocked clients in CSV: `By` (client-id, username, address), `Value`, `Pattern` (true), `Reason`, `Expires at`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from identity.block_list import Block, Subject
from identity.csv_rows import Row, read_rows, yes_or_no
from identity.errors import InvalidError

_COLUMNS = ("by", "value", "pattern", "reason", "expires_at")


def read_blocks(lines: Iterable[str]) -> list[Block]:
    """Read entries, each checked.

    Args:
        lines: Of the file, with their ends.

    Raises:
        InvalidError: Something cannot be; the message says in which line.
    """
    blocks = []
    for number, row in read_rows(lines, _COLUMNS, "value"):
        try:
            blocks.append(_block(row).checked())
        except InvalidError as error:
            raise InvalidError(f"line {number}: {error}") from None
    return blocks


def parse_time(text: str) -> int:
    """A point in time (ISO 8601; UTC where nothing else is said) in milliseconds since 1970.

    Raises:
        InvalidError: It is none.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidError(f"{text!r} is no time: write it as in 2030-12-31T18:00:00Z") from None
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def _block(row: Row) -> Block:
    try:
        subject = Subject(row.get("by", "") or Subject.CLIENT_ID)
    except ValueError:
        raise InvalidError(f"by: write one of {', '.join(Subject)}") from None
    expires_at = row.get("expires_at", "").strip()
    return Block(
        subject,
        row["value"],
        yes_or_no(row.get("pattern", ""), "pattern"),
        row.get("reason", ""),
        parse_time(expires_at) if expires_at else None,
    )
