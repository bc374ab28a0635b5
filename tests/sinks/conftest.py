"""Fixtures of the sink's tests: the log on a real Kafka, and each kind of store."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import SparkSession

from contracts.kafka_topics import KafkaTopics
from sinks.persisted.store import StoreSettings
from tests.conftest import LiveKafka
from tests.sinks.log import Log
from tests.sinks.publishes import Publishes
from tests.spark_session import spark_session
from tests.stores.servers import StoreServer, running


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture
def log(kafka: LiveKafka, unique: Callable[[str], str]) -> Log:
    """The persisted log, in two partitions, under names that no other test uses."""
    return Log(kafka.bootstrap, KafkaTopics(unique("t")), partitions=2)


@pytest.fixture
def publishes(kafka: LiveKafka, unique: Callable[[str], str]) -> Publishes:
    """A log of messages, in two partitions, under names that no other test uses."""
    return Publishes(kafka.bootstrap, KafkaTopics(unique("t")))


@pytest.fixture(scope="module", params=["redis", "sqlite"])
def server(request: pytest.FixtureRequest) -> Iterator[StoreServer]:
    """One of each family; that all kinds do the same is what tests/stores is about."""
    with running(request.param) as server:
        yield server


@pytest.fixture
def settings(server: StoreServer) -> StoreSettings:
    """A store that is empty."""
    return StoreSettings(**server.fresh())
