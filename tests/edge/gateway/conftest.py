"""A cluster's Kafka topics under a prefix of the test's own, and gateways on it in the test's own event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from admin.stack.gateway import MqttAddress
from contracts.kafka_topics import KafkaTopics
from edge.gateway.config import GatewayConfig
from edge.gateway.gateway import Gateway
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
