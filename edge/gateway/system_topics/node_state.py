"""What this gateway says of itself in `tbmq.sys.state`, every few seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from resource import getpagesize

from contracts import state_record
from contracts.state_record import Authentication, GatewayState, Latency, Rates, RouterSeen, percentile
from contracts.wall_clock import epoch_ms
from edge.gateway.counters import Counters
from edge.gateway.router_view import RouterView
from edge.gateway.shares.strategies import Strategies
from edge.gateway.system_topics.values import dropped
from telemetry.version import installed_version

_STATM = Path("/proc/self/statm")


@dataclass(frozen=True)
class NodeParts:
    """Of what a gateway's state is made."""

    node: str
    boot: str
    interval: float
    """Seconds between two records."""
    counters: Counters
    connections: Callable[[], int]
    subscriptions: Callable[[], int]
    listeners: Callable[[], dict[str, str]]
    router: RouterView
    authentication: Callable[[], Authentication]
    strategies: Strategies


@dataclass(frozen=True)
class _Moment:
    """What rates are the difference of."""

    at: float
    processor: float
    taken: int
    sent: int
    dropped: int


class NodeState:
    """Makes the records; each has the rates since the one before."""

    def __init__(self, parts: NodeParts) -> None:
        self._parts = parts
        self._version = installed_version()
        self._started_at_ms = epoch_ms()
        self._before = _moment(parts.counters.as_dict())

    def record(self, is_last: bool) -> tuple[bytes, bytes]:
        """Key and value of a record, as of now."""
        parts = self._parts
        counters = parts.counters.as_dict()
        now, before = _moment(counters), self._before
        self._before = now
        seconds = max(now.at - before.at, 1e-3)
        default, groups = parts.strategies.default, parts.strategies.by_name
        return state_record.encode(
            GatewayState(
                node=parts.node,
                at_ms=epoch_ms(),
                interval_s=parts.interval,
                boot=parts.boot,
                started_at_ms=self._started_at_ms,
                version=self._version,
                is_stopped=is_last,
                listeners=parts.listeners(),
                connections=parts.connections(),
                subscriptions=parts.subscriptions(),
                messages=Rates(
                    round((now.taken - before.taken) / seconds, 1),
                    round((now.sent - before.sent) / seconds, 1),
                    round((now.dropped - before.dropped) / seconds, 1),
                ),
                memory_bytes=_memory(),
                cpu_percent=round(100 * (now.processor - before.processor) / seconds, 1),
                router=seen(parts.router),
                authentication=parts.authentication(),
                share_strategies={"": default.value} | {name: one.value for name, one in groups.items()},
                counters=counters,
            )
        )


def seen(view: RouterView) -> RouterSeen:
    """What probes have told of the router."""
    lasting = view.latencies
    ascending = tuple(sorted(1000 * latency for latency in lasting))
    latency = (
        Latency(
            round(1000 * lasting[-1], 2),
            round(percentile(ascending, 0.5), 2),
            round(percentile(ascending, 0.99), 2),
            len(ascending),
        )
        if ascending
        else None
    )
    return RouterSeen(view.generation, view.versions, latency, view.outstanding, view.backlog, view.routed)


def _moment(counters: dict[str, int]) -> _Moment:
    return _Moment(
        time.monotonic(),
        time.process_time(),
        counters["publishes"],
        counters["deliveries"],
        dropped(counters),
    )


def _memory() -> int | None:
    try:
        return int(_STATM.read_text().split()[1]) * getpagesize()
    except (OSError, ValueError, IndexError):
        return None  # no Linux
