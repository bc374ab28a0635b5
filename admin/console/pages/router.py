"""The router: its query, and how far its table of subscriptions is."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from admin.console.listing import Cell
from admin.console.pages.overview import ROUTER_STATES
from admin.console.parts import facts, heading, notice, page_head
from admin.console.shell import console_page
from admin.console.view import View
from admin.words import ago, counted, duration, listed, moment
from contracts.wall_clock import epoch_ms

SECONDS_BETWEEN = 5.0


@console_page("/router", "Router")
async def router(view: View) -> None:
    """The router's query."""
    page_head("Router", "The Spark query that brings every message to those who subscribe to it.")
    told = ui.element("div").style("display: grid; gap: 14px")

    async def refresh() -> None:
        with view.telling():
            found = await view.calls.get("/router")
            told.clear()
            with told:
                _tell_router(found)

    await refresh()
    ui.timer(SECONDS_BETWEEN, refresh, immediate=False)


def _tell_router(found: dict[str, Any]) -> None:
    now_ms = epoch_ms()
    state, tone = ROUTER_STATES.get(found["state"], (found["state"], ""))
    if found["last_failure"]:
        notice(f"Its last failure: {found['last_failure']}", "warn")
    with ui.element("div").classes("grid"):
        with ui.element("section").classes("card"):
            heading(2, "Query")
            facts(
                [
                    ("State", Cell(state, tone=tone, note=_heard(found))),
                    ("Latency", _latency(found)),
                    ("Backlog", "" if found["backlog"] is None else counted(found["backlog"], "record")),
                    ("Generation", _generation(found, now_ms)),
                    ("Rollovers", Cell(f"{found['rollovers']:,}", note=_rollovers(found))),
                    ("Restarts", f"{found['restarts']:,}"),
                    ("Trigger", found["trigger"] or ""),
                    ("Shapes of filters", "" if found["shapes"] is None else str(found["shapes"])),
                    ("Version", found["version"] or ""),
                    ("Started", moment(found["started_at_ms"])),
                    ("In quarantine", listed([str(one) for one in found["quarantine"]])),
                    ("Missing Kafka topics", listed([str(one) for one in found["missing"]])),
                ]
            )
        with ui.element("section").classes("card"):
            heading(2, "Table of subscriptions")
            ui.label("How far it has read each partition of the subscription log.").classes("soft")
            facts([(f"Partition {one['partition']}", _table_version(one)) for one in found["table"]])


def _generation(found: dict[str, Any], now_ms: int) -> Cell:
    if found["generation"] is None:
        return Cell("")
    return Cell(str(found["generation"]), note=f"began {ago(found['generation_started_at_ms'], now_ms)}")


def _heard(found: dict[str, Any]) -> str | None:
    return None if found["seen_ms_ago"] is None else f"heard of {duration(found['seen_ms_ago'] / 1000)} ago"


def _latency(found: dict[str, Any]) -> str:
    if found["latency_p50_ms"] is None:
        return "not measured"
    return f"half within {found['latency_p50_ms']:.1f} ms, 99 % within {found['latency_p99_ms']:.1f} ms"


def _rollovers(found: dict[str, Any]) -> str | None:
    if not found["last_rollover_ms"]:
        return None
    return (
        f"the last took {found['last_rollover_ms'] / 1000:.1f} s, {found['postponed_rollovers']:,} postponed"
    )


def _table_version(one: dict[str, Any]) -> str:
    if one["version"] is None or one["end"] is None:
        return "not known"
    behind = one["end"] - one["version"]
    return f"{one['version']:,} of {one['end']:,}" if behind > 0 else f"all of {one['end']:,}"
