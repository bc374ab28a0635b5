"""Reads Kafka partitions in a thread of its own and hands batches to the event loop.

confluent-kafka's consumer blocks, so it needs a thread; the thread waits until the loop has taken a batch before it
hands over the next one, so a busy loop holds back Kafka, and at most two batches are in memory.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from edge.gateway.kafka_clients import consumer_config
from telemetry.librdkafka import TOLD

log = logging.getLogger(__name__)

BATCH = 2_000  # messages handed over at once; the loop works through them in some ten milliseconds
STOP_CHECK = 0.5  # seconds that a poll may block; only how long stopping takes depends on it

Take = Callable[[list[Message]], None]


class LogReader:
    """One consumer, assigned by hand to given partitions from given offsets."""

    def __init__(
        self, kafka: str, name: str, start: list[TopicPartition], take: Take, *, with_ends: bool = False
    ) -> None:
        """Prepare to read from `start`; `take` is called in the event loop with each batch.

        Args:
            kafka: Bootstrap servers.
            name: Names the thread, and the reader in logs.
            start: Partitions, each with the offset to begin at.
            take: Gets the messages; those with an `error()` are ends of partitions.
            with_ends: Whether to tell when the end of a partition is reached.
        """
        self._consumer = Consumer(consumer_config(kafka) | TOLD | {"enable.partition.eof": with_ends})
        self._start = start
        self._take = take
        self._name = name
        self._taken = threading.Semaphore(1)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"reader-{name}", daemon=True)
        self._loop = asyncio.get_running_loop()

    def start(self) -> None:
        """Begin to read."""
        self._consumer.assign(self._start)
        self._thread.start()

    def stop(self) -> None:
        """Stop reading and close the consumer; batches not yet taken are dropped."""
        self._stopping.set()
        self._taken.release()
        if self._thread.is_alive():
            self._thread.join()
        self._consumer.close()

    def _run(self) -> None:
        while not self._stopping.is_set():
            first = self._consumer.poll(STOP_CHECK)
            if first is None:
                continue
            batch = [m for m in (first, *self._consumer.consume(BATCH, 0)) if self._is_usable(m)]
            self._taken.acquire()
            if batch and not self._stopping.is_set():
                self._loop.call_soon_threadsafe(self._hand_over, batch)
            else:
                self._taken.release()

    def _hand_over(self, batch: list[Message]) -> None:
        try:
            if not self._stopping.is_set():
                self._take(batch)
        finally:
            self._taken.release()

    def _is_usable(self, message: Message) -> bool:
        error = message.error()
        if error is None or error.code() == KafkaError._PARTITION_EOF:
            return True
        if error.fatal():
            raise KafkaException(error)
        log.warning("reader %s: %s", self._name, error)  # librdkafka goes on by itself
        return False
