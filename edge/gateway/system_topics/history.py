"""Writes what this gateway has counted to `tbmq.sys.historical.data`, at a steady interval."""

from __future__ import annotations

from collections.abc import Callable

from contracts import historical_record
from contracts.historical_record import (
    CONNECTIONS_NOW,
    ROUTER_BACKLOG_NOW,
    ROUTER_P50_NOW,
    ROUTER_P99_NOW,
    SUBSCRIPTIONS_NOW,
    HistoricalRecord,
)
from contracts.state_record import RouterSeen
from contracts.wall_clock import epoch_ms
from edge.gateway.appender import Appender
from edge.gateway.counters import Counters
from edge.gateway.system_topics.steady_records import SteadyRecords


class History:
    """One record an interval."""

    def __init__(
        self, topic: str, node: str, interval: float, counters: Counters, appender: Appender,
        connections: Callable[[], int], subscriptions: Callable[[], int], router: Callable[[], RouterSeen],
    ) -> None:  # fmt: skip
        """Prepare to write.

        Args:
            topic: The Kafka topic.
            node: This gateway.
            interval: Seconds between two records; 0 for none.
            counters: The gateway's.
            appender: Writes them.
            connections: Tells how many clients are connected here.
            subscriptions: Tells how many subscriptions there are here.
            router: Tells what is known of the router.
        """
        self._node = node
        self._counters = counters
        self._connections, self._subscriptions = connections, subscriptions
        self._router = router
        records = SteadyRecords(topic, interval, appender, self._record)
        self.start = records.start
        self.stop = records.stop

    def _record(self, _: bool) -> tuple[bytes, bytes]:
        counters = self._counters.as_dict() | {
            CONNECTIONS_NOW: self._connections(),
            SUBSCRIPTIONS_NOW: self._subscriptions(),
        }
        seen = self._router()
        if seen.latency_ms is not None:
            counters[ROUTER_P50_NOW] = round(1000 * seen.latency_ms.p50)
            counters[ROUTER_P99_NOW] = round(1000 * seen.latency_ms.p99)
        if seen.backlog is not None:
            counters[ROUTER_BACKLOG_NOW] = seen.backlog
        return historical_record.encode(HistoricalRecord(self._node, epoch_ms(), counters))
