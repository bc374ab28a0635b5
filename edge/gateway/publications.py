"""Publishes that stand in a Kafka transaction: wills that were left to their owner, and delayed messages that are due.

One with RETAIN stands in `tbmq.msg.retained` by the same transaction, with the place that it has in `tbmq.msg.all`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from confluent_kafka import KafkaError, Message, Producer

from contracts import retained_record
from contracts.kafka_topics import KafkaTopics
from contracts.publish_record import RETAIN_HEADERS
from contracts.shared_record import RecordHeaders
from edge.gateway.fresh_headers import Header
from edge.gateway.kafka_clients import place_of
from edge.gateway.shares.writing import append_record
from edge.gateway.state_reading import StaleStateError


@dataclass(frozen=True, slots=True)
class Publication:
    """A record for `tbmq.msg.all`."""

    topic: bytes
    value: bytes
    headers: RecordHeaders
    routes: Header | None = None
    """The in-band routes."""

    @property
    def is_retained(self) -> bool:
        """Whether it is to be retained, or deletes what is [MQTT-3.3.1-5], [MQTT-3.3.1-6]."""
        return RETAIN_HEADERS[True] in self.headers


def publish(
    producer: Producer, topics: KafkaTopics, publications: Sequence[Publication],
    subscriptions_read: Header, timeout: float,
) -> None:  # fmt: skip
    """Write them within an open transaction.

    Args:
        producer: Whose transaction it is.
        topics: The names of the Kafka topics.
        publications: What is to be published, in order.
        subscriptions_read: How far this gateway has read the subscription log (contracts.retained_record).
        timeout: Seconds for Kafka to tell where they stand.

    Raises:
        KafkaException, StaleStateError: Roll the transaction back.
    """
    places: dict[int, tuple[int, int]] = {}

    def durable(number: int, error: KafkaError | None, message: Message) -> None:
        if error is None:
            places[number] = place_of(message)

    retained = [number for number, one in enumerate(publications) if one.is_retained]
    for number, one in enumerate(publications):
        headers = [*one.headers, *([one.routes] if one.routes else [])]
        note = partial(durable, number) if one.is_retained else None
        append_record(producer, topics.publishes, one.topic, one.value, headers, on_delivery=note)
    if not retained:
        return
    producer.flush(timeout)
    for number in retained:
        if number not in places:
            raise StaleStateError("Kafka does not tell where a publish stands that is to be retained")
        one = publications[number]
        retain(producer, topics, one, subscriptions_read, places[number])


def retain(
    producer: Producer, topics: KafkaTopics, published: Publication, subscriptions_read: Header,
    place: tuple[int, int],
) -> None:  # fmt: skip
    """Write the retained record of what is published, within an open transaction.

    Args:
        producer: Whose transaction it is.
        topics: The names of the Kafka topics.
        published: What was; an empty value deletes.
        subscriptions_read: As `publish` has it.
        place: Partition and offset in `tbmq.msg.all`.
    """
    headers = [*published.headers, subscriptions_read, retained_record.id_header(*place)]
    append_record(producer, topics.retained, published.topic, published.value or None, headers)
