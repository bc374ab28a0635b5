"""A Kafka of librdkafka's own, in this process: no JVM, and no topics to be made, as it makes whatever is asked for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer


@pytest.fixture(scope="module")
def mock_kafka() -> Iterator[str]:
    """Its address. Tests share it: take a prefix of your own for topics."""
    keeper = Producer({"bootstrap.servers": "ignored", "test.mock.num.brokers": 1, "log_level": 2})
    [broker] = keeper.list_topics(timeout=60).brokers.values()
    yield f"{broker.host}:{broker.port}"
    del keeper
