"""Publishes of wills by their owner: what stands in `tbmq.msg.all` of those that a lost gateway left.

They are written in the transaction that ends the wills in the owner's state, so each is there exactly once, whatever
becomes of the owner. If the lost gateway was about to publish one, the log is searched for it first; the gateway had
said from when on. The router reads committed records alone.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from contracts import headers as h
from contracts.partitioner import partition_of
from contracts.will_record import WILL
from edge.gateway.fresh_headers import Header, RoutesTooLargeError
from edge.gateway.kafka_clients import partition_count, place_of, record_headers
from edge.gateway.sessions.effects import PublishWill
from edge.gateway.state_reading import log_end, log_since, read_state

log = logging.getLogger(__name__)

_CLOCK_STEP_MS = 5_000  # by which a clock may be set back between a will's announcement and the will

FindHeaders = Callable[[Sequence[tuple[str, int]]], Sequence[Header | RoutesTooLargeError | None]]
"""Finds the `routes` headers of messages, given as (topic, QoS), which are to be published now (I2)."""


@dataclass(frozen=True, slots=True)
class Publication:
    """A record for `tbmq.msg.all`."""

    key: bytes
    value: bytes
    headers: h.Headers


class WillPublications:
    """Makes records of wills; it blocks."""

    def __init__(self, kafka: str, topic: str, fresh_headers: FindHeaders | None = None) -> None:
        """Prepare to publish.

        Args:
            kafka: Bootstrap servers.
            topic: Of the publishes.
            fresh_headers: Finds in-band routes; None where nobody subscribes.

        Raises:
            KafkaNotReadyError: Kafka does not answer, or has no such topic.
        """
        self._kafka, self._topic = kafka, topic
        self._sources = partition_count(kafka, topic)
        self._fresh_headers = fresh_headers or (lambda messages: [None] * len(messages))

    def prepare(self, wills: Sequence[PublishWill]) -> list[Publication]:
        """What is to be written for these; nothing for those that their gateways have published.

        Raises:
            KafkaException, StaleStateError: Kafka does not answer.
        """
        there = self._published(wills)
        missing = [effect for effect in wills if effect.kept.connection.encode() not in there]
        asked = [(effect.kept.will.topic, effect.kept.will.qos) for effect in missing]
        now_ms = time.time_ns() // 1_000_000
        publications = []
        for effect, routes in zip(missing, self._fresh_headers(asked), strict=True):
            kept = effect.kept
            headers = kept.will.published(kept.connection, now_ms)
            if isinstance(routes, RoutesTooLargeError):  # as for any publish
                log.warning("the will of %r on %r is refused", effect.client_id[:80], kept.will.topic[:80])
                continue
            if routes is not None:
                headers.append(routes)
            publications.append(Publication(kept.will.topic.encode(), kept.will.payload, headers))
        if wills:
            log.info("%d wills of lost connections are published, of %d", len(publications), len(wills))
        return publications

    def _published(self, wills: Sequence[PublishWill]) -> set[bytes]:
        """The connections, of those whose gateway was about to publish their will, whose will is there."""
        begun: dict[int, int] = {}
        for effect in wills:
            at_ms = effect.kept.begun_at_ms
            if at_ms is not None:
                partition = partition_of(effect.kept.will.topic.encode(), self._sources)
                begun[partition] = min(at_ms, begun.get(partition, at_ms))
        found: set[bytes] = set()
        for partition, at_ms in begun.items():
            end = log_end(self._kafka, self._topic, partition)
            start = log_since(self._kafka, self._topic, partition, at_ms - _CLOCK_STEP_MS)
            if start is None or start >= end:
                continue
            for message in read_state(self._kafka, self._topic, partition, end, start):
                found.add(h.first(record_headers(message), WILL) or b"")
                if place_of(message)[1] >= end - 1:
                    break  # others go on writing
        return found
