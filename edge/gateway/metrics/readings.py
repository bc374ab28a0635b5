"""What a gateway is like at one moment, and the collector that Prometheus' library asks for it."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from edge.gateway.counters import Counters
from edge.gateway.metrics.counted import PREFIX, families

_PATIENCE = 2.0  # seconds for the event loop; one that takes longer is busy, and is told of as it was last


@dataclass(frozen=True, slots=True)
class Readings:
    """Numbers that rise and fall."""

    connections: int
    """Clients that are connected."""
    subscriptions: int
    """What they are subscribed to."""
    retained_messages: int
    """Topics with a retained message, in the cluster."""
    held_bytes: int
    """Of publishes that wait for Kafka."""
    unacknowledged_records: int
    """Records that Kafka has not acknowledged."""
    fresh_routes: int
    """Routes that publishes carry."""
    unanswered_probes: int
    """Probes that the router has not answered."""
    router_backlog: int
    """As `RouterView.backlog` has it."""
    loop_delay: float
    """Seconds by which the event loop was late when it was last looked at."""


_GAUGES: tuple[tuple[str, str, str], ...] = (
    ("connections", "connections", "Clients that are connected now."),
    ("subscriptions", "subscriptions", "Subscriptions of the clients that are connected now."),
    ("retained_messages", "retained_messages", "Topics with a retained message; the same on all gateways."),
    ("publishes_held_bytes", "held_bytes", "Bytes of publishes that wait for Kafka."),
    (
        "kafka_unacknowledged_records",
        "unacknowledged_records",
        "Records that Kafka has not acknowledged yet.",
    ),
    ("fresh_routes", "fresh_routes", "Routes newer than the router's table, which publishes carry."),
    ("router_unanswered_probes", "unanswered_probes", "Probes that the router has not answered yet."),
    (
        "router_backlog_records",
        "router_backlog",
        "Records of all messages before this gateway's newest probe that the router has not passed.",
    ),
    ("event_loop_delay_seconds", "loop_delay", "By how much the event loop was late when last looked at."),
)


class GatewayCollector(Collector):
    """Counters and readings; the readings are taken in the event loop, which alone may change what they tell of."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, counters: Counters, read: Callable[[], Readings]
    ) -> None:
        self._loop = loop
        self._counters = counters
        self._read = read
        self._last: Readings | None = None

    def collect(self) -> Iterable[Metric]:
        """See `Collector`; called in the HTTP server's threads."""
        yield from families(self._counters)
        future = concurrent.futures.Future[Readings]()
        try:
            self._loop.call_soon_threadsafe(self._take, future)
            self._last = future.result(_PATIENCE)
        except (RuntimeError, TimeoutError):
            pass  # the loop has ended, or is busy
        if self._last is not None:
            yield from _gauges(self._last)

    def describe(self) -> Iterable[Metric]:
        """Nothing is read for the sake of names."""
        return []

    def _take(self, future: concurrent.futures.Future[Readings]) -> None:
        future.set_result(self._read())


def _gauges(readings: Readings) -> Iterator[Metric]:
    for name, field, help in _GAUGES:
        yield GaugeMetricFamily(PREFIX + name, help, value=getattr(readings, field))
