"""A cluster's Kafka topics under a prefix of the test's own, and gateways on it in the test's own event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException

from admin.stack.gateway import MqttAddress
from contracts.kafka_topics import KafkaTopic, KafkaTopics
from edge.gateway.config import GatewayConfig
from edge.gateway.gateway import Gateway
from edge.gateway.kafka_clients import consumer_config, create_topics, end_offsets


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
    created = topics.shared(3, 2)
    create_topics(bootstrap, created, replication=1)
    await_leaders(bootstrap, created)
    return Cluster(bootstrap, topics)


def await_leaders(kafka: str, topics: Iterable[KafkaTopic]) -> None:
    """Wait until new topics can be asked for: for a moment, a broker that is busy leads none of their partitions."""
    consumer = Consumer(consumer_config(kafka))
    until = time.monotonic() + 30
    for topic in topics:
        while True:
            try:
                end_offsets(consumer, topic.name, topic.partitions, 5)
                break
            except KafkaException:
                assert time.monotonic() < until
    consumer.close()


Starting = Callable[..., Awaitable[tuple[Gateway, MqttAddress]]]
"""Starts a gateway: node id, and more of its configuration."""


@pytest.fixture
async def start(cluster: Cluster, tmp_path: Path) -> AsyncIterator[Starting]:
    """Start gateways, which are stopped at the test's end."""
    started: list[Gateway] = []

    async def start_one(node: str, **fields: Any) -> tuple[Gateway, MqttAddress]:
        settings: dict[str, Any] = {"persistence_store": f"sqlite:///{tmp_path}/store.db", "port": 0} | fields
        config = GatewayConfig(node=node, kafka=cluster.kafka, topic_prefix=cluster.topics.prefix, **settings)
        gateway = Gateway(config)
        started.append(gateway)
        host, port = await gateway.start()
        return gateway, MqttAddress(node, host, port)

    yield start_one
    await asyncio.gather(*(gateway.stop() for gateway in started))
