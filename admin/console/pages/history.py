"""History: what gateways counted, over hours, days and weeks, from the statistics in SQL."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from nicegui import ui

from admin.console.charts import Point, Series, lines
from admin.console.fields import choice_field
from admin.console.parts import heading, page_head
from admin.console.shell import console_page
from admin.console.view import View
from contracts.wall_clock import epoch_ms

_SPANS = {
    "3600": "The last hour",
    "21600": "The last 6 hours",
    "86400": "The last day",
    "604800": "The last week",
}
_CHARTS: tuple[tuple[str, dict[str, str]], ...] = (
    ("Messages", {"publishes": "In", "deliveries": "Out"}),
    (
        "Dropped",
        {
            "dropped_publishes": "While Kafka stalled",
            "dropped_slow": "Slow client",
            "dropped_over_rate": "Over its rate",
            "dropped_large": "Too large",
            "dropped_expired": "Expired",
        },
    ),
    ("Connections", {"connects": "Accepted", "refused": "Refused", "unauthorized": "Unauthorized"}),
    (
        "Ended connections",
        {"takeovers": "Taken over", "protocol_errors": "Breach of the protocol", "disconnected_slow": "Slow"},
    ),
)
_ALL = ""


@console_page("/history", "History")
async def history(view: View) -> None:
    """Charts of what was counted."""
    page_head("History", "What gateways have counted, per second, from the statistics in the database.")
    known = await view.calls.get("/statistics/counters")
    with ui.element("div").classes("tools"):
        span = choice_field("Time", _SPANS, "3600")
        node = choice_field("Node", {_ALL: "All together", **{name: name for name in known["nodes"]}}, _ALL)
    with ui.element("div").classes("grid"):
        charts = {title: _chart(title) for title, _ in _CHARTS}

    async def show() -> None:
        with view.telling():
            now_ms = epoch_ms()
            query = {
                "from": now_ms - int(span.value or 3600) * 1000,
                "to": now_ms,
                "node": node.value or None,
            }
            for title, counters in _CHARTS:
                found = await view.calls.get("/statistics", counter=list(counters), **query)
                charts[title].options.update(lines(_together(found, counters)))
                charts[title].update()

    span.on_value_change(show)
    node.on_value_change(show)
    await show()


def _chart(title: str) -> ui.echart:
    with ui.element("section").classes("card"):
        heading(2, f"{title} per second")
        chart = ui.echart(lines([]), renderer="svg").classes("chart")
        chart.props["role"] = "img"
        chart.props["aria-label"] = f"Chart: {title}, per second"
    return chart


def _together(found: dict[str, Any], counters: dict[str, str]) -> list[Series]:
    """Each counter's increase per second, summed over nodes."""
    seconds = found["step_ms"] / 1000
    sums: dict[str, defaultdict[int, float]] = {counter: defaultdict(float) for counter in counters}
    for series in found["series"]:
        for at_ms, _, increase in series["points"]:
            sums[series["counter"]][at_ms] += increase / seconds
    return [Series(counters[counter], _rounded(steps)) for counter, steps in sums.items()]


def _rounded(steps: dict[int, float]) -> list[Point]:
    return [(at_ms, round(value, 2)) for at_ms, value in sorted(steps.items())]
