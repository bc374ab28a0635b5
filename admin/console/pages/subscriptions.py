"""All subscriptions of the cluster."""

from __future__ import annotations

from nicegui import ui

from admin.console.fields import text_field
from admin.console.listing import Cell, Column, Listing, Row, paged
from admin.console.pages.client_subscriptions import options
from admin.console.pages.clients import client_cell
from admin.console.parts import page_head
from admin.console.shell import console_page
from admin.console.view import View

_KINDS: dict[str, str] = {
    "node": "directly",
    "device": "kept for the device",
    "app": "kept for the application",
}


@console_page("/subscriptions", "Subscriptions")
async def subscriptions(view: View) -> None:
    """The list; they are changed on their client's page."""
    page_head(
        "Subscriptions", "Who subscribes to what, on all nodes. They are changed on their client's page."
    )
    topic: ui.input
    listing = Listing(
        view,
        "subscriptions",
        paged(view, "/subscriptions", topic=lambda: topic.value or None),
        (
            Column("Filter", lambda row: Cell(row["filter"], mono=True), sort="filter"),
            Column("Client ID", lambda row: client_cell(row["client_id"]), sort="client_id"),
            Column("Share group", lambda row: row["share_group"] or ""),
            Column("QoS", lambda row: str(row["qos"]), sort="qos"),
            Column("Node", lambda row: row["node"] or "", sort="node"),
            Column("Delivered", _delivered),
            Column("Options", options),
        ),
        empty="Nobody subscribes to anything.",
        search="Search by filter or client ID",
    )
    with listing.tools:
        topic = text_field("Only those that match this topic", view.query.get("topic", ""))
        topic.props("clearable debounce=300").on_value_change(listing.search_anew)
        ui.button("Refresh", on_click=listing.refresh).props("outline no-caps")
    await listing.refresh()


def _delivered(row: Row) -> Cell:
    return Cell(_KINDS[row["kind"]], note=None if row["is_online"] else "the client is offline")
