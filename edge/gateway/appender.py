"""Appends records to Kafka from the event loop, and tells there when each is durable (I1).

librdkafka reports deliveries only when polled, and has no event to wait on that Python could reach; a thread that
polls would take the interpreter from the loop once per record. So the loop polls: each millisecond while a report is
due, never otherwise.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from confluent_kafka import KafkaError, Message, Producer

from contracts.headers import Headers
from edge.gateway.kafka_clients import producer_config
from telemetry.librdkafka import TOLD

Durable = Callable[[KafkaError | None, Message], None]

_TICK = 0.001  # seconds between polls while reports are due: half of it is what an acknowledgement waits on average


class Appender:
    """One idempotent producer: records of one partition are appended in the order of the calls."""

    def __init__(self, kafka: str) -> None:
        self._producer = Producer(producer_config(kafka) | TOLD)
        self._produce = self._producer.produce
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: deque[Callable[[], None]] = deque()
        self._reported_at = 0.0

    def append(
        self,
        topic: str,
        value: bytes | None,
        key: bytes,
        headers: Headers,
        durable: Durable,
        partition: int = -1,
    ) -> None:
        """Append a record; `durable` is called in the loop once Kafka has it on acks=all, or with its refusal.

        Raises:
            BufferError: Too much waits for Kafka; `when_room` tells when to try again.
            KafkaException: The record is one that Kafka can never take, such as one too large.
        """
        self._produce(topic, value, key, partition, durable, headers=headers)  # type: ignore[arg-type] # invariance only
        if self._timer is None:
            self._reported_at = self._loop.time()  # nothing was due before
            self._timer = self._loop.call_later(_TICK, self._poll)

    def when_room(self, resume: Callable[[], None]) -> None:
        """Call back, once, when there is room again."""
        self._waiting.append(resume)

    @property
    def pending(self) -> int:
        """Records that Kafka has not acknowledged yet."""
        return len(self._producer)

    @property
    def stalled_for(self) -> float:
        """Seconds for which Kafka has acknowledged nothing although something waits for it."""
        return self._loop.time() - self._reported_at if len(self._producer) else 0.0

    def flush(self, timeout: float) -> int:
        """Block until all is acknowledged or the time (seconds) is over; returns how many are not."""
        return self._producer.flush(timeout)

    def _poll(self) -> None:
        reports = self._producer.poll(0)
        if reports:
            self._reported_at = self._loop.time()
        if self._waiting and reports:
            ready, self._waiting = self._waiting, deque()
            for resume in ready:
                resume()
        self._timer = self._loop.call_later(_TICK, self._poll) if len(self._producer) else None
