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
from tests.new_topics import await_leaders


@dataclass(frozen=True)
class Cluster:
    """Where the parts under test find their topics."""

    kafka: str
    topics: KafkaTopics


_PATIENCE_OF_POLLS = (
    "edge.gateway.log_reader.STOP_CHECK",
    "edge.gateway.persistence.stretch._WAIT",
    "edge.gateway.application_shares.dispatcher._IDLE",
    "edge.gateway.delayed.timekeeper._IDLE",
    "edge.gateway.sessions.owner._IDLE",
    "edge.gateway.shares.dispatcher._IDLE",
)
"""Seconds that a thread may wait for Kafka before it looks whether it is to stop; here gateways stop in each test."""


@pytest.fixture
def cluster(kafka: object, unique: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Shared topics with 3 and 2 partitions, for gateways that stop without delay."""
    for patience in _PATIENCE_OF_POLLS:
        monkeypatch.setattr(patience, 0.05)
    bootstrap = kafka.bootstrap  # type: ignore[attr-defined] # LiveKafka, which no module can import from a conftest
    topics = KafkaTopics(unique("gateway"))
    created = topics.shared(3, 2)
    create_topics(bootstrap, created, replication=1)
    await_leaders(bootstrap, created)
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
