"""Writes what this gateway has counted to `tbmq.sys.historical.data`, at a steady interval."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from confluent_kafka import KafkaError, KafkaException, Message

from contracts import historical_record
from contracts.historical_record import CONNECTIONS_NOW, SUBSCRIPTIONS_NOW, HistoricalRecord
from edge.gateway.appender import Appender
from edge.gateway.counters import Counters

log = logging.getLogger(__name__)


class History:
    """One record an interval. While Kafka takes nothing there is no more than one that waits."""

    def __init__(
        self, topic: str, node: str, interval: float, counters: Counters, appender: Appender,
        connections: Callable[[], int], subscriptions: Callable[[], int],
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
        """
        self._topic, self._node, self._interval = topic, node, interval
        self._counters = counters
        self._appender = appender
        self._connections, self._subscriptions = connections, subscriptions
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._is_writing = False

    def start(self) -> None:
        """Write now, and then at the interval."""
        if self._interval:
            self._tick()

    def stop(self) -> None:
        """Write the last record, of all that was counted."""
        if self._timer:
            self._timer.cancel()
            self._write()

    def _tick(self) -> None:
        self._timer = self._loop.call_later(self._interval, self._tick)
        self._write()

    def _write(self) -> None:
        if self._is_writing:
            return
        counters = self._counters.as_dict() | {
            CONNECTIONS_NOW: self._connections(),
            SUBSCRIPTIONS_NOW: self._subscriptions(),
        }
        record = HistoricalRecord(self._node, time.time_ns() // 1_000_000, counters)
        key, value = historical_record.encode(record)
        try:
            self._appender.append(self._topic, value, key, [], self._written)
        except (BufferError, KafkaException):
            return  # what clients publish goes before it; the next record has all that this one would have
        self._is_writing = True

    def _written(self, error: KafkaError | None, _: Message) -> None:
        self._is_writing = False
        if error is not None:
            log.warning("Kafka did not take this gateway's counters: %s", error.str())
