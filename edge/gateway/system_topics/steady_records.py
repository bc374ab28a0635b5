"""Writes a record of this gateway's own to a Kafka topic at a steady interval."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from confluent_kafka import KafkaError, KafkaException, Message

from edge.gateway.appender import Appender

log = logging.getLogger(__name__)

Make = Callable[[bool], tuple[bytes, bytes]]
"""Makes key and value of a record; it is told whether this is the last one."""


class SteadyRecords:
    """One record an interval. While Kafka takes nothing there is no more than one that waits."""

    def __init__(self, topic: str, interval: float, appender: Appender, make: Make) -> None:
        """Prepare to write.

        Args:
            topic: The Kafka topic.
            interval: Seconds between two records; 0 for none.
            appender: Writes them.
            make: Makes them.
        """
        self._topic, self._interval = topic, interval
        self._appender = appender
        self._make = make
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._is_writing = False

    def start(self) -> None:
        """Write now, and then at the interval."""
        if self._interval:
            self._tick()

    def stop(self) -> None:
        """Write the last record."""
        if self._timer:
            self._timer.cancel()
            self._write(is_last=True)

    def _tick(self) -> None:
        self._timer = self._loop.call_later(self._interval, self._tick)
        self._write(is_last=False)

    def _write(self, *, is_last: bool) -> None:
        if self._is_writing:
            return
        key, value = self._make(is_last)
        try:
            self._appender.append(self._topic, value, key, [], self._written)
        except (BufferError, KafkaException):
            return  # what clients publish goes before it; the next record says all that this one would
        self._is_writing = True

    def _written(self, error: KafkaError | None, _: Message) -> None:
        self._is_writing = False
        if error is not None:
            log.warning("Kafka did not take a record of this gateway's for %s: %s", self._topic, error.str())
