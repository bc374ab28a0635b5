"""Records of `tbmq.sys.state` (compacted): what each part of a cluster says of itself, every few seconds.

Key = `gateway/<node>` or `router`, value = JSON. Who has not said anything for a few of its intervals is
silent; who ends in order says so. A tombstone takes a part off the list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil

from contracts import headers as h
from contracts import typed_json
from contracts.errors import ContractError, RecordError
from contracts.kafka_topics import validate_node

ROUTER_KEY = b"router"
_GATEWAY = "gateway/"
_INTERVALS = 3
"""So many intervals without a record mean that a part is silent,"""
_LENIENCE_SECONDS = 3.0
"""and that much more: Kafka, and whoever reads, may be slow."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Messages a second, over the last interval."""

    in_per_s: float = 0.0
    """Publishes taken from clients."""
    out_per_s: float = 0.0
    """Messages sent, or queued, to clients."""
    dropped_per_s: float = 0.0
    """Dropped or refused, on either way."""


@dataclass(frozen=True, slots=True)
class Latency:
    """How long the router takes from a probe's sending to its last answer, in milliseconds."""

    last: float
    p50: float
    p99: float
    probes: int
    """Of so many probes, the last ones."""


@dataclass(frozen=True, slots=True)
class RouterSeen:
    """What a gateway knows of the router by its probes' answers."""

    generation: int | None = None
    """The newest that has answered."""
    table_version: tuple[int, ...] = ()
    """For each partition of `tbmq.client.subscriptions`: what stands before it is in the router's table for certain."""
    latency_ms: Latency | None = None
    outstanding_probes: int = 0
    """Sent, and not answered. It grows while the router is down."""
    backlog: int | None = None
    """Records of `tbmq.msg.all` before the newest probe that the router has not proven to have routed."""
    routed: tuple[int, ...] = ()
    """For each partition of `tbmq.msg.all`: all before this offset is proven to be routed."""


@dataclass(frozen=True, slots=True)
class Authentication:
    """The authentication providers that are in force at a gateway."""

    providers: tuple[str, ...] = ()
    source: str = "none"
    """Where their order comes from: `environment`, `database`, or `none` (everybody is let in)."""
    error: str | None = None
    """Why what the database says is not in force."""


@dataclass(frozen=True, slots=True)
class GatewayState:
    """A gateway."""

    node: str
    at_ms: int
    """Its clock, ms since 1970."""
    interval_s: float
    """Seconds until its next record."""
    boot: str
    """Unique among all lives of gateways' processes."""
    started_at_ms: int
    version: str = ""
    is_stopped: bool = False
    """Whether it has ended in order."""
    listeners: Mapping[str, str] = field(default_factory=dict)
    """`tcp`, `tls`, `ws`, `wss`: host and port where clients are accepted."""
    connections: int = 0
    subscriptions: int = 0
    messages: Rates = Rates()
    memory_bytes: int | None = None
    """Resident; null where the system does not tell."""
    cpu_percent: float = 0.0
    """Of one processor, over the last interval."""
    router: RouterSeen = RouterSeen()
    authentication: Authentication = Authentication()
    share_strategies: Mapping[str, str] = field(default_factory=dict)
    """By group; that of all others stands under the empty name."""
    counters: Mapping[str, int] = field(default_factory=dict)
    """As in `tbmq.sys.historical.data`."""


@dataclass(frozen=True, slots=True)
class RouterState:
    """The router."""

    at_ms: int
    interval_s: float
    boot: str
    started_at_ms: int
    state: str
    """`starting`, `running`, `rolling_over`, `waiting_for_kafka`, `restarting`, `failed` or `stopped`."""
    version: str = ""
    trigger: str = ""
    """`realtime`, `microbatch` or `available-now`."""
    rollover_seconds: float | None = None
    """After what time the next generation takes over; null: never."""
    generation: int = 1
    generation_started_at_ms: int = 0
    rollovers: int = 0
    """Since it started."""
    postponed_rollovers: int = 0
    """Since the generation was behind, or there was no gateway."""
    last_rollover_ms: int | None = None
    """How long the last one took."""
    restarts: int = 0
    """Of the query, other than by rollovers."""
    last_failure: str | None = None
    quarantine: tuple[str, ...] = ()
    """Kafka topics that are not written to since they are missing."""
    missing: tuple[str, ...] = ()
    """These, and topics of applications that are missing, which are looked for."""
    shapes: int = 0
    """Distinct shapes of filters in the plan."""
    routed: tuple[int, ...] = ()
    """For each partition of `tbmq.msg.all`: all before this offset is routed; how far beyond, gateways know."""


def gateway_key(node: str) -> bytes:
    """The key of a gateway's record."""
    return f"{_GATEWAY}{node}".encode()


def encode(state: GatewayState | RouterState) -> tuple[bytes, bytes]:
    """Key and value."""
    key = gateway_key(state.node) if isinstance(state, GatewayState) else ROUTER_KEY
    return key, typed_json.dump(state)


def node_of(key: bytes | None) -> str | None:
    """The node whose record a key names; None for the router's.

    Raises:
        RecordError: It names neither.
    """
    if key == ROUTER_KEY:
        return None
    name = h.text("key", key)
    node = name.removeprefix(_GATEWAY)
    try:
        if node == name:
            raise RecordError(f"{name[:100]!r} is the key of no part's state")
        validate_node(node)
    except ContractError as error:
        raise RecordError(str(error)) from None
    return node


def decode(key: bytes | None, value: bytes | None) -> GatewayState | RouterState:
    """Read a record that is not a tombstone.

    Raises:
        RecordError: It is not of the documented form.
    """
    node = node_of(key)
    if node is None:
        return typed_json.load(RouterState, value, "the router's state")
    state = typed_json.load(GatewayState, value, f"the state of {node}")
    if state.node != node:
        raise RecordError(f"the state of {node} says that it is that of another")
    return state


def silent_after(state: GatewayState | RouterState) -> float:
    """Seconds after a record from when on, without another one, its part is silent."""
    return state.interval_s * _INTERVALS + _LENIENCE_SECONDS


def percentile(ascending: tuple[float, ...], part: float) -> float:
    """The smallest of some numbers, in ascending order, that this part of them does not exceed."""
    return ascending[max(0, ceil(part * len(ascending)) - 1)]
