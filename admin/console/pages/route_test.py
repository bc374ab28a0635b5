"""The route test: who would receive a message that is published now."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from admin.console.fields import choice_field, text_field, typed
from admin.console.listing import Cell, Column, Listing, Row, whole_of
from admin.console.pages.client_subscriptions import QOS
from admin.console.pages.clients import client_cell
from admin.console.parts import heading, notice, page_head
from admin.console.shell import console_page
from admin.console.view import View
from admin.words import counted, listed

_TARGETS = {
    "node": "directly, by its node", "persisted": "kept, by the persisted log", "application": "by its own Kafka topic",
    "shared": "by a share group", "application_share": "by a share of applications",
}  # fmt: skip
_WHY = {
    "no_local": "it published the message itself, and asked not to get that",
    "offline": "it is not connected, and nothing is kept for it",
    "not_served": "nothing is made for it yet",
}


@console_page("/route-test", "Route test")
async def route_test(view: View) -> None:
    """Ask who gets it."""
    page_head(
        "Route test",
        "Who would receive a message on a topic now, by which filter, which way. Nothing is published.",
    )
    with ui.element("form").props("novalidate").classes("card").style("max-width: 720px; gap: 14px") as form:
        topic = text_field("Topic", view.query.get("topic", ""), required=True, mono=True)
        with ui.element("div").classes("split"):
            qos = choice_field("QoS", QOS, "1")
            publisher = text_field("Publisher's client ID", hint="May be empty")
        with ui.element("div").classes("buttons"):
            ui.button("Test").props("unelevated no-caps text-color=on-accent type=submit")
    answered = ui.element("div").props("aria-live=polite").style("display: grid; gap: 14px")

    async def test() -> None:
        with view.telling():
            asked = {
                "topic": topic.value or "",
                "qos": int(qos.value or 0),
                "client_id": typed(publisher.value),
            }
            found = await view.calls.send("POST", "/route-test", asked)
            answered.clear()
            with answered:
                await _tell(view, found)

    form.on("submit.prevent", test)


async def _tell(view: View, found: dict[str, Any]) -> None:
    groups = found["groups"]
    if not found["total"]:
        notice(f"Nobody would receive a message on {found['topic']}.", "warn")
    else:
        clients = found["total"] - len(groups)
        told = [counted(clients, "client")] if clients else []
        told += [counted(len(groups), "share group")] if groups else []
        notice(
            f"{listed(told)} would receive it{', of which not all are listed' if found['is_cut'] else ''}.",
            "good",
        )
    if found["receivers"]:
        await _receivers(view, found["receivers"])
    for group in groups:
        heading(2, f"Share group {group['group']} of {group['filter']}")
        ui.label(f"One member gets it, chosen by {group['strategy'].replace('_', ' ')}.").classes("soft")
        await _receivers(view, group["members"])
    for one in found["left_out"]:
        notice(
            f"Not {one['client_id']}, which subscribes to {one['filter']}: {_WHY.get(one['why'], one['why'])}."
        )


async def _receivers(view: View, receivers: list[Row]) -> None:
    listing = Listing(
        view,
        "receivers",
        whole_of(receivers),
        (
            Column("Client ID", lambda row: client_cell(row["client_id"])),
            Column("Filter", lambda row: Cell(row["filter"], mono=True)),
            Column("QoS", lambda row: str(row["qos"])),
            Column(
                "Way",
                lambda row: Cell(str(_TARGETS.get(row["target"], row["target"])), note=row["kafka_topic"]),
            ),
            Column("Node", lambda row: row["node"] or ""),
            Column("Client", _presence),
        ),
        empty="Nobody.",
        search=None,
    )
    await listing.refresh()


def _presence(row: Row) -> Cell:
    note = None if row["is_in_table"] else "newer than the router's table, so carried with the message"
    if row["is_connected"] is None:
        return Cell("not known", note=note)
    return (
        Cell("Connected", tone="good", note=note)
        if row["is_connected"]
        else Cell("Offline", tone="quiet", note=note)
    )
