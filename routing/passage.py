"""Passage: proof, from Kafka alone, of what a generation of the router has written.

A marker is a probe that the job itself writes. Its answer stands in a node's downlink behind all that the same source
partition's task wrote there before; other kinds of markers are answered in each partition of the persisted log and of
the log of shares, and in applications' Kafka topics, in those of several partitions (what applications share) in the
one that the source partition leads to: no other has anything of it. So when the answers to markers from all source
partitions stand in the downlinks of all nodes, in all of these logs and in the topics of all applications, all that
comes before the markers is routed. Gateways see these answers as well, and take those in their downlinks for what they
are: what this generation knows of the table.

No topic may be left out. Kafka's producer keeps the order within a partition only: a record for an application may wait
there, for a leader or for another attempt, when the answer that was made after it has long come through a downlink. A
generation that is ended then takes it along, and its successor, which begins at the markers, never writes it. So
applications cost some records in each of their topics a rollover, which Kafka, router and gateways hardly notice, and
the rollover waits for them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from contracts import probe_record
from contracts.errors import RecordError
from contracts.headers import Headers
from contracts.kafka_topics import KafkaTopics
from contracts.partitioner import partition_of
from contracts.routed_record import decode_route
from routing.errors import RouteTableError
from routing.routes.kafka import SECONDS_TO_ANSWER, RouteLog

SEQUENCE = 0
"""The number of a marker; gateways count their own probes from 1."""
_POLL_SECONDS = 0.1
_LATEST = -1
"""As a time: what Kafka takes for its latest."""
_APPLICATIONS_PER_SECOND = 500.0
"""How many applications' answers a second are waited for beyond what is allowed anyhow; many times as many come."""
_APPLICATIONS_PER_MARKER = 1_000
"""One marker does for so many: its in-band routes then take some 60 KiB, far below what `tbmq.msg.all` takes."""

Audience = tuple[str, ...]
"""Kafka topics that answer one marker: a downlink, one of the logs, or some applications'."""
Markers = dict[tuple[Audience, int], int]
"""(who is to answer, source partition) → the marker's offset."""
Answer = tuple[str, int, int, int]
"""Kafka topic and partition where it stands, source partition and offset of the marker."""


