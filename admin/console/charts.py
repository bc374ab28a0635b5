"""Charts: options of ECharts from series of points. Pure; colours work on light and on dark ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

COLOURS = ("#0d8c99", "#c9730a", "#8461d6", "#cc4b6c", "#5f8a1f", "#4a7fd0")
"""Told apart by those who see few colours, too; lines also end in their names."""
MOST_IN_A_LINE = 4
"""Names that fit into one line of the legend."""
_GRID = "rgba(128, 150, 155, 0.25)"

Point = tuple[int, float | None]
"""When, in ms since 1970, and how much; None leaves a gap."""


@dataclass(frozen=True)
class Series:
    """A line."""

    name: str
    points: Sequence[Point]


def lines(series: Sequence[Series], *, unit: str = "", is_stacked: bool = False) -> dict[str, Any]:
    """The options of a chart over time."""
    return {
        "color": list(COLOURS),
        "animation": False,
        "textStyle": {"fontFamily": "Roboto, system-ui, sans-serif"},
        "grid": {
            "left": 8,
            "right": 12,
            "top": 34 if len(series) <= MOST_IN_A_LINE else 56,
            "bottom": 4,
            "containLabel": True,
        },
        "legend": {
            "top": 0,
            "left": 0,
            "icon": "roundRect",
            "itemWidth": 12,
            "itemHeight": 4,
            "itemGap": 16,
        },
        "tooltip": {"trigger": "axis", "confine": True},
        "xAxis": {
            "type": "time",
            "axisLine": {"lineStyle": {"color": _GRID}},
            "axisTick": {"show": False},
            "axisLabel": {"hideOverlap": True},
            "splitLine": {"show": False},
        },
        "yAxis": {
            "type": "value",
            "min": 0,
            "name": "",
            "axisLabel": {"formatter": f"{{value}}{f' {unit}' if unit else ''}"},
            "splitNumber": 4,
            "splitLine": {"lineStyle": {"color": _GRID}},
        },
        "series": [_line(one, is_stacked) for one in series],
    }


def _line(series: Series, is_stacked: bool) -> dict[str, Any]:
    line: dict[str, Any] = {
        "name": series.name,
        "type": "line",
        "showSymbol": len(series.points) < 3,
        "lineStyle": {"width": 2},
        "data": [list(point) for point in series.points],
    }
    if is_stacked:
        line |= {"stack": "all", "areaStyle": {"opacity": 0.25}}
    return line
