"""Gateways and the router with all that is known of them; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from admin.cluster.overview import UNKNOWN, life_of, summary
from admin.cluster.states import LIVING, StateView
from contracts.state_record import Authentication, Rates, RouterSeen


@dataclass(frozen=True)
class Node:
    """A gateway."""

    node: str
    state: str
    """`living`, `silent` or `stopped`."""
    seen_ms_ago: int
    at_ms: int
    """Its own clock, when it said this."""
    started_at_ms: int
    version: str
    boot: str
    listeners: Mapping[str, str]
    connections: int
    subscriptions: int
    messages: Rates
    memory_bytes: int | None
    cpu_percent: float
    router: RouterSeen
    authentication: Authentication
    share_strategies: Mapping[str, str]
    counters: Mapping[str, int]


@dataclass(frozen=True)
class TablePartition:
    """How much of a partition of the subscription log is in the router's table."""

    partition: int
    version: int | None
    """All before this offset is, for certain; null where that is not known."""
    end: int | None = None
    """Where the log ends, where Kafka tells; what is not in the table is carried along with messages."""


@dataclass(frozen=True)
class RouterDetails:
    """The router."""

    state: str
    """As in `tbmq.sys.state`; `silent` or `unknown` where it says nothing."""
    seen_ms_ago: int | None
    at_ms: int | None
    started_at_ms: int | None
    version: str | None
    trigger: str | None
    rollover_seconds: float | None
    generation: int | None
    generation_started_at_ms: int | None
    rollovers: int
    postponed_rollovers: int
    last_rollover_ms: int | None
    restarts: int
    last_failure: str | None
    quarantine: list[str]
    missing: list[str]
    shapes: int | None
    latency_p50_ms: float | None
    latency_p99_ms: float | None
    backlog: int | None
    table: list[TablePartition]


def nodes_of(view: StateView) -> list[Node]:
    """All gateways, by node id."""
    return [
        Node(
            node=state.node,
            state=seen.life,
            seen_ms_ago=round(1000 * seen.seconds_ago),
            at_ms=state.at_ms,
            started_at_ms=state.started_at_ms,
            version=state.version,
            boot=state.boot,
            listeners=state.listeners,
            connections=state.connections,
            subscriptions=state.subscriptions,
            messages=state.messages,
            memory_bytes=state.memory_bytes,
            cpu_percent=state.cpu_percent,
            router=state.router,
            authentication=state.authentication,
            share_strategies=state.share_strategies,
            counters=state.counters,
        )
        for state, seen in view.gateways()
    ]


def router_of(view: StateView) -> RouterDetails:
    """The router; the ends of the subscription log are left open."""
    found, short = view.router(), summary(view)
    state = found[0] if found else None
    return RouterDetails(
        state=life_of(*found) if found else UNKNOWN,
        seen_ms_ago=round(1000 * found[1].seconds_ago) if found else None,
        at_ms=state.at_ms if state else None,
        started_at_ms=state.started_at_ms if state else None,
        version=state.version if state else None,
        trigger=state.trigger if state else None,
        rollover_seconds=state.rollover_seconds if state else None,
        generation=short.generation,
        generation_started_at_ms=state.generation_started_at_ms if state else None,
        rollovers=state.rollovers if state else 0,
        postponed_rollovers=state.postponed_rollovers if state else 0,
        last_rollover_ms=state.last_rollover_ms if state else None,
        restarts=state.restarts if state else 0,
        last_failure=state.last_failure if state else None,
        quarantine=list(state.quarantine) if state else [],
        missing=list(state.missing) if state else [],
        shapes=state.shapes if state else None,
        latency_p50_ms=short.latency_p50_ms,
        latency_p99_ms=short.latency_p99_ms,
        backlog=short.backlog,
        table=[TablePartition(number, version) for number, version in enumerate(table_version(view))],
    )


def table_version(view: StateView) -> list[int | None]:
    """For each partition of the subscription log, what all living gateways have proof of."""
    seen = [state.router.table_version for state, one in view.gateways() if one.life == LIVING]
    known = [versions for versions in seen if versions]
    partitions = max(map(len, known), default=0)
    return [
        min((versions[p] for versions in known if p < len(versions)), default=None) for p in range(partitions)
    ]
