"""Fixtures of the router's tests: one Spark session for all, and row builders that name only what matters."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from admin.stack.jars import connector_jars
from admin.stack.router import spark_defaults
from contracts.kafka_topics import KafkaTopics
from routing.routes.datasource import MqttRoutes
from tests.conftest import LiveKafka
from tests.routing.broker import Broker


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session with the settings of spark-defaults.conf, but for where its jars come from."""
    builder = SparkSession.builder.appName("tests").master("local[6]")
    for line in spark_defaults().read_text().splitlines():
        if line.startswith("spark.") and not line.startswith("spark.jars"):
            name, value = line.split(maxsplit=1)
            builder = builder.config(name, value)
    # Spark starts Python workers by this name; without it the first python3 on PATH, which may know no package of ours.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        builder.config("spark.master", "local[6]")
        .config("spark.jars", ",".join(map(str, connector_jars())))
        .config("spark.local.dir", str(tmp_path_factory.mktemp("spark")))
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    session.dataSource.register(MqttRoutes)
    yield session
    session.stop()


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
