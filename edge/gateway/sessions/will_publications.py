"""Publishes of wills by their owner: what stands in `tbmq.msg.all` of those that a lost gateway left.

They are written in the transaction that ends the wills in the owner's state, so each is there exactly once, whatever
becomes of the owner. If the lost gateway was about to publish one, the log is searched for it first; the gateway had
said from when on. The router reads committed records alone.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from confluent_kafka import Message, Producer

from contracts import headers as h
from contracts import retained_record
from contracts.kafka_topics import KafkaTopics
from contracts.partitioner import partition_of
from contracts.publish_record import RETAIN_HEADERS
from contracts.wall_clock import epoch_ms
from contracts.will_record import WILL
from edge.gateway.fresh_headers import FreshHeaders, RoutesTooLargeError
from edge.gateway.kafka_clients import partition_count, place_of, record_headers
from edge.gateway.publications import Publication, publish, retain
from edge.gateway.sessions.effects import PublishWill
from edge.gateway.state_reading import log_end, log_since, read_state

log = logging.getLogger(__name__)

_CLOCK_STEP_MS = 5_000  # by which a clock may be set back between a will's announcement and the will


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is to be written for wills."""

    publications: list[Publication]
    there: list[Message]
    """Those in `tbmq.msg.all` that their gateways had published, and may not have retained."""


class WillPublications:
    """Makes records of wills; it blocks."""

    def __init__(self, kafka: str, topics: KafkaTopics, fresh_headers: FreshHeaders | None = None) -> None:
        """Prepare to publish.

        Args:
            kafka: Bootstrap servers.
            topics: The names of the Kafka topics.
            fresh_headers: Finds in-band routes (I2); None where nobody subscribes.

        Raises:
            KafkaNotReadyError: Kafka does not answer, or has no such topic.
        """
        self._kafka, self._topics, self._topic = kafka, topics, topics.publishes
        self._sources = partition_count(kafka, topics.publishes)
        self._fresh_headers = fresh_headers

    def prepare(self, wills: Sequence[PublishWill]) -> Prepared:
        """What is to be written for these; those that their gateways have published are not published again.

        Raises:
            KafkaException, StaleStateError: Kafka does not answer.
        """
        there = self._published(wills)
        missing = [effect for effect in wills if effect.kept.connection.encode() not in there]
        asked = [(effect.kept.will.topic, effect.kept.will.qos) for effect in missing]
        now_ms = epoch_ms()
        publications: list[Publication] = []
        found = [None] * len(asked) if self._fresh_headers is None else self._fresh_headers.of(asked)
        for effect, routes in zip(missing, found, strict=True):
            kept = effect.kept
            headers = kept.will.published(kept.connection, now_ms)
            if isinstance(routes, RoutesTooLargeError):  # as for any publish
                log.warning(
                    "the will of %r on %r is refused", effect.client_id[:80], kept.will.topic[:80],
                    extra={"client": effect.client_id, "topic": kept.will.topic},
                )  # fmt: skip
                continue
            publications.append(Publication(kept.will.topic.encode(), kept.will.payload, headers, routes))
        if wills:
            log.info("%d wills of lost connections are published, of %d", len(publications), len(wills))
        return Prepared(publications, [message for message in there.values() if _is_retained(message)])

    def write(self, producer: Producer, prepared: Prepared, timeout: float) -> None:
        """Write within an open transaction what was prepared.

        Args:
            producer: Whose it is.
            prepared: What was.
            timeout: Seconds for Kafka to answer.

        Raises:
            KafkaException, StaleStateError: Roll it back.
        """
        headers = self._fresh_headers
        read = retained_record.subscriptions_header({}) if headers is None else headers.subscriptions_read
        publish(producer, self._topics, prepared.publications, read, timeout)
        for message in prepared.there:
            published = [one for one in record_headers(message) if one[0] != h.ROUTES]
            will = Publication(message.key() or b"", message.value() or b"", published)
            retain(producer, self._topics, will, read, place_of(message))

    def _published(self, wills: Sequence[PublishWill]) -> dict[bytes, Message]:
        """By connection, of those whose gateway was about to publish their will: the will that is there."""
        begun: dict[int, int] = {}
        for effect in wills:
            at_ms = effect.kept.begun_at_ms
            if at_ms is not None:
                partition = partition_of(effect.kept.will.topic.encode(), self._sources)
                begun[partition] = min(at_ms, begun.get(partition, at_ms))
        wanted = {effect.kept.connection.encode() for effect in wills}
        found: dict[bytes, Message] = {}
        for partition, at_ms in begun.items():
            end = log_end(self._kafka, self._topic, partition)
            start = log_since(self._kafka, self._topic, partition, at_ms - _CLOCK_STEP_MS)
            if start is None or start >= end:
                continue
            for message in read_state(self._kafka, self._topic, partition, end, start):
                connection = h.first(record_headers(message), WILL)
                if connection in wanted:
                    found[connection] = message
                if place_of(message)[1] >= end - 1:
                    break  # others go on writing
        return found


def _is_retained(message: Message) -> bool:
    return RETAIN_HEADERS[True] in record_headers(message)
