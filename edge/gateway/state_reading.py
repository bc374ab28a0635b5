"""Reads a partition that holds somebody's state, whole, from its beginning to an end that was asked for before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from edge.gateway.kafka_clients import consumer_config

_STEP = 10.0  # seconds for Kafka to answer
_ANSWER = 5.0  # seconds for Kafka to tell an end
_LATEST = -1  # as a time: what Kafka takes for its latest


class StaleStateError(Exception):
    """What is known of a partition is not, or no longer, all there is: it has to be loaded again."""


def read_state(kafka: str, topic: str, partition: int, end: int, start: int = 0) -> Iterator[Message]:
    """The committed records of a partition, from an offset up to an end (exclusive), as `log_end` tells it.

    Raises:
        KafkaException: Kafka does not answer.
        StaleStateError: The same, or another writer's transaction is still open.
    """
    consumer = Consumer(consumer_config(kafka) | {"enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, partition, start)])
    try:
        while True:
            message = consumer.poll(_STEP)
            if message is None:
                raise StaleStateError(f"{topic} {partition} is not to be read")
            error = message.error()
            if error is None:
                yield message
            elif error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            elif cast(int, message.offset()) < end:
                raise StaleStateError(f"another writer's transaction on {topic} {partition} is open")
            else:
                return
    finally:
        consumer.close()


def log_end(kafka: str, topic: str, partition: int) -> int:
    """Where a partition's next record will stand, whether those before it are committed or not.

    Raises:
        KafkaException: Kafka does not answer.
    """
    return _offset_at(kafka, topic, partition, _LATEST)


def log_since(kafka: str, topic: str, partition: int, at_ms: int) -> int | None:
    """Where a partition's first record of this time (ms since 1970) or a later one stands; None if there is none.

    Raises:
        KafkaException: Kafka does not answer.
    """
    offset = _offset_at(kafka, topic, partition, max(at_ms, 0))
    return None if offset < 0 else offset


def _offset_at(kafka: str, topic: str, partition: int, at_ms: int) -> int:
    # A client of its own: one that has seen Kafka restart may be told for ever that its leader epoch is old.
    consumer = Consumer(consumer_config(kafka) | {"isolation.level": "read_uncommitted"})
    try:
        [found] = consumer.offsets_for_times([TopicPartition(topic, partition, at_ms)], timeout=_ANSWER)
    finally:
        consumer.close()
    if found.error is not None:
        raise KafkaException(found.error)
    return found.offset