@dataclass
class Passage:
    """Sends markers and waits for their answers."""

    bootstrap: str
    topics: KafkaTopics
    cancelled: Callable[[], bool]
    """Asked while waiting; true ends it."""
    quarantine: Collection[str] = ()
    """Kafka topics that the generation does not write to, so nothing is to be proved of them."""
    _producer: Producer = field(init=False)

    def __post_init__(self) -> None:
        self._producer = Producer({"bootstrap.servers": self.bootstrap, "acks": "all", "log_level": 2})

    def passed(self, generation: int, seconds: float) -> dict[int, int] | None:
        """Offsets by source partition before which a generation has written everything; None if it takes too long.

        A node that comes while this runs could have missed its marker: then all is done once more.
        """
        targets = self._targets()
        until = (
            time.monotonic() + seconds + sum(map(self._is_application, targets)) / _APPLICATIONS_PER_SECOND
        )
        # Without a gateway nobody waits for anything.
        while any(map(self._is_node, targets)):
            offsets = self._answered(targets, generation, until)
            if offsets is None:
                return None
            known, targets = targets, self._targets()
            if targets <= known:
                return offsets
        return None

    def is_live(self, generation: int, seconds: float) -> bool:
        """Whether a generation answers what is written now, from all source partitions, within that time."""
        nodes = sorted(filter(self._is_node, self._targets()))[:1]
        return bool(nodes) and self._answered(set(nodes), generation, time.monotonic() + seconds) is not None

    @property
    def _logs(self) -> set[str]:
        """The Kafka topics of several partitions, each of which answers."""
        return {self.topics.persisted, self.topics.shares}

    def _targets(self) -> set[str]:
        """The Kafka topics that the generation writes to."""
        try:
            existing = RouteLog(self.bootstrap, self.topics.subscriptions).existing_topics()
        except RouteTableError:
            return set()
        prefixes = (self.topics.downlink_prefix, self.topics.application_prefix)
        targets = {name for name in existing if name.startswith(prefixes) or name in self._logs}
        return targets - set(self.quarantine)

    def _is_node(self, name: str) -> bool:
        return name.startswith(self.topics.downlink_prefix)

    def _is_application(self, name: str) -> bool:
        """Whether it is an application's topic, or one that applications share."""
        return name.startswith(self.topics.application_prefix)

    def _is_shared(self, name: str) -> bool:
        return name.startswith(self.topics.application_share_prefix)

    def _audiences(self, targets: Collection[str]) -> list[Audience]:
        """Those who can answer one marker together."""
        applications = sorted(filter(self._is_application, targets))
        return [(name,) for name in targets if not self._is_application(name)] + [
            tuple(applications[start : start + _APPLICATIONS_PER_MARKER])
            for start in range(0, len(applications), _APPLICATIONS_PER_MARKER)
        ]

    def _answered(self, targets: set[str], generation: int, until: float) -> dict[int, int] | None:
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "unused",  # The client insists on one; nothing is ever committed.
                "enable.auto.commit": False,
                "auto.offset.reset": "latest",
                # The router writes no transactions; what dispatchers have open need not hold answers back.
                "isolation.level": "read_uncommitted",
                "log_level": 2,
            }
        )
        try:
            ends = self._ends(consumer, targets)
            consumer.assign(ends)
            partitions = Counter(end.topic for end in ends)
            markers = self._send(partitions, until)
            expected = self._expected(markers, partitions)
            while expected and time.monotonic() < until and not self.cancelled():
                for message in consumer.consume(1000, _POLL_SECONDS):
                    expected.discard(self._answer(message, generation))
            if expected or not markers:
                return None
            return {
                partition: min(offset for (_, at), offset in markers.items() if at == partition)
                for _, partition in markers
            }
        except (KafkaException, RouteTableError):
            return None
        finally:
            consumer.close()

    def _expected(self, markers: Markers, partitions: Mapping[str, int]) -> set[Answer | None]:
        """A downlink answers its own marker; each partition of a log, and each application, the one for all."""
        return {
            (topic, partition, source, offset)
            for (audience, source), offset in markers.items()
            for topic in audience
            for partition in self._answering(topic, source, partitions[topic])
        }

    def _answering(self, topic: str, source: int, partitions: int) -> Iterable[int]:
        if self._is_application(topic):
            return (partition_of(str(source).encode(), partitions),)  # keyed by source partition
        return range(partitions)

    def _answer(self, message: Message, generation: int) -> Answer | None:
        """What a record answers, if it is an answer of this generation to a marker of the job's."""
        headers: Any = message.headers() if message.error() is None else None
        if not headers or not probe_record.is_answer(headers):
            return None
        topic = str(message.topic())
        try:
            if not self._is_node(topic):
                # No other generation runs that could answer it, and nobody else asks.
                route = decode_route(headers)
                return topic, message.partition() or 0, route.partition, route.offset
            answer = probe_record.decode_answer(headers)
        except RecordError:
            return None
        if (answer.generation, answer.sequence) != (generation, SEQUENCE):
            return None
        return topic, 0, answer.source_partition, answer.source_offset

    def _ends(self, consumer: Consumer, targets: set[str]) -> list[TopicPartition]:
        """Where the targets' partitions end now: answers come later."""
        is_wide = {name: name in self._logs or self._is_shared(name) for name in targets}
        places = [TopicPartition(name, 0, _LATEST) for name in targets if not is_wide[name]]
        for name in filter(is_wide.__getitem__, targets):
            log = consumer.list_topics(name, SECONDS_TO_ANSWER).topics[name]
            places += [TopicPartition(name, number, _LATEST) for number in log.partitions]
        # In one request, since there may be ten thousand.
        ends = consumer.offsets_for_times(places, SECONDS_TO_ANSWER)
        for end in ends:
            if end.error is not None:
                raise KafkaException(end.error)
        return ends

    def _send(self, targets: Mapping[str, int], until: float) -> Markers:
        """Write a marker for each audience to each source partition; {} if one fails.

        Args:
            targets: Kafka topics, and how many partitions each has.
            until: When to give up.
        """
        partitions = RouteLog(self.bootstrap, self.topics.publishes).partitions()
        markers: Markers = {}
        audiences = self._audiences(targets)
        for audience in audiences:
            headers = self._headers(audience, targets)
            for partition in range(partitions):

                def written(
                    error: object, message: object, place: tuple[Audience, int] = (audience, partition)
                ) -> None:
                    if error is None:
                        markers[place] = message.offset()  # type: ignore[attr-defined]

                self._producer.produce(
                    self.topics.publishes,
                    key=probe_record.PROBE_KEY.encode(),
                    value=b"",
                    headers=list(headers),
                    partition=partition,
                    on_delivery=written,
                )
        self._producer.flush(max(0.0, until - time.monotonic()))
        return markers if len(markers) == len(audiences) * partitions else {}

    def _headers(self, audience: Audience, partitions: Mapping[str, int]) -> Headers:
        first = audience[0]
        if first == self.topics.persisted:
            return probe_record.encode_persisted_headers(partitions[first])
        if first == self.topics.shares:
            return probe_record.encode_share_headers(partitions[first])
        if self._is_node(first):
            node = first.removeprefix(self.topics.downlink_prefix)
            return probe_record.encode_headers(node, SEQUENCE)
        prefix, share_prefix = self.topics.application_prefix, self.topics.application_share_prefix
        return probe_record.encode_application_headers(
            (name.removeprefix(prefix) for name in audience if not self._is_shared(name)),
            (name.removeprefix(share_prefix) for name in audience if self._is_shared(name)),
        )
