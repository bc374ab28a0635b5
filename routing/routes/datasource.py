"""`mqtt_routes` as Spark sees it.

    spark.dataSource.register(MqttRoutes)
    routes = spark.read.format("mqtt_routes").option("kafka", "127.0.0.1:9092").load()

Spark calls `partitions` once for the life of a DataFrame, and each reader anew at the start of each batch: so the
DataFrame is live, as of the start of the batch that reads it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from contracts.kafka_topics import DEFAULT_PREFIX, KafkaTopics
from contracts.route_table import ROUTES_TABLE_DDL

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

SHAPES_SEPARATOR = ";"
"""Between the shapes in the option `shapes`."""


class MqttRoutes(DataSource):
    """The current subscription table.

    Options:
        kafka: Bootstrap servers; needed.
        topic_prefix: Of the Kafka topics, by default `tbmq`.
        snapshot_dir: Where this host keeps its snapshots, by default in the system's directory for temporary files.
        shapes: The shapes that the reading plan looks for, joined by `;`. Without it the plan is taken to know all.
    """

    @classmethod
    def name(cls) -> str:
        """The name for `spark.read.format`."""
        return "mqtt_routes"

    def schema(self) -> str:
        """contracts.route_table."""
        return ROUTES_TABLE_DDL

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - Spark calls it by name.
        """A reader for the options given."""
        return MqttRoutesReader(
            required_option(self.options, "kafka"),
            KafkaTopics(self.options.get("topic_prefix", DEFAULT_PREFIX)),
            Path(self.options.get("snapshot_dir") or default_snapshot_dir()),
            None if (shapes := self.options.get("shapes")) is None else shapes.split(SHAPES_SEPARATOR),
        )


class MqttRoutesReader(DataSourceReader):
    """One reader for each partition of `tbmq.client.subscriptions`."""

    def __init__(
        self, bootstrap: str, topics: KafkaTopics, directory: Path, shapes: Collection[str] | None
    ) -> None:
        self._bootstrap = bootstrap
        self._topics = topics
        self._directory = directory
        self._shapes = shapes

    def partitions(self) -> list[InputPartition]:
        """One for each partition there is now."""
        from routing.routes.kafka import RouteLog  # Only the processes that read need a Kafka client.

        count = RouteLog(self._bootstrap, self._topics.subscriptions).partitions()
        return [InputPartition(number) for number in range(count)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one partition, as of now."""
        from routing.routes.partition import RoutePartition

        reading = RoutePartition(self._bootstrap, self._topics, int(partition.value), self._directory)
        return reading.batches(self._shapes)


def required_option(options: Mapping[str, str], name: str) -> str:
    """An option that has no default.

    Raises:
        ValueError: It is missing.
    """
    value = options.get(name)
    if not value:
        raise ValueError(f"mqtt_routes needs the option {name!r}: the address of Kafka, HOST:PORT")
    return value


def default_snapshot_dir() -> Path:
    """Where snapshots are kept when nobody says."""
    return Path(tempfile.gettempdir()) / "sluicemq-routes"
