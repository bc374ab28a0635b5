"""A click reaches the row that was seen, though the list has changed meanwhile."""

from __future__ import annotations

from admin.console.listing import ShownRows


def test_the_row_that_was_seen() -> None:
    rows = ShownRows()
    before = rows.show([{"name": "a"}, {"name": "b"}])
    now = rows.show([{"name": "b"}])
    assert rows.seen(before, 0) == {"name": "a"}
    assert rows.seen(before, 1) == {"name": "b"}
    assert rows.seen(now, 0) == {"name": "b"}


def test_what_is_too_long_ago() -> None:
    """Nothing is remembered for ever, as a list may be refreshed for days."""
    rows = ShownRows()
    first = rows.show([{"name": "a"}])
    numbers = [rows.show([{"name": str(turn)}]) for turn in range(100)]
    assert rows.seen(first, 0) is None
    assert rows.seen(numbers[-1], 0) == {"name": "99"}
    assert rows.seen(numbers[-10], 0) == {"name": "90"}
