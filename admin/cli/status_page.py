"""The page of `sluicemq status`: a cluster's state as rich shows it, good at 80 columns; pure."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from admin.cli.cells import plain
from admin.cluster.nodes import Node, RouterDetails
from admin.cluster.overview import Overview

_BARS = " ▁▂▃▄▅▆▇█"
_KEPT = 60
"""Looks that the little charts show."""
_STYLES = {"living": "green", "running": "green", "rolling_over": "green", "starting": "yellow"}
_BAD = "bold red"
_LEAST_CHART = 10
_LEAST_WIDTH = 76
"""For all columns of gateways; where there is less room, the least needed ones are left out."""
_LABEL_WIDTH = 12
_VALUE_WIDTH = 30


class Page:
    """What is shown; it remembers rates for its charts."""

    def __init__(self) -> None:
        self._taken: deque[float] = deque(maxlen=_KEPT)
        self._sent: deque[float] = deque(maxlen=_KEPT)
        self._found: tuple[Overview, Sequence[Node], RouterDetails] | None = None

    def take(self, overview: Overview, nodes: Sequence[Node], router: RouterDetails) -> None:
        """The newest look."""
        self._found = overview, nodes, router
        self._taken.append(overview.messages.in_per_s)
        self._sent.append(overview.messages.out_per_s)

    def render(self, width: int = 80) -> RenderableType:
        """All of it."""
        if self._found is None:
            return Text("")
        overview, nodes, router = self._found
        parts: list[RenderableType] = [
            _title(overview),
            Text(""),
            self._numbers(overview, router, width),
            _nodes(nodes, width),
        ]
        parts += [Text.assemble(("! ", _BAD), plain(warning)) for warning in overview.warnings]
        return Group(*parts)

    def _numbers(self, overview: Overview, router: RouterDetails, width: int) -> Table:
        chart = max(_LEAST_CHART, min(_KEPT, width - _LABEL_WIDTH - _VALUE_WIDTH - 4))
        table = Table.grid(padding=(0, 2))
        table.add_column(style="bold", width=_LABEL_WIDTH)
        table.add_column(width=_VALUE_WIDTH)
        table.add_column()
        messages, sessions = overview.messages, overview.sessions
        table.add_row("in", f"{number(messages.in_per_s)} messages/s", _chart(self._taken, chart))
        table.add_row("out", f"{number(messages.out_per_s)} messages/s", _chart(self._sent, chart))
        dropped = Text(f"{number(messages.dropped_per_s)} messages/s")
        if messages.dropped_per_s:
            dropped.stylize(_BAD)
        table.add_row("dropped", dropped, "")
        total = "?" if sessions.total is None else number(sessions.total)
        table.add_row(
            "sessions",
            f"{number(sessions.connected)} connected of {total}",
            f"{number(overview.subscriptions)} subscriptions",
        )
        state = Text(router.state.replace("_", " "), _STYLES.get(router.state, _BAD))
        generation = "" if router.generation is None else f", generation {router.generation}"
        rolled = f"{router.rollovers} rollovers, {router.restarts} restarts"
        table.add_row("router", Text.assemble(state, generation), rolled)
        p50, p99 = (_ms(value) for value in (router.latency_p50_ms, router.latency_p99_ms))
        backlog = "?" if router.backlog is None else number(router.backlog)
        table.add_row("latency", f"p50 {p50}, p99 {p99}", f"{backlog} messages behind")
        return table


def _title(overview: Overview) -> Text:
    nodes = overview.nodes
    at = datetime.fromtimestamp(overview.at_ms / 1000, UTC)
    counted = f"{nodes.living} gateway{'' if nodes.living == 1 else 's'}"
    title = Text.assemble(("SluiceMQ", "bold"), f"  {counted}  {at:%Y-%m-%d %H:%M:%SZ}  ")
    return title + (Text("needs a look", _BAD) if overview.warnings else Text("all is well", "green"))


def _nodes(nodes: Sequence[Node], width: int) -> Table:
    is_narrow = width < _LEAST_WIDTH
    names = ["clients", "in/s", "out/s", *([] if is_narrow else ["CPU", "memory"]), "up"]
    columns = [Column("gateway", no_wrap=True, overflow="ellipsis"), Column("state", no_wrap=True)]
    columns += [Column(name, justify="right", no_wrap=True) for name in names]
    table = Table(*columns, box=SIMPLE_HEAD, pad_edge=False, width=min(width, 100))
    for node in nodes:
        state = Text(node.state, _STYLES.get(node.state, _BAD))
        if node.state == "living":
            cells = [
                number(node.connections),
                number(node.messages.in_per_s),
                number(node.messages.out_per_s),
            ]
            cells += [] if is_narrow else [f"{node.cpu_percent:.0f} %", _bytes(node.memory_bytes)]
            cells.append(_span(time.time() - node.started_at_ms / 1000))
        else:
            cells = [""] * (len(names) - 1) + [f"{_span(node.seen_ms_ago / 1000)} ago"]
        table.add_row(plain(node.node), state, *cells)
    return table


def number(value: float) -> str:
    """A number in five characters or so: 950, 12.3 k, 4.56 M."""
    for bound, unit in ((1e6, "M"), (1e4, "k")):
        if value >= bound:
            return f"{value / (1e6 if unit == 'M' else 1e3):.3g} {unit}"
    return f"{value:.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def _chart(values: Sequence[float], width: int) -> Text:
    shown = list(values)[-width:]
    highest = max(shown, default=0.0)
    bars = "".join(_BARS[round((len(_BARS) - 1) * value / highest)] if highest else " " for value in shown)
    return Text(bars.rjust(width), "cyan")


def _ms(value: float | None) -> str:
    return "?" if value is None else f"{value:.3g} ms" if value < 1000 else f"{value / 1000:.3g} s"


def _bytes(value: int | None) -> str:
    return "?" if value is None else f"{value / (1 << 20):.0f} MiB"


def _span(seconds: float) -> str:
    for length, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
