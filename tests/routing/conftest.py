"""Fixtures of the router's tests: one Spark session for all, and row builders that name only what matters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from contracts.kafka_topics import KafkaTopics
from routing.sources import register_sources
from tests.conftest import LiveKafka
from tests.routing.broker import Broker
from tests.spark_session import spark_session


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The tests' session, which knows our data sources."""
    with spark_session(tmp_path_factory.mktemp("spark")) as session:
        register_sources(session)
        yield session


@pytest.fixture
def topics(unique: Callable[[str], str]) -> KafkaTopics:
    """Names that no other test uses."""
    return KafkaTopics(unique("t"))


@pytest.fixture
def broker(kafka: LiveKafka, topics: KafkaTopics) -> Broker:
    """The live broker with this test's shared topics."""
    found = Broker(kafka.bootstrap, topics)
    found.create(*topics.shared(publish_partitions=2, subscription_partitions=2))
    return found


@pytest.fixture
def snapshot_dir(tmp_path: Path) -> Path:
    return tmp_path / "snapshots"
