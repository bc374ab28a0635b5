"""Plots as PNG: bars of throughput, latency by percentile, latency over time. Drawn without a display."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure as Canvas

from bench.brokers import PEERS
from bench.figures import Bars, Percentiles, Plot, Result, Timeline, number
from bench.statistics import percentile

_STYLE: dict[Any, Any] = {
    # A background of its own, so that a page in dark mode shows the axes too.
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "font.size": 10.0,
    "axes.titlesize": 11.0,
    "axes.titlelocation": "left",
    "savefig.dpi": 130,
}
_OURS, _THEIRS, _TARGET, _MARK = "#1f6fb4", "#9aa5b1", "#c0392b", "#e8a33d"
_CURVES = ("#1f6fb4", "#2ca089", "#8a63b5", "#7d8894")
_PEERS = (*PEERS, "plain copy")
"""What the names of bars begin with that are not ours."""
_SHARES = (0, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)


def draw_plots(result: Result, folder: Path) -> list[Path]:
    """Draw all plots of a result; returns the files."""
    files = []
    with mpl.rc_context(_STYLE):
        for index, plot in enumerate(result.plots, 1):
            canvas = Canvas(figsize=(8.0, 4.2), layout="constrained")
            _draw(plot, canvas)
            files.append(folder / f"{result.bench}-{index}.png")
            canvas.savefig(files[-1])
    return files


def _draw(plot: Plot, canvas: Canvas) -> None:
    match plot:
        case Bars():
            _draw_bars(plot, canvas)
        case Percentiles():
            _draw_percentiles(plot, canvas)
        case Timeline():
            _draw_timeline(plot, canvas)


def _draw_bars(plot: Bars, canvas: Canvas) -> None:
    axes = canvas.add_subplot()
    names = list(plot.values)
    colours = [_THEIRS if name.startswith(_PEERS) else _OURS for name in names]
    bars = axes.barh(names, list(plot.values.values()), color=colours, height=0.6)
    axes.bar_label(bars, [number(value) for value in plot.values.values()], padding=4)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.grid(visible=False, axis="y")
    if plot.target is not None:
        axes.axvline(plot.target, color=_TARGET, linestyle="--", label=f"target {number(plot.target)}")
        axes.legend(loc="lower right", edgecolor="none", framealpha=0.9)
    axes.set_xlabel(plot.unit)
    axes.xaxis.set_major_formatter(lambda value, _: number(value))
    axes.set_title(plot.title)


def _draw_percentiles(plot: Percentiles, canvas: Canvas) -> None:
    axes = canvas.add_subplot()
    for colour, (name, latencies) in zip(_CURVES, plot.curves.items(), strict=False):
        shares = [share for share in _SHARES if len(latencies) * (100 - share) >= 100]
        if shares:
            values = [percentile(latencies, share) * 1e3 for share in shares]
            axes.plot([_nines(share) for share in shares], values, label=name, color=colour, marker="o", ms=3)
    for share, target in plot.targets.items():
        axes.plot(_nines(share), target * 1e3, marker="v", color=_TARGET, ms=8, linestyle="none")
    if plot.targets:
        axes.plot([], [], marker="v", color=_TARGET, ms=8, linestyle="none", label="target (at most)")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: number(value))
    shown = (0, 50, 90, 99, 99.9, 99.99)
    axes.set_xticks([_nines(share) for share in shown], [f"{share:g}" for share in shown])
    axes.set_xlabel("percentile (%)")
    axes.set_ylabel("latency (ms)")
    axes.set_title(plot.title)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper left", frameon=False)  # "best" looks at every sample


def _draw_timeline(plot: Timeline, canvas: Canvas) -> None:
    axes = canvas.add_subplot()
    start = plot.samples[0].sent_at if plot.samples else 0.0
    end = plot.samples[-1].sent_at - start if plot.samples else 0.0
    axes.plot(*_points(plot, start), ".", ms=1.5, color=_OURS, label="a message", rasterized=True)
    for index, at in enumerate(at - start for at in plot.commits if 0 <= at - start <= end):
        axes.axvline(at, color=_MARK, linewidth=0.8, label="a batch is committed" if not index else None)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: number(value))
    axes.set_xlabel("sent at (s)")
    axes.set_ylabel("latency (ms)")
    axes.set_title(plot.title)
    axes.legend(frameon=False, loc="upper right", markerscale=6)


def _points(plot: Timeline, start: float) -> tuple[Sequence[float], Sequence[float]]:
    return (
        [sample.sent_at - start for sample in plot.samples],
        [sample.latency * 1e3 for sample in plot.samples],
    )


def _nines(share: float) -> float:
    # Each further nine takes as much room as the one before it.
    return -math.log10(1 - share / 100)
