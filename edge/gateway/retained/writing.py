"""Appends records to `tbmq.msg.retained`, in the order of the calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message

from contracts import retained_record
from contracts.headers import Headers
from contracts.retained_record import RetainedRecord
from edge.gateway.appender import Appender

Done = Callable[[KafkaError | None], None]


class RetainedWriter:
    """Where publishes that are to be retained go after `tbmq.msg.all`, and what is to be put right."""

    def __init__(
        self, topic: str, appender: Appender, subscriptions_read: Callable[[], dict[int, int]]
    ) -> None:
        """Args: `subscriptions_read` tells how far this gateway has read the subscription log."""
        self._topic = topic
        self._appender = appender
        self._read = subscriptions_read
        self._waiting: deque[Callable[[], None]] = deque()

    def read_header(self) -> tuple[str, bytes]:
        """What a publish's retained record is to tell of the moment when the publish is appended."""
        return retained_record.subscriptions_header(self._read())

    def append(
        self, topic: str, payload: bytes, headers: Headers, partition: int, offset: int, done: Done
    ) -> None:
        """Append the record of a publish that Kafka has; an empty payload deletes.

        Args:
            topic: The topic name.
            payload: The payload.
            headers: Of the publish, then `read_header`'s.
            partition: Where the publish stands.
            offset: Where there.
            done: Called once Kafka has it, or with its refusal.
        """
        if (
            offset < 0
        ):  # It was appended twice, and which one stands is not told: it can't be compared with others.
            done(KafkaError(KafkaError.UNKNOWN))
            return
        # An empty payload removes, and is not kept itself [MQTT-3.3.1-6], [MQTT-3.3.1-7].
        whole = [*headers, retained_record.id_header(partition, offset)]
        self._waiting.append(partial(self._append, topic.encode(), payload or None, whole, done))
        if len(self._waiting) == 1:
            self._append_waiting()

    def append_again(self, record: RetainedRecord, done: Done) -> None:
        """Append what counts of a topic behind what does not."""
        *headers, _ = retained_record.encode_headers(record)
        payload = record.record.payload
        self.append(record.topic, payload, headers, record.partition, record.offset, done)

    def _append(self, key: bytes, value: bytes | None, headers: Headers, done: Done) -> None:
        def durable(error: KafkaError | None, _: Message) -> None:
            done(error)

        try:
            self._appender.append(self._topic, value, key, headers, durable)
        except KafkaException as error:
            done(error.args[0])

    def _append_waiting(self) -> None:
        waiting = self._waiting
        while waiting:
            try:
                waiting[0]()
            except BufferError:
                self._appender.when_room(self._append_waiting)
                return
            waiting.popleft()
