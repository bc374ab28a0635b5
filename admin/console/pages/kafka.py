"""Kafka topics and consumer groups, as far as they are the broker's."""

from __future__ import annotations

from nicegui import ui

from admin.console.dialogs import show_dialog
from admin.console.listing import Action, Cell, Column, Listing, Row, paged
from admin.console.parts import facts, page_head
from admin.console.shell import console_page
from admin.console.view import View
from admin.words import counted, duration, listed, size


@console_page("/kafka-topics", "Kafka topics")
async def kafka_topics(view: View) -> None:
    """All topics with the broker's prefix."""
    page_head("Kafka topics", "Where everything stands; what differs from how it should be is said.")
    listing = Listing(
        view,
        "Kafka topics",
        paged(view, "/kafka/topics"),
        (
            Column("Name", lambda row: Cell(row["name"], mono=True)),
            Column("For", lambda row: row["role"].replace("_", " ")),
            Column("State", _difference),
            Column("Partitions", lambda row: str(row["partitions"]), number=True),
            Column("Replicas", lambda row: str(row["replicas"]), number=True),
            Column("Records", _records, number=True),
            Column(
                "Size", lambda row: "" if row["size_bytes"] is None else size(row["size_bytes"]), number=True
            ),
            Column("Kept", _kept),
        ),
        (Action("Settings", _settings),),
        empty="There are none.",
        search="Search by name",
    )
    with listing.tools:
        ui.button("Refresh", on_click=listing.refresh).props("outline no-caps")
    await listing.refresh()


def _difference(row: Row) -> Cell:
    if not row["differences"]:
        return Cell("As it should be", tone="good")
    if row["partitions"] == 0:
        return Cell("Missing", tone="bad", note="`sluicemq topics create` makes it")
    told = [f"{one['setting']}: {one['found']} instead of {one['wanted']}" for one in row["differences"]]
    return Cell("Differs", tone="bad", note="; ".join(told))


def _records(row: Row) -> str:
    if row["records"] is None:
        return ""
    return f"{'≤ ' if row['is_compacted'] else ''}{row['records']:,}"


def _kept(row: Row) -> str:
    if row["is_compacted"]:
        return "the last of each key"
    kept = row["retention_ms"]
    return "" if kept is None else "for ever" if kept < 0 else duration(kept / 1000)


def _settings(row: Row) -> None:
    _dialog(
        f"Settings of {row['name']}",
        [(name, Cell(value, mono=True)) for name, value in sorted(row["config"].items())],
    )


def _dialog(title: str, told: list[tuple[str, Cell | str]]) -> None:
    def fill() -> None:
        with ui.element("div").classes("payload").props("tabindex=0"):
            facts(told)

    show_dialog(title, fill)


@console_page("/kafka-groups", "Consumer groups")
async def kafka_groups(view: View) -> None:
    """Who reads, and how far behind."""
    page_head("Consumer groups", "Who reads which Kafka topics, and how many records are still before them.")
    listing = Listing(
        view,
        "consumer groups",
        paged(view, "/kafka/groups"),
        (
            Column("Name", lambda row: Cell(row["name"], mono=True)),
            Column("For", lambda row: row["kind"].replace("_", " ")),
            Column("State", lambda row: row["state"] or ""),
            Column("Members", lambda row: "" if row["members"] is None else listed(row["members"])),
            Column("Partitions", lambda row: str(len(row["partitions"])), number=True),
            Column("Lag", _lag, number=True),
        ),
        (Action("Partitions", _partitions, applies=lambda row: bool(row["partitions"])),),
        empty="Nobody reads yet.",
        search="Search by name",
    )
    with listing.tools:
        ui.button("Refresh", on_click=listing.refresh).props("outline no-caps")
    await listing.refresh()


def _lag(row: Row) -> str:
    return "not known" if row["lag"] is None else f"{row['lag']:,}"


def _partitions(row: Row) -> None:
    told: list[tuple[str, Cell | str]] = [
        (f"{one['topic']} {one['partition']}", _progress(one)) for one in row["partitions"]
    ]
    _dialog(f"Partitions of {row['name']}", told)


def _progress(one: Row) -> str:
    if one["offset"] is None or one["lag"] is None:
        return "nothing read yet"
    return f"at {one['offset']:,} of {one['end']:,}, {counted(one['lag'], 'record')} before it"
