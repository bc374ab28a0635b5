"""Publishes as an administrator: a message that is due at once, for the timekeepers to publish.

What subscribers are to get carries the routes that are newer than the router's table, and only gateways know these
(docs/adr/0002). A timekeeper finds them when it publishes a delayed message (docs/adr/0021), in one transaction with
what is to be retained: so what is delayed by nothing is delivered exactly as what a client publishes.
"""

from __future__ import annotations

import time
import uuid
from typing import Protocol

from confluent_kafka import Consumer, KafkaException, TopicPartition

from admin.clients.commands import PATIENCE
from admin.clients.errors import NobodyAnswersError, NotReadyError, RejectedError
from admin.clients.writing import Writer
from contracts import delayed_record, publish_record
from contracts.delayed_record import DELAYED_PREFIX
from contracts.errors import TopicError
from contracts.kafka_topics import MAX_PACKET_BYTES, KafkaTopics
from contracts.partitioner import partition_of
from contracts.publish_record import PublishRecord
from contracts.topics import EXCLUSIVE_PREFIX, validate_topic
from contracts.wall_clock import epoch_ms
from edge.gateway.errors import KafkaNotReadyError
from edge.gateway.kafka_clients import consumer_config, partition_count
from edge.gateway.system_topics.values import SYSTEM_PREFIX

_STEP = 0.5  # seconds that a poll may wait


class Publishing(Protocol):
    """Whoever publishes."""

    def publish(self, record: PublishRecord) -> int:
        """Publish a message; blocking, until it is published or waits for its time. When that is, ms since 1970."""


def due_in(topic: str) -> tuple[str, int]:
    """The topic that a message is published to, and in how many seconds.

    Args:
        topic: As given, perhaps `$delayed/<seconds>/<topic>`.

    Raises:
        RejectedError: Clients may not publish there either.
    """
    try:
        if topic.startswith(DELAYED_PREFIX):
            delayed = delayed_record.parse_delayed(topic)
            return delayed.topic, delayed.seconds
        validate_topic(topic)
    except TopicError as error:
        raise RejectedError(str(error)) from None
    if topic.startswith((SYSTEM_PREFIX, EXCLUSIVE_PREFIX)):
        raise RejectedError(
            f"nobody may publish to {topic[:80]!r}: choose a topic that clients may publish to"
        )
    return topic, 0


class Publisher:
    """Publishes; from any thread."""

    def __init__(self, kafka: str, topics: KafkaTopics, writer: Writer) -> None:
        self._kafka, self._topic, self._writer = kafka, topics.delayed, writer

    def publish(self, record: PublishRecord) -> int:
        """Publish a message.

        Args:
            record: What; its topic may begin with `$delayed/<seconds>/`.

        Returns:
            When it is published, ms since 1970.

        Raises:
            RejectedError: It is too large, or clients may not publish there either.
            NotReadyError: Kafka does not take it: it is not published.
            NobodyAnswersError: Kafka has it, and no gateway has published it in time: one will as soon as it is there.
        """
        topic, seconds = due_in(record.topic)
        due_at_ms = epoch_ms() + seconds * 1_000
        headers = [*publish_record.encode_headers(record), delayed_record.due_header(due_at_ms)]
        size = len(record.payload) + sum(len(name) + len(value) for name, value in headers)
        if size + len(topic.encode()) > MAX_PACKET_BYTES:
            raise RejectedError(f"the message is {size} bytes large: {MAX_PACKET_BYTES} is the most")
        key = delayed_record.encode_key(topic, uuid.uuid4().hex)
        try:
            count = partition_count(self._kafka, self._topic)
            partition = partition_of(topic.encode(), count)  # as gateways do: one topic, one order
            place = self._writer.write(self._topic, key, record.payload, headers, partition)
            if not seconds:
                self._await_published(key, *place)
        except (KafkaException, KafkaNotReadyError) as error:
            raise NotReadyError(f"Kafka at {self._kafka} does not take messages: {error}") from error
        return due_at_ms

    def _await_published(self, key: bytes, partition: int, offset: int) -> None:
        """Wait until a message's tombstone is committed: so is the message, in the same transaction."""
        consumer = Consumer(consumer_config(self._kafka))
        try:
            consumer.assign([TopicPartition(self._topic, partition, offset + 1)])
            until = time.monotonic() + PATIENCE
            while time.monotonic() < until:
                message = consumer.poll(_STEP)
                if message is None or message.error() is not None:
                    continue
                if message.key() == key and message.value() is None:
                    return
        finally:
            consumer.close()
        raise NobodyAnswersError(
            f"Kafka has the message, but no gateway has published it within {PATIENCE:.0f} s: see that gateways run; "
            "the first that does will publish it"
        )
