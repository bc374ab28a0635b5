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

A record for a topic that a producer has not written to yet waits until Kafka has told it about that topic, some
milliseconds, and with it all that its task has to do. So applications' topics are first made known, a few at a time, to
one task and then to the others, with room for messages in between.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
from telemetry.librdkafka import QUIET

SEQUENCE = 0
"""The number of a marker; gateways count their own probes from 1."""
_POLL_SECONDS = 0.1
_LATEST = -1
"""As a time: what Kafka takes for its latest."""
_APPLICATIONS_PER_MARKER = 1_000
"""One marker does for so many: its in-band routes then take some 60 KiB, far below what `tbmq.msg.all` takes."""
_UNKNOWN_PER_MARKER = 10
"""Not known to the producer yet: 3 to 10 ms each, the more topics it knows already."""
_PERHAPS_UNKNOWN_PER_MARKER = 50
"""Known to the producer of one task, and so to those of all tasks in its process."""
_KNOWN_SECONDS = 240.0
"""So long after it was written to last, a topic is certainly known: Kafka's producer forgets what is idle for 300 s."""

Audience = tuple[str, ...]
"""Kafka topics that answer one marker: a downlink, one of the logs, or some applications'."""
Markers = dict[tuple[Audience, int], int]
"""(who is to answer, source partition) → the marker's offset."""
Round = tuple[Sequence[Audience], Sequence[int]]
"""Who is to answer, and the source partitions through which they are asked."""
Answer = tuple[str, int, int, int]
"""Kafka topic and partition where it stands, source partition and offset of the marker."""


class _SilenceError(Exception):
    """The generation does not answer, or not in time."""


