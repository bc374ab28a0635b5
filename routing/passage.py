"""Passage: proof, from Kafka alone, of what a generation of the router has written.

A marker is a probe that the job itself writes. Its answer stands in a node's downlink behind all that the same source
partition's task wrote there before. So when the answers to markers from all source partitions stand in the downlinks of
all nodes, all that comes before the markers is routed. Gateways see these answers as well, and take them for what they
are: what this generation knows of the table.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from contracts import probe_record
from contracts.errors import RecordError
from contracts.kafka_topics import KafkaTopics
from routing.errors import RouteTableError
from routing.routes.kafka import SECONDS_TO_ANSWER, RouteLog

SEQUENCE = 0
"""The number of a marker; gateways count their own probes from 1."""
_POLL_SECONDS = 0.1


@dataclass
class Passage:
    """Sends markers and waits for their answers."""

    bootstrap: str
    topics: KafkaTopics
    cancelled: Callable[[], bool]
    """Asked while waiting; true ends it."""
    _producer: Producer = field(init=False)

    def __post_init__(self) -> None:
        self._producer = Producer({"bootstrap.servers": self.bootstrap, "acks": "all", "log_level": 2})

    def passed(self, generation: int, seconds: float) -> dict[int, int] | None:
        """Offsets by source partition before which a generation has written everything; None if it takes too long.

        A node that comes while this runs could have missed its marker: then all is done once more.
        """
        until = time.monotonic() + seconds
        nodes = self._nodes()
        while nodes and (offsets := self._answered(nodes, generation, until)) is not None:
            known, nodes = nodes, self._nodes()
            if nodes <= known:
                return offsets
        return None

    def is_live(self, generation: int, seconds: float) -> bool:
        """Whether a generation answers what is written now, from all source partitions, within that time."""
        nodes = sorted(self._nodes())[:1]
        return bool(nodes) and self._answered(nodes, generation, time.monotonic() + seconds) is not None

    def _nodes(self) -> set[str]:
        prefix = self.topics.downlink_prefix
        try:
            existing = RouteLog(self.bootstrap, self.topics.subscriptions).existing_topics()
        except RouteTableError:
            return set()
        return {name.removeprefix(prefix) for name in existing if name.startswith(prefix)}

    def _answered(
        self, nodes: Sequence[str] | set[str], generation: int, until: float
    ) -> dict[int, int] | None:
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "unused",  # The client insists on one; nothing is ever committed.
                "enable.auto.commit": False,
                "auto.offset.reset": "latest",
                "log_level": 2,
            }
        )
        try:
            consumer.assign(self._ends(consumer, nodes))
            markers = self._send(nodes, until)
            expected = {(node, partition, offset) for (node, partition), offset in markers.items()}
            while expected and time.monotonic() < until and not self.cancelled():
                for message in consumer.consume(1000, _POLL_SECONDS):
                    headers: Any = message.headers() if message.error() is None else None
                    if not headers or not probe_record.is_answer(headers):
                        continue
                    try:
                        answer = probe_record.decode_answer(headers)
                    except RecordError:
                        continue
                    if answer.generation == generation and answer.sequence == SEQUENCE:
                        node = str(message.topic()).removeprefix(self.topics.downlink_prefix)
                        expected.discard((node, answer.source_partition, answer.source_offset))
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

    def _ends(self, consumer: Consumer, nodes: Sequence[str] | set[str]) -> list[TopicPartition]:
        """Where the nodes' downlinks end now: answers come later."""
        ends = []
        for node in nodes:
            name = self.topics.downlink(node)
            for partition in consumer.list_topics(name, SECONDS_TO_ANSWER).topics[name].partitions:
                place = TopicPartition(name, partition)
                place.offset = consumer.get_watermark_offsets(place, SECONDS_TO_ANSWER)[1]
                ends.append(place)
        return ends

    def _send(self, nodes: Sequence[str] | set[str], until: float) -> dict[tuple[str, int], int]:
        """Write a marker for each node to each source partition: (node, partition) → its offset; {} if one fails."""
        partitions = RouteLog(self.bootstrap, self.topics.publishes).partitions()
        markers: dict[tuple[str, int], int] = {}
        for node in nodes:
            for partition in range(partitions):

                def written(
                    error: object, message: object, place: tuple[str, int] = (node, partition)
                ) -> None:
                    if error is None:
                        markers[place] = message.offset()  # type: ignore[attr-defined]

                self._producer.produce(
                    self.topics.publishes,
                    key=probe_record.PROBE_KEY.encode(),
                    value=b"",
                    headers=list(probe_record.encode_headers(node, SEQUENCE)),
                    partition=partition,
                    on_delivery=written,
                )
        self._producer.flush(max(0.0, until - time.monotonic()))
        return markers if len(markers) == len(nodes) * partitions else {}
