"""Asks Kafka how many sessions other owners have: one request, for the group's offsets and what stands beside them."""

from __future__ import annotations

from collections.abc import Collection

from confluent_kafka import Consumer, TopicPartition

from contracts.session_census import Census, decode
from edge.gateway.kafka_clients import consumer_config

_ANSWER = 2.0  # seconds; the owner's thread waits for it


class CensusReader:
    """For one thread."""

    def __init__(self, kafka: str, group: str, topic: str, partitions: int) -> None:
        """Args: the owners' group, and the topic of whose partitions it commits offsets."""
        # Past what transactions have open: a writer that died in one must not hold up everybody who connects.
        config = consumer_config(kafka) | {"group.id": group, "isolation.level": "read_uncommitted"}
        self._consumer = Consumer(config)
        self._topic, self._partitions = topic, partitions

    def read(self, without: Collection[int]) -> Census:
        """The sessions of all partitions but some.

        Raises:
            KafkaException: Kafka does not answer.
        """
        places = [
            TopicPartition(self._topic, number) for number in range(self._partitions) if number not in without
        ]
        if not places:
            return Census()
        found = self._consumer.committed(places, timeout=_ANSWER)
        return sum((decode(place.metadata or "") for place in found), Census())

    def close(self) -> None:
        """Let go of the connection."""
        self._consumer.close()
