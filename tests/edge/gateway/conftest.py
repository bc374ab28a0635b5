"""A cluster's Kafka topics under a prefix of the test's own, on the session's real broker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from contracts.kafka_topics import KafkaTopics
from edge.gateway.kafka_clients import create_topics


@dataclass(frozen=True)
class Cluster:
    """Where the parts under test find their topics."""

    kafka: str
    topics: KafkaTopics


@pytest.fixture
def cluster(kafka: object, unique: Callable[[str], str]) -> Cluster:
    """Shared topics with 3 and 2 partitions."""
    bootstrap = kafka.bootstrap  # type: ignore[attr-defined] # LiveKafka, which no module can import from a conftest
    topics = KafkaTopics(unique("gateway"))
    create_topics(bootstrap, topics.shared(3, 2), replication=1)
    return Cluster(bootstrap, topics)
