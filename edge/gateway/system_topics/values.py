"""A gateway's state as topics and payloads; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from edge.gateway.counters import Counters

SYSTEM_PREFIX = "$SYS/"
"""Topics that only gateways publish to."""
BROKERS = "$SYS/brokers"
"""The list of gateways; what is said of one stands below it and its node id."""
DESCRIPTION = "SluiceMQ, a distributed MQTT broker over Kafka and Spark"

_DROPPED = (
    "dropped_publishes", "refused_publishes", "forbidden_publishes", "publishes_over_rate", "dropped_slow",
    "dropped_over_rate", "dropped_large", "dropped_expired",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is told of a gateway."""

    node: str
    version: str
    nodes: Sequence[str]
    """The gateways that live, this one among them."""
    uptime: float
    """Seconds since this one began."""
    now: float
    """Seconds since 1970."""
    connections: int
    """Clients that are connected here."""
    most_connections: int
    """The highest number of them that there was."""
    subscriptions: int
    """What they are subscribed to."""
    counters: Counters


def values_of(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """All (topic, payload) pairs, that of the cluster first."""
    yield BROKERS, ",".join(sorted({*snapshot.nodes, snapshot.node}))
    here = f"{BROKERS}/{snapshot.node}"
    yield f"{here}/version", snapshot.version
    yield f"{here}/uptime", str(int(snapshot.uptime))
    yield f"{here}/datetime", datetime.fromtimestamp(snapshot.now, UTC).isoformat(timespec="seconds")
    yield f"{here}/sysdescr", DESCRIPTION
    yield f"{here}/stats/connections/count", str(snapshot.connections)
    yield f"{here}/stats/connections/max", str(snapshot.most_connections)
    yield f"{here}/stats/subscriptions/count", str(snapshot.subscriptions)
    counted = snapshot.counters.as_dict()
    yield f"{here}/metrics/client/connected", str(counted["connects"])
    yield f"{here}/metrics/messages/received", str(counted["publishes"])
    yield f"{here}/metrics/messages/sent", str(counted["deliveries"])
    yield f"{here}/metrics/messages/dropped", str(dropped(counted))
    for name, number in counted.items():
        yield f"{here}/metrics/gateway/{name}", str(number)


def dropped(counted: Mapping[str, int]) -> int:
    """Messages dropped or refused on either way, of all counters by name."""
    return sum(counted[name] for name in _DROPPED)
