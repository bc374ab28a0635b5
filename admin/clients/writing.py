"""Writes single records, now or never."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from edge.gateway.kafka_clients import place_of, producer_config

_WRITTEN = 10.0  # seconds for Kafka to take a record; it is never written after that
_SLACK = 2.0  # seconds more until it is told that it was not
_STEP = 0.05  # seconds that a poll may wait: another thread's may be the one that hears of ours


class Writer:
    """One producer, made when it is first needed; for any thread."""

    def __init__(self, kafka: str) -> None:
        # Unlike a gateway's, who keeps what is not written: here somebody waits, and may ask again.
        self._config = producer_config(kafka) | {"message.timeout.ms": round(_WRITTEN * 1_000)}
        self._lock = threading.Lock()
        self._producer: Producer | None = None

    def write(
        self, topic: str, key: bytes, value: bytes | None, headers: Sequence[tuple[str, bytes]] = (),
        partition: int = -1,
    ) -> tuple[int, int]:  # fmt: skip
        """Write a record, and wait until Kafka has it on all replicas; its partition and offset.

        Raises:
            KafkaException: Kafka has not taken it, and will not.
        """
        producer = self._made()
        told: queue.SimpleQueue[tuple[KafkaError | None, Message]] = queue.SimpleQueue()
        try:
            producer.produce(
                topic, value, key, partition, on_delivery=lambda error, message: told.put((error, message)),
                headers=list(headers),
            )  # fmt: skip
        except BufferError:
            raise KafkaException(KafkaError(KafkaError._QUEUE_FULL)) from None
        until = time.monotonic() + _WRITTEN + _SLACK
        while told.empty() and time.monotonic() < until:
            producer.poll(_STEP)
        try:
            error, message = told.get_nowait()
        except queue.Empty:
            error, message = KafkaError(KafkaError._TIMED_OUT), None
        if error is not None or message is None:
            self._forget(producer)  # the next one is made anew, for this may have failed for good
            raise KafkaException(error)
        return place_of(message)

    def _made(self) -> Producer:
        with self._lock:
            if self._producer is None:
                self._producer = Producer(self._config)
            return self._producer

    def _forget(self, producer: Producer) -> None:
        with self._lock:
            if self._producer is producer:
                self._producer = None
