"""Gateways in the test's own event loop, on a real Kafka: sessions need no router."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from admin.stack.gateway import MqttAddress
from edge.gateway.config import GatewayConfig
from edge.gateway.gateway import Gateway

if TYPE_CHECKING:
    from tests.edge.gateway.conftest import Cluster

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
    for gateway in started:
        await gateway.stop()
