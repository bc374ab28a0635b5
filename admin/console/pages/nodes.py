"""Nodes: the gateways of the cluster, as each has told of itself."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from nicegui import ui

from admin.console.dialogs import confirm_removal
from admin.console.listing import Action, Cell, Column, Listing, Row, whole
from admin.console.parts import facts, heading, notice, page_head
from admin.console.shell import console_page
from admin.console.view import View, sentence
from admin.words import ago, counted, duration, listed, moment, rate, size
from contracts.wall_clock import epoch_ms

SECONDS_BETWEEN = 5.0
NODE_STATES = {"living": ("Living", "good"), "silent": ("Silent", "bad"), "stopped": ("Stopped", "quiet")}


@console_page("/nodes", "Nodes")
async def nodes(view: View) -> None:
    """All gateways."""
    page_head("Nodes", "The gateways that clients connect to, as each has told of itself.")
    listing: Listing

    def forget(row: Row) -> None:
        confirm_removal(
            view,
            f"Forget {row['node']}?",
            "It is listed again as soon as it is started.",
            f"/nodes/{quote(row['node'], safe='')}",
            listing.refresh,
            verb="Forget",
        )

    listing = Listing(
        view,
        "nodes",
        whole(view, "/nodes", "node"),
        (
            Column("Node", lambda row: Cell(row["node"], href=f"/node?name={quote(row['node'], safe='')}")),
            Column("State", _node_state),
            Column("Clients", lambda row: f"{row['connections']:,}", number=True),
            Column("Subscriptions", lambda row: f"{row['subscriptions']:,}", number=True),
            Column("In per second", lambda row: rate(row["messages"]["in_per_s"]), number=True),
            Column("Out per second", lambda row: rate(row["messages"]["out_per_s"]), number=True),
            Column("Processor", lambda row: f"{row['cpu_percent']:.0f} %", number=True),
            Column(
                "Memory", lambda row: size(row["memory_bytes"]) if row["memory_bytes"] else "", number=True
            ),
            Column("Started", lambda row: ago(row["started_at_ms"], epoch_ms())),
        ),
        (Action("Forget", forget, danger=True, applies=lambda row: row["state"] != "living"),)
        if view.may_change
        else (),
        empty="No node has told of itself yet.",
        search=None,
    )
    await listing.refresh()
    ui.timer(SECONDS_BETWEEN, listing.refresh, immediate=False)


def _is_gone(row: Row) -> bool:
    return bool(row["state"] != "living")


def _node_state(row: Row) -> Cell:
    state, tone = NODE_STATES[row["state"]]
    return Cell(
        state,
        tone=tone,
        note=None if row["state"] == "living" else f"for {duration(row['seen_ms_ago'] / 1000)}",
    )


@console_page("/node", "Node")
async def node(view: View) -> None:
    """One gateway, which `?name=` names."""
    name = view.query.get("name", "")
    page_head(name)
    told = ui.element("div").style("display: grid; gap: 14px")

    async def refresh() -> None:
        with view.telling():
            found = await view.calls.get(f"/nodes/{quote(name, safe='')}")
            told.clear()
            with told:
                _tell_node(found)

    await refresh()
    ui.timer(SECONDS_BETWEEN, refresh, immediate=False)


def _tell_node(found: dict[str, Any]) -> None:
    authentication = found["authentication"]
    if authentication["error"]:
        notice(sentence(authentication["error"]), "bad")
    with ui.element("div").classes("grid"):
        with ui.element("section").classes("card"):
            heading(2, "Gateway")
            facts(_gateway(found))
        with ui.element("section").classes("card"):
            heading(2, "Its view of the router")
            facts(_routing(found["router"]))
    with ui.element("section").classes("card"):
        heading(2, "Counted since it started")
        with ui.element("div").classes("counted"):
            facts([(_spoken(name), f"{count:,}") for name, count in sorted(found["counters"].items())])


def _gateway(found: dict[str, Any]) -> list[tuple[str, Cell | str]]:
    authentication = found["authentication"]
    strategies = [
        f"{group or 'all others'}: {by.replace('_', ' ')}" for group, by in found["share_strategies"].items()
    ]
    return [
        ("State", _node_state(found)),
        ("Version", found["version"]),
        ("Started", moment(found["started_at_ms"])),
        *((f"Listens ({kind})", Cell(at, mono=True)) for kind, at in found["listeners"].items()),
        ("Clients", f"{found['connections']:,}"),
        ("Subscriptions", f"{found['subscriptions']:,}"),
        ("Processor", f"{found['cpu_percent']:.1f} % of one"),
        ("Memory", size(found["memory_bytes"]) if found["memory_bytes"] else ""),
        ("Authentication", listed(authentication["providers"]) or "everybody is let in"),
        ("Share strategies", "; ".join(strategies)),
    ]


def _routing(router: dict[str, Any]) -> list[tuple[str, Cell | str]]:
    latency = router["latency_ms"]
    measured = f"half within {latency['p50']:.1f} ms" if latency else ""
    return [
        ("Generation", str(router["generation"] or "")),
        ("Latency", Cell(measured, note=f"99 % within {latency['p99']:.1f} ms") if measured else ""),
        ("Probes on their way", str(router["outstanding_probes"])),
        ("Backlog", counted(router["backlog"] or 0, "record")),
    ]


def _spoken(counter: str) -> str:
    return counter.replace("_", " ").capitalize()
