"""One client: what state it is in, in words; its subscriptions; what can be done."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from admin.console.listing import Cell
from admin.console.pages.client_actions import clear_session, disconnect
from admin.console.pages.client_subscriptions import ClientSubscriptions
from admin.console.pages.clients import STATES
from admin.console.pages.kept_out import block_dialog
from admin.console.parts import facts, heading, page_head
from admin.console.shell import console_page
from admin.console.view import View
from admin.words import counted, duration, moment

SECONDS_BETWEEN = 5.0


@console_page("/client", "Client")
async def client(view: View) -> None:
    """The page of the client that `?id=` names."""
    client_id = view.query.get("id", "")
    buttons = page_head(client_id)
    told = ui.element("div").style("display: grid; gap: 14px")
    offered: list[bool] = []

    async def refresh() -> None:
        with view.telling():
            found = await view.calls.get("/client", client_id=client_id)
            told.clear()
            with told:
                _tell(found)
            if view.may_change and offered != [found["is_connected"]]:
                offered[:] = [found["is_connected"]]
                buttons.clear()
                with buttons:
                    _offer(view, found, refresh)

    await refresh()
    subscriptions = ClientSubscriptions(view, client_id)
    await subscriptions.refresh()
    ui.timer(SECONDS_BETWEEN, refresh, immediate=False)


def _offer(view: View, found: dict[str, Any], refresh: Any) -> None:
    client_id = found["client_id"]

    async def gone() -> None:
        ui.navigate.to("/clients")

    def block() -> None:
        block_dialog(view, "client-id", client_id, None)

    if found["is_connected"]:
        ui.button("Disconnect", on_click=lambda: disconnect(view, client_id, refresh)).props(
            "outline no-caps"
        )
    ui.button("Block", on_click=block).props("outline no-caps")
    ui.button("Clear session", on_click=lambda: clear_session(view, client_id, gone)).props("outline no-caps")


def _tell(found: dict[str, Any]) -> None:
    with ui.element("section").classes("card"):
        state, tone = STATES[found["state"]]
        with ui.element("div"):
            ui.label(state).classes(f"chip chip-{tone}")
        ui.label(found["explanation"]).classes("saying")
    with ui.element("div").classes("grid"):
        with ui.element("section").classes("card"):
            heading(2, "Connection")
            facts(_connection(found))
        with ui.element("section").classes("card"):
            heading(2, "Session")
            facts(_session(found))


def _connection(found: dict[str, Any]) -> list[tuple[str, Cell | str]]:
    node = found["node"] or ""
    return [
        ("Node", Cell(node, href=f"/node?name={node}") if node else ""),
        ("Address", found["address"] or ""),
        ("User name", found["user_name"] or ""),
        ("Protocol", f"MQTT {found['protocol_name']}"),
        ("Keep alive", duration(found["keep_alive"]) if found["keep_alive"] else "off"),
        ("Connected", moment(found["connected_at_ms"])),
        ("Disconnected", "" if found["is_connected"] else moment(found["disconnected_at_ms"])),
    ]


def _session(found: dict[str, Any]) -> list[tuple[str, Cell | str]]:
    expiry = found["expiry_seconds"]
    kept = (
        "for ever"
        if expiry is None
        else f"for {duration(expiry)}"
        if expiry
        else "as long as it is connected"
    )
    told: list[tuple[str, Cell | str]] = [
        ("Type", found["client_type"].capitalize()),
        ("Kept", kept),
        ("Ends", moment(found["expires_at_ms"])),
        ("Clean start", "yes" if found["clean_start"] else "no"),
    ]
    messages = found["messages"]
    if messages and messages["kind"] == "device":
        stored = messages["stored"]
        told.append(
            ("Messages kept", Cell("not known" if stored is None else f"{stored:,}", note=messages["detail"]))
        )
        if messages["released"]:
            told.append(("To be completed", counted(messages["released"], "QoS 2 message")))
    elif messages:
        lag = messages["lag"]
        told.append(
            ("Messages kept", Cell("not known" if lag is None else f"{lag:,}", note=messages["detail"]))
        )
        told.append(("Kafka topic", Cell(messages["kafka_topic"], mono=True)))
    will = found["will"]
    if will:
        after = f", {duration(will['delay_seconds'])} after it is gone" if will["delay_seconds"] else ""
        size = counted(will["payload_size"], "byte")
        told.append(("Will", Cell(will["topic"], mono=True, note=f"QoS {will['qos']}, {size}{after}")))
    return told