@dataclass
class Passage:
    """Sends markers and waits for their answers."""

    bootstrap: str
    topics: KafkaTopics
    cancelled: Callable[[], bool]
    """Asked while waiting; true ends it."""
    quarantine: Collection[str] = ()
    """Kafka topics that the generation does not write to, so nothing is to be proved of them."""
    known_until: dict[str, float] = field(default_factory=dict)
    """Kafka topics that the router's producers know, and until when they surely do; grows by what is learned."""
    _producer: Producer = field(init=False)

    def __post_init__(self) -> None:
        self._producer = Producer(QUIET | {"bootstrap.servers": self.bootstrap, "acks": "all"})

    def passed(self, generation: int, seconds: float) -> dict[int, int] | None:
        """Offsets by source partition before which a generation has written everything.

        Args:
            generation: Which one.
            seconds: How long it may take to answer a marker.

        Returns:
            None if it takes longer, or there is no gateway: then nobody waits for anything.
        """
        try:
            self._introduce(self._targets(), generation, seconds)
            targets = self._targets()
            if not any(map(self._is_node, targets)):
                return None
            for removed in self.known_until.keys() - targets:
                del self.known_until[removed]
            offsets = self._prove(targets, generation, seconds)
            # What came meanwhile may have got something from before the markers. What comes from now on has not.
            if late := self._targets() - targets:
                self._introduce(late, generation, seconds)
                self._prove(late, generation, seconds)
        except (KafkaException, RouteTableError, _SilenceError):
            return None
        return offsets

    def is_live(self, generation: int, seconds: float) -> bool:
        """Whether a generation answers what is written now, from all source partitions, within that time."""
        try:
            node = min(filter(self._is_node, self._targets()), default=None)
            if node is None:
                return False
            self._prove({node}, generation, seconds)
        except (KafkaException, RouteTableError, _SilenceError):
            return False
        return True

    def has_node(self) -> bool:
        """Whether there is a gateway's downlink, so that somebody could be answered.

        Raises:
            RouteTableError: Kafka does not answer.
        """
        return any(map(self._is_node, self._targets()))

    @property
    def _logs(self) -> set[str]:
        """The Kafka topics of several partitions, each of which answers."""
        return {self.topics.persisted, self.topics.shares}

    def _targets(self) -> set[str]:
        """The Kafka topics that the generation writes to."""
        # That Kafka does not tell must not pass for there being none: those that came late would go unproved.
        existing = RouteLog(self.bootstrap, self.topics.subscriptions).existing_topics()
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

    def _introduce(self, targets: set[str], generation: int, seconds: float) -> None:
        """Make applications' topics known that are not, whichever task shares its producer with whichever other."""
        now = time.monotonic()
        unknown = {
            name for name in targets if self._is_application(name) and self.known_until.get(name, 0.0) < now
        }
        if not unknown:
            return
        first, *others = self._sources()
        rounds = [([some], [first]) for some in _divided(unknown, _UNKNOWN_PER_MARKER)]
        # In one process all tasks write through one producer, which knows them by now.
        rounds += [([some], others) for some in _divided(unknown, _PERHAPS_UNKNOWN_PER_MARKER) if others]
        self._answered(unknown, generation, seconds, rounds)

    def _prove(self, targets: set[str], generation: int, seconds: float) -> dict[int, int]:
        """Offsets by source partition before which the generation has written all that is for these."""
        sources = self._sources()
        applications = set(filter(self._is_application, targets))
        others = [(name,) for name in targets - applications]
        rounds = [(others, sources)] + [
            ([some], sources) for some in _divided(applications, _APPLICATIONS_PER_MARKER)
        ]
        return self._answered(targets, generation, seconds, rounds)

    def _sources(self) -> list[int]:
        return list(range(RouteLog(self.bootstrap, self.topics.publishes).partitions()))

    def _answered(
        self, targets: set[str], generation: int, seconds: float, rounds: Iterable[Round]
    ) -> dict[int, int]:
        """Send markers, those of a round when all of the one before are answered, so that messages go between them.

        Returns:
            The offset of the first marker in each source partition.

        Raises:
            _SilenceError: A round was not answered in so many seconds.
        """
        first: dict[int, int] = {}
        consumer = self._consumer()
        try:
            ends = self._ends(consumer, targets)
            partitions = Counter(end.topic for end in ends)
            for audiences, sources in rounds:
                until = time.monotonic() + seconds
                # No others: each fetch names all that is assigned.
                asked = set(itertools.chain.from_iterable(audiences))
                consumer.assign([end for end in ends if end.topic in asked])
                markers = self._send(audiences, sources, partitions, until)
                self._hear(consumer, self._expected(markers, partitions), generation, until)
                for (audience, source), offset in markers.items():
                    first[source] = min(offset, first.get(source, offset))
                    self.known_until.update(dict.fromkeys(audience, time.monotonic() + _KNOWN_SECONDS))
        finally:
            consumer.close()
        return first

    def _hear(self, consumer: Consumer, expected: set[Answer | None], generation: int, until: float) -> None:
        while expected:
            if time.monotonic() > until or self.cancelled():
                raise _SilenceError
            message = consumer.poll(_POLL_SECONDS)
            if message is not None:
                # Only what is there already: consume would wait until it has as many as asked for.
                expected -= {
                    self._answer(found, generation) for found in (message, *consumer.consume(1000, 0))
                }

    def _consumer(self) -> Consumer:
        return Consumer(
            QUIET
            | {
                "bootstrap.servers": self.bootstrap,
                "group.id": "unused",  # The client insists on one; nothing is ever committed.
                "enable.auto.commit": False,
                "auto.offset.reset": "latest",
                # The router writes no transactions; what dispatchers have open need not hold answers back.
                "isolation.level": "read_uncommitted",
                # Whoever is asked next is fetched when the fetch for those before has come back.
                "fetch.wait.max.ms": 10,
            }
        )

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

    def _send(
        self,
        audiences: Sequence[Audience],
        sources: Sequence[int],
        partitions: Mapping[str, int],
        until: float,
    ) -> Markers:
        """Write a marker for each audience to each of some source partitions.

        Args:
            audiences: Who is to answer.
            sources: Partitions of `tbmq.msg.all`.
            partitions: How many each Kafka topic has.
            until: When to give up.

        Raises:
            _SilenceError: One could not be written.
        """
        markers: Markers = {}
        for audience in audiences:
            headers = self._headers(audience, partitions)
            for source in sources:

                def written(
                    error: object, message: object, place: tuple[Audience, int] = (audience, source)
                ) -> None:
                    if error is None:
                        markers[place] = message.offset()  # type: ignore[attr-defined]

                self._producer.produce(
                    self.topics.publishes,
                    key=probe_record.PROBE_KEY.encode(),
                    value=b"",
                    headers=list(headers),
                    partition=source,
                    on_delivery=written,
                )
        self._producer.flush(max(0.0, until - time.monotonic()))
        if len(markers) < len(audiences) * len(sources):
            raise _SilenceError
        return markers

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


def _divided(applications: set[str], size: int) -> Iterator[Audience]:
    names = sorted(applications)
    return (tuple(names[start : start + size]) for start in range(0, len(names), size))
