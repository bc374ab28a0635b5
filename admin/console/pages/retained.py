"""Retained messages: found, read, deleted."""

from __future__ import annotations

import json
from typing import Any

from nicegui import ui

from admin.console.dialogs import confirm_removal, show_dialog
from admin.console.fields import text_field
from admin.console.listing import Action, Cell, Column, Listing, Row, paged
from admin.console.pages.clients import client_cell
from admin.console.parts import facts, page_head
from admin.console.shell import console_page
from admin.console.view import View
from admin.words import ago, moment, size
from contracts.wall_clock import epoch_ms

_LONGEST_SHOWN = 20_000
"""Characters of a payload that are shown."""


@console_page("/retained", "Retained messages")
async def retained(view: View) -> None:
    """The list."""
    buttons = page_head("Retained messages", "The last message of a topic that new subscriptions are sent.")
    listing: Listing
    matching: ui.input

    async def read(row: Row) -> None:
        with view.telling():
            _show(await view.calls.get("/retained/message", topic=row["topic"]))

    def delete(row: Row) -> None:
        confirm_removal(
            view,
            f"Delete the retained message of {row['topic']}?",
            "New subscriptions are sent nothing for this topic, until something is retained there again.",
            "/retained/message",
            listing.refresh,
            verb="Delete",
            topic=row["topic"],
        )

    if view.may_change:
        with buttons:
            ui.button("Publish", on_click=lambda: ui.navigate.to("/publish?retain=1")).props(
                "outline no-caps"
            )
    listing = Listing(
        view,
        "retained messages",
        paged(view, "/retained", filter=lambda: matching.value or None),
        (
            Column("Topic", lambda row: Cell(row["topic"], mono=True), sort="topic"),
            Column("Size", lambda row: size(row["size"]), number=True, sort="size"),
            Column("QoS", lambda row: str(row["qos"])),
            Column("Published", _published, sort="published_at_ms"),
            Column("By", lambda row: client_cell(row["client_id"]) if row["client_id"] else ""),
            Column("Ends", lambda row: moment(row["expires_at_ms"])),
        ),
        (Action("Read", read), *((Action("Delete", delete, danger=True),) if view.may_change else ())),
        empty="No message is retained.",
        search="Search by topic",
    )
    with listing.tools:
        matching = text_field("Only topics that match this filter", mono=True)
        matching.props("clearable debounce=300").on_value_change(listing.search_anew)
        ui.button("Refresh", on_click=listing.refresh).props("outline no-caps")
    await listing.refresh()


def _published(row: Row) -> Cell:
    return Cell(ago(row["published_at_ms"], epoch_ms()), hint=moment(row["published_at_ms"]))


def _show(message: dict[str, Any]) -> None:
    def fill() -> None:
        _payload(message["payload"])
        facts(_properties(message))

    show_dialog(f"Retained message of {message['topic']}", fill)


def _payload(payload: dict[str, Any]) -> None:
    if payload["is_json"]:
        text = json.dumps(payload["json"], indent=2, ensure_ascii=False)
    elif payload["text"] is not None:
        text = payload["text"]
    else:
        ui.label("It is no text; here it is in Base64.").classes("soft")
        text = payload["base64"]
    with ui.element("pre").classes("payload").props("tabindex=0"):
        ui.label(text[:_LONGEST_SHOWN])
    if len(text) > _LONGEST_SHOWN:
        ui.label(f"The first {_LONGEST_SHOWN:,} characters of {len(text):,}.").classes("soft")


def _properties(message: dict[str, Any]) -> list[tuple[str, Cell | str]]:
    properties = message["properties"]
    told: list[tuple[str, Cell | str]] = [
        ("QoS", str(message["qos"])),
        ("Size", size(message["size"])),
        ("Published", moment(message["published_at_ms"])),
        ("By", client_cell(message["client_id"]) if message["client_id"] else ""),
        ("Ends", moment(message["expires_at_ms"])),
        ("Content type", properties["content_type"] or ""),
        ("Response topic", Cell(properties["response_topic"] or "", mono=True)),
        ("Correlation data", Cell(properties["correlation_data"] or "", mono=True)),
    ]
    return told + [(name, Cell(value)) for name, value in properties["user_properties"]]
