"""Clients: all sessions of the cluster, found and sorted."""

from __future__ import annotations

from urllib.parse import quote

from nicegui import ui

from admin.console.fields import choice_field
from admin.console.listing import Action, Cell, Column, Listing, Row, paged
from admin.console.pages.client_actions import clear_session, disconnect
from admin.console.parts import page_head
from admin.console.shell import console_page
from admin.console.view import View
from admin.words import ago, moment
from contracts.wall_clock import epoch_ms

STATES = {
    "connected": ("Connected", "good"),
    "lingering": ("Will waits", "warn"),
    "offline": ("Offline", "quiet"),
}


def client_cell(client_id: str, note: str | None = None) -> Cell:
    """A client's id, which leads to its page."""
    return Cell(client_id, href=f"/client?id={quote(client_id, safe='')}", note=note)


@console_page("/clients", "Clients")
async def clients(view: View) -> None:
    """The list."""
    page_head("Clients", "Every session, whether its client is connected or has left something to wait for.")
    listing: Listing

    def drop(row: Row) -> None:
        disconnect(view, row["client_id"], listing.refresh)

    def clear(row: Row) -> None:
        clear_session(view, row["client_id"], listing.refresh)

    actions = (
        (
            Action("Disconnect", drop, danger=True, applies=lambda row: bool(row["is_connected"])),
            Action("Clear", clear, danger=True),
        )
        if view.may_change
        else ()
    )
    connected: ui.select
    kind: ui.select
    listing = Listing(
        view,
        "clients",
        paged(
            view,
            "/clients",
            connected=lambda: connected.value or None,
            client_type=lambda: kind.value or None,
        ),
        (
            Column(
                "Client ID",
                lambda row: client_cell(row["client_id"], _noted(row)),
                sort="client_id",
            ),
            Column(
                "State", lambda row: Cell(STATES[row["state"]][0], tone=STATES[row["state"]][1]), sort="state"
            ),
            Column("User name", lambda row: row["user_name"] or "", sort="user_name"),
            Column("Node", lambda row: row["node"] or "", sort="node"),
            Column("Address", lambda row: row["address"] or "", sort="address"),
            Column("MQTT", lambda row: row["protocol_name"], sort="protocol"),
            Column("Since", _since, sort="connected_at_ms"),
            Column("Subscriptions", lambda row: f"{row['subscriptions']:,}", number=True),
        ),
        actions,
        empty="No client has a session.",
        search="Search by client ID or user name",
    )
    with listing.tools:
        connected = choice_field("State", {"": "All", "true": "Connected", "false": "Not connected"}, "")
        kind = choice_field("Type", {"": "All", "DEVICE": "Device", "APPLICATION": "Application"}, "")
        for field in (connected, kind):
            field.classes("short").on_value_change(listing.search_anew)
        ui.button("Refresh", on_click=listing.refresh).props("outline no-caps")
    await listing.refresh()


def _noted(row: Row) -> str | None:
    kind = "Application" if row["client_type"] == "APPLICATION" else ""
    return ". ".join(filter(None, [kind, row["warning"]])) or None


def _since(row: Row) -> Cell:
    at_ms = row["connected_at_ms"] if row["is_connected"] else row["disconnected_at_ms"]
    if at_ms is None:
        return Cell("")
    return Cell(ago(at_ms, epoch_ms()), hint=moment(at_ms))
