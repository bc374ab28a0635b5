"""Appends copies of retained messages for clients whose sessions outlive their connections, as any message of theirs.

They stand in the log that the client is served from before the SUBACK goes out, so a lost connection loses none. A few
are on their way to Kafka at a time: publishes go by the same producer.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence

from confluent_kafka import KafkaError, KafkaException, Message

from contracts import retained_record
from contracts.kafka_topics import KafkaTopics
from contracts.persisted_record import encode_key
from contracts.retained_record import COPIES, RetainedRecord
from contracts.session_event import APPLICATION
from contracts.wall_clock import epoch_ms
from edge.gateway.appender import Appender
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.local_subscriptions import LocalSubscriptions
from edge.gateway.retained.order import Kind
from edge.gateway.retained.reading import Reading, qos_of
from edge.gateway.retained.view import Retained
from edge.mqtt.states import State

log = logging.getLogger(__name__)

_UNDER_WAY = 1_000  # copies of one SUBSCRIBE that Kafka has not confirmed yet
_PORTION = 100  # copies in one turn of the loop


class Keeping:
    """Where copies for sessions are appended."""

    def __init__(
        self, topics: KafkaTopics, appender: Appender, local: LocalSubscriptions[Connection],
        counters: Counters,
    ) -> None:  # fmt: skip
        self.topics = topics
        self.appender = appender
        self.local = local
        self.counters = counters

    def keep(self, connection: Connection, readings: Sequence[Reading], done: Callable[[], None]) -> None:
        """Append the copies at QoS 1 and 2 of some filters; call back when Kafka has all, or the connection is over."""
        _Work(self, connection, readings, done).go_on()

    def append(
        self, connection: Connection, reading: Reading, retained: Retained,
        durable: Callable[[KafkaError | None, Message | None], None],
    ) -> bool:  # fmt: skip
        """Append a copy, unless there is none to append; returns whether `durable` will be called.

        Raises:
            BufferError: As the appender.
        """
        subscription = self.local.holders(reading.filter).get(connection)
        if subscription is None:
            return False
        if not qos_of(retained, subscription, connection.client_id) or _has_expired(retained):
            return False
        record = RetainedRecord(retained.record, retained.partition, retained.offset)
        headers = retained_record.encode_copy_headers(
            record, reading.filter, is_new=reading.kind is not Kind.AGAIN
        )
        topic, key = self.topics.persisted, encode_key(connection.client_id)
        if connection.seat is not None and connection.seat.client_type == APPLICATION:
            topic = self.topics.application(connection.client_id)
            key = b"%d" % (COPIES + retained.partition)
        try:
            self.appender.append(topic, retained.record.payload, key, headers, durable)
        except (
            KafkaException
        ) as error:  # what was retained once fits here as well; whoever changed the topic knows
            log.warning(
                "a retained message was not kept for %r: %s", connection.client_id[:80], error,
                extra={"client": connection.client_id},
            )  # fmt: skip
            return False
        self.counters.retained_copies += 1
        return True


class _Work:
    """The copies of one SUBSCRIBE."""

    def __init__(
        self, keeping: Keeping, connection: Connection, readings: Sequence[Reading], done: Callable[[], None]
    ) -> None:
        self._keeping = keeping
        self._connection = connection
        self._readings = deque(readings)
        self._done = done
        self._loop = asyncio.get_running_loop()
        self._next: Retained | None = None
        self._under_way = 0
        self._is_held = False
        self._is_over = False

    def go_on(self) -> None:
        """Append some more."""
        if self._connection.core.state is not State.CONNECTED:
            self._readings.clear()
        for _ in range(_PORTION):
            if not self._readings:
                self._end()
                return
            if self._under_way >= _UNDER_WAY:
                self._is_held = True
                return
            try:
                if not self._append_next():
                    break
            except BufferError:
                self._keeping.appender.when_room(self.go_on)
                return
        self._loop.call_soon(self.go_on)

    def _append_next(self) -> bool:
        reading = self._readings[0]
        if self._next is None:
            try:
                self._next = next(reading.found)
            except StopIteration:
                self._readings.popleft()
                return True
            if self._next is None:
                return False
        if self._keeping.append(self._connection, reading, self._next, self._durable):
            self._under_way += 1
        self._next = None
        return True

    def _durable(self, error: KafkaError | None, _: Message | None) -> None:
        if error is not None:
            log.warning(
                "a retained message was not kept for %r: %s", self._connection.client_id[:80], error,
                extra={"client": self._connection.client_id},
            )  # fmt: skip
        self._under_way -= 1
        if self._is_held and self._under_way <= _UNDER_WAY // 2:
            self._is_held = False
            self.go_on()
        elif not self._readings:
            self._end()

    def _end(self) -> None:
        if not self._under_way and not self._is_over:
            self._is_over = True
            self._done()


def _has_expired(retained: Retained) -> bool:
    return retained.expires_at_ms is not None and retained.expires_at_ms <= epoch_ms()
