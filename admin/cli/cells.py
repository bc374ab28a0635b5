"""Cells of tables that show what others chose: client ids, user names, patterns."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from rich.text import Text

from identity.answers import Rules


def plain(text: str | None) -> Text:
    """A text as it is, without rich's markup, and with escapes for what a terminal would obey or hide."""
    return Text("".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text or ""))


def point_in_time(ms: int | None) -> Text:
    """A time in UTC; nothing for None."""
    if ms is None:
        return Text("")
    try:
        return Text(datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ"))
    except (OverflowError, ValueError):
        return Text(f"{ms} ms")


def patterns(listed: Iterable[str] | None) -> Text:
    """A list of patterns: everything, nothing, or one a line."""
    if listed is None:
        return Text("(everything)", style="dim")
    lines = [plain(pattern) for pattern in listed]
    return Text("\n").join(lines) if lines else Text("(nothing)", style="dim")


def both_lists(rules: Rules) -> tuple[Text, Text]:
    """What rules let a client publish and subscribe to."""
    return patterns(rules.publish), patterns(rules.subscribe)
