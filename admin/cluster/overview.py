"""The state of a cluster in a few numbers, and in sentences what is amiss; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from admin.cluster.states import LIVING, SILENT, STOPPED, Seen, StateView
from contracts.session_census import Census
from contracts.state_record import GatewayState, Rates, RouterState

UNKNOWN = "unknown"
"""The router's state where it has never said anything."""
_UNANSWERED = 10
"""As many probes without an answer mean that the router stands still (`edge.gateway.probing`)."""


@dataclass(frozen=True)
class Sessions:
    """Sessions of clients."""

    connected: int
    total: int | None
    """Connected or not; null while Kafka does not tell."""
    applications: int | None
    """Of these, persistent ones of APPLICATIONs."""


@dataclass(frozen=True)
class Nodes:
    """Gateways, by how they are."""

    living: int
    silent: list[str]
    stopped: list[str]


@dataclass(frozen=True)
class RouterSummary:
    """The router, by what it says and by what gateways see of it."""

    state: str
    """As in `tbmq.sys.state`; `silent` or `unknown` where it says nothing."""
    generation: int | None
    latency_p50_ms: float | None
    """The median of the gateways' medians."""
    latency_p99_ms: float | None
    """That of the gateway that sees the highest."""
    backlog: int | None
    """Records of `tbmq.msg.all` that are not proven to be routed; null where no gateway knows."""


@dataclass(frozen=True)
class Overview:
    """All of it."""

    at_ms: int
    messages: Rates
    sessions: Sessions
    subscriptions: int
    nodes: Nodes
    router: RouterSummary
    warnings: list[str]
    """For people; none when all is well."""


def overview(view: StateView, census: Census | None, trouble: str | None = None) -> Overview:
    """Make it.

    Args:
        view: What the parts have said.
        census: How many sessions there are; None where Kafka does not tell.
        trouble: Why nothing comes from Kafka.
    """
    gateways = view.gateways()
    living = [state for state, seen in gateways if seen.life == LIVING]
    named = {
        life: [state.node for state, seen in gateways if seen.life == life] for life in (SILENT, STOPPED)
    }
    router = summary(view)
    connected = sum(state.connections for state in living)
    return Overview(
        at_ms=round(1000 * view.wall_clock()),
        messages=total([state.messages for state in living]),
        sessions=Sessions(
            connected,
            # Owners count in each transaction, gateways every few seconds: whoever is connected has a session.
            None if census is None else max(census.sessions, connected),
            None if census is None else census.applications,
        ),
        subscriptions=sum(state.subscriptions for state in living),
        nodes=Nodes(len(living), named[SILENT], named[STOPPED]),
        router=router,
        warnings=_warnings(gateways, view.router(), router, trouble),
    )


def total(rates: Sequence[Rates]) -> Rates:
    """The sum of rates."""
    return Rates(
        round(sum(one.in_per_s for one in rates), 1),
        round(sum(one.out_per_s for one in rates), 1),
        round(sum(one.dropped_per_s for one in rates), 1),
    )


def summary(view: StateView) -> RouterSummary:
    """What is known of the router."""
    seen = [state.router for state, seen in view.gateways() if seen.life == LIVING]
    latencies = [one.latency_ms for one in seen if one.latency_ms is not None]
    backlogs = [one.backlog for one in seen if one.backlog is not None]
    router = view.router()
    generations = [one.generation for one in seen if one.generation is not None]
    return RouterSummary(
        state=UNKNOWN if router is None else life_of(*router),
        generation=router[0].generation if router else max(generations, default=None),
        latency_p50_ms=round(median(one.p50 for one in latencies), 2) if latencies else None,
        latency_p99_ms=max((one.p99 for one in latencies), default=None),
        backlog=max(backlogs, default=None),
    )


def life_of(state: RouterState, seen: Seen) -> str:
    """What the router says that it is, or that it says nothing any more."""
    return SILENT if seen.life == SILENT else state.state


def _warnings(
    gateways: Sequence[tuple[GatewayState, Seen]],
    router: tuple[RouterState, Seen] | None,
    seen: RouterSummary,
    trouble: str | None,
) -> list[str]:
    found = [] if trouble is None else [f"{trouble[0].upper()}{trouble[1:]}."]
    living = [state for state, one in gateways if one.life == LIVING]
    found += [
        f"{state.node} has been silent for {one.seconds_ago:.0f} s: look whether it runs, or take it off the list."
        for state, one in gateways
        if one.life == SILENT
    ]
    if not living:
        found.append("No gateway says that it lives.")
    if router is not None and seen.state == SILENT:
        found.append(f"The router has been silent for {router[1].seconds_ago:.0f} s: look whether it runs.")
    elif router is not None and seen.state in ("failed", "waiting_for_kafka", "restarting", "stopped"):
        why = f": {router[0].last_failure}" if router[0].last_failure else ""
        found.append(f"The router is {seen.state.replace('_', ' ')}{why}.")
    unanswered = [state.node for state in living if state.router.outstanding_probes > _UNANSWERED]
    if unanswered:
        found.append(f"The router does not answer {', '.join(unanswered)}: messages wait in Kafka.")
    if router is not None and router[0].quarantine:
        found.append(f"The router writes nothing to {', '.join(router[0].quarantine)}, which are missing.")
    found += [
        f"{state.node} keeps its authentication providers: {state.authentication.error}."
        for state in living
        if state.authentication.error
    ]
    return found
