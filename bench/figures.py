"""Figures: what a bench measured, its target, and the same measured at its peers. Plain data, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.statistics import Sample


@dataclass(frozen=True)
class Target:
    """A limit that a figure must keep."""

    limit: float
    at_most: bool
    """Whether smaller is better."""

    def is_met(self, value: float) -> bool:
        """Whether a value keeps it."""
        return value <= self.limit if self.at_most else value >= self.limit

    @property
    def text(self) -> str:
        """As `≤ 6` or `≥ 40,000`."""
        return f"{'≤' if self.at_most else '≥'} {number(self.limit)}"


def at_most(limit: float) -> Target:
    """A target where smaller is better."""
    return Target(limit, at_most=True)


def at_least(limit: float) -> Target:
    """A target where larger is better."""
    return Target(limit, at_most=False)


@dataclass(frozen=True)
class Figure:
    """One measured number."""

    name: str
    value: float | None
    """None: it could not be measured; `note` says why."""
    unit: str
    target: Target | None = None
    peers: Mapping[str, float | None] = field(default_factory=dict)
    """The same at each peer, in this run; None where the peer is not installed."""
    note: str = ""
    """How it came about, where that is no matter of course."""

    @property
    def is_met(self) -> bool | None:
        """Whether the target is met; None where there is none, or nothing was measured."""
        return None if self.target is None or self.value is None else self.target.is_met(self.value)

    def ratio(self, peer: str) -> float | None:
        """Ours divided by the peer's; None where there is nothing to divide: differences may be below zero."""
        theirs = self.peers.get(peer)
        if self.value is None or theirs is None or theirs <= 0 or self.value < 0:
            return None
        return self.value / theirs


@dataclass(frozen=True)
class Bars:
    """A plot: one bar a broker."""

    title: str
    unit: str
    values: Mapping[str, float]
    target: float | None = None


@dataclass(frozen=True)
class Percentiles:
    """A plot: latency by percentile, one curve a broker."""

    title: str
    curves: Mapping[str, Sequence[float]]
    """Latencies in seconds, in any order."""
    targets: Mapping[float, float] = field(default_factory=dict)
    """Percentile → its target in seconds."""


@dataclass(frozen=True)
class Timeline:
    """A plot: latency over time, with the rollovers marked."""

    title: str
    samples: Sequence[Sample]
    commits: Sequence[float]


Plot = Bars | Percentiles | Timeline


@dataclass
class Result:
    """What one bench found."""

    bench: str
    title: str
    figures: list[Figure] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    """Everything else that helps to judge the figures, as JSON."""
    seconds: float = 0.0
    """How long the bench took."""


def number(value: float) -> str:
    """A number for people: three digits that matter, thousands apart."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}"
