"""The overview: what the broker does, at a glance, and how the last minutes went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nicegui import ui

from admin.console.calls import ProblemAnswer
from admin.console.charts import Series, lines
from admin.console.parts import Figures, heading, notice, page_head
from admin.console.recent import Recent
from admin.console.shell import console_page
from admin.console.view import View, sentence
from admin.words import counted, listed, rate

SECONDS_BETWEEN = 5.0
"""Gateways tell how they are as often."""
ROUTER_STATES = {
    "running": ("Running", "good"), "rolling_over": ("Rolling over", "good"), "starting": ("Starting", "warn"),
    "waiting_for_kafka": ("Waiting for Kafka", "bad"), "failed": ("Failed", "bad"), "stopped": ("Stopped", "bad"),
    "silent": ("Silent", "bad"), "unknown": ("Unknown", "warn"),
}  # fmt: skip
_RECENT = Recent()
_BY_NODE: dict[str, Recent] = {}


@console_page("/", "Overview")
async def overview(view: View) -> None:
    """The first page; it goes on while it is open."""
    page_head("Overview")
    said = ui.element("div").props("aria-live=polite").classes("said")
    figures = Figures(
        {
            "in": "Messages in",
            "out": "Messages out",
            "dropped": "Dropped",
            "connected": "Connected clients",
            "latency": "Router latency",
            "router": "Router",
        }
    )
    with ui.element("div").classes("grid"):
        charts = {name: _chart(title) for name, title in _CHARTS.items()}

    async def look() -> None:
        problem = None
        try:
            found = await view.calls.get("/overview")
            nodes = await view.calls.get("/nodes")
        except ProblemAnswer as answer:
            if answer.is_logged_out:
                view.tell(answer)
            problem = sentence(answer.detail)
        said.clear()
        with said:
            for text in [problem] if problem else found["warnings"]:
                notice(text, "bad" if problem else "warn")
        if problem is None:
            _show_figures(figures, found)
            _note(found, nodes)
            for name, chart in charts.items():
                chart.options.update(_options(name))
                chart.update()

    await look()
    ui.timer(SECONDS_BETWEEN, look, immediate=False)


_CHARTS = {
    "messages": "Messages per second",
    "sessions": "Sessions",
    "latency": "Latency through the router",
    "nodes": "Messages per second, by node",
}


def _chart(title: str) -> ui.echart:
    with ui.element("section").classes("card"):
        heading(2, title)
        chart = ui.echart(lines([]), renderer="svg").classes("chart")
        chart.props["role"] = "img"
        chart.props["aria-label"] = f"Chart: {title}, over the last quarter of an hour"
    return chart


def _show_figures(figures: Figures, found: dict[str, Any]) -> None:
    messages, sessions, router, nodes = (found[key] for key in ("messages", "sessions", "router", "nodes"))
    figures.set("in", rate(messages["in_per_s"]), "per second")
    figures.set("out", rate(messages["out_per_s"]), "per second")
    figures.set("dropped", rate(messages["dropped_per_s"]), "per second")
    kept = "" if sessions["total"] is None else f"of {counted(sessions['total'], 'session')}"
    figures.set("connected", f"{sessions['connected']:,}", kept)
    if router["latency_p50_ms"] is None:
        figures.set("latency", "–", "no gateway has measured it")
    else:
        figures.set(
            "latency", f"{router['latency_p50_ms']:.1f} ms", f"99 % within {router['latency_p99_ms']:.1f} ms"
        )
    state, _ = ROUTER_STATES.get(router["state"], (router["state"], ""))
    silent = f", {listed(nodes['silent'])} silent" if nodes["silent"] else ""
    figures.set("router", state, f"{counted(nodes['living'], 'node')}{silent}")


def _note(found: dict[str, Any], nodes: Sequence[dict[str, Any]]) -> None:
    _RECENT.add(found)
    living = {node["node"]: node for node in nodes if node["state"] == "living"}
    for name in _BY_NODE.keys() - living.keys():
        del _BY_NODE[name]
    for name, node in living.items():
        _BY_NODE.setdefault(name, Recent()).add({**node, "at_ms": found["at_ms"]})


def _options(name: str) -> dict[str, Any]:
    match name:
        case "messages":
            return lines(
                [
                    Series("In", _RECENT.points("messages", "in_per_s")),
                    Series("Out", _RECENT.points("messages", "out_per_s")),
                    Series("Dropped", _RECENT.points("messages", "dropped_per_s")),
                ]
            )
        case "sessions":
            return lines(
                [
                    Series("Connected", _RECENT.points("sessions", "connected")),
                    Series("All", _RECENT.points("sessions", "total")),
                ]
            )
        case "latency":
            return lines(
                [
                    Series("Half within", _RECENT.points("router", "latency_p50_ms")),
                    Series("99 % within", _RECENT.points("router", "latency_p99_ms")),
                ],
                unit="ms",
            )
        case _:
            points = {node: seen.points("messages", "in_per_s") for node, seen in sorted(_BY_NODE.items())}
            return lines([Series(f"{node} in", told) for node, told in points.items()])
