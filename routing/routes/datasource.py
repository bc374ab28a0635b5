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

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from contracts.kafka_topics import DEFAULT_PREFIX, KafkaTopics
from contracts.message_table import CHANGES_TABLE_DDL, SUBSCRIPTIONS_TABLE_DDL
from contracts.route_table import ROUTES_TABLE_DDL
from routing.moments import EARLIEST, LATEST, Moment
from routing.routes.assumptions import Assumptions

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

VIEWS = {
    "routes": ROUTES_TABLE_DDL,
    "subscriptions": SUBSCRIPTIONS_TABLE_DDL,
    "changes": CHANGES_TABLE_DDL,
}
"""What the table can be seen as, and the columns of each view."""
SHAPES_SEPARATOR = ";"
"""Between the shapes in the option `shapes`."""


class MqttRoutes(DataSource):
    """The subscription table: as it is or was, as subscriptions, and as a stream of changes.

    Options:
        kafka: Bootstrap servers; needed.
        topic_prefix: Of the Kafka topics, by default `tbmq`.
        view: `routes` (contracts.route_table), `subscriptions` or `changes` (contracts.message_table).
        snapshot_dir: Where this host keeps its snapshots, by default in the system's directory for temporary files.
        shapes: The shapes that the reading plan looks for, joined by `;`. Without it the plan is taken to know all.
        as_of: The table as of a moment (routing.moments); a partition's part is then fixed, not live.
        assume: What-if changes (routing.routes.assumptions) on top of it.
        incomplete: `allow` takes what compaction has left of that moment; else that is an error.
        start, end: Of the view `changes`: from what moment, by default the earliest, to what moment, by default the
            latest. A stream has no end.
    """

    @classmethod
    def name(cls) -> str:
        """The name for `spark.read.format`."""
        return "mqtt_routes"

    def schema(self) -> str:
        """That of the view."""
        return VIEWS[self._view]

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader for the options given."""
        from routing.routes.readers import ChangesReader, PastReader

        if self._view == "changes":
            return ChangesReader(
                self._bootstrap, self._topics, schema, self._moment("start"), self._moment("end")
            )
        if self._view == "subscriptions" or self.options.keys() & {"as_of", "assume"}:
            return PastReader(
                self._bootstrap,
                self._topics,
                schema if self._view == "subscriptions" else None,
                self._moment("as_of"),
                Assumptions.parse(self.options.get("assume", "[]")),
                is_part_enough=self.options.get("incomplete") == "allow",
            )
        return MqttRoutesReader(
            self._bootstrap,
            self._topics,
            Path(self.options.get("snapshot_dir") or default_snapshot_dir()),
            None if (shapes := self.options.get("shapes")) is None else shapes.split(SHAPES_SEPARATOR),
        )

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name.
        """A stream of changes.

        Raises:
            ValueError: Another view is asked for, which is no stream.
        """
        from routing.routes.readers import ChangesStreamReader

        if self._view != "changes":
            raise ValueError('only changes are a stream: add .option("view", "changes")')
        return ChangesStreamReader(self._bootstrap, self._topics, schema, self._moment("start"))

    @property
    def _view(self) -> str:
        view = self.options.get("view", "routes")
        if view not in VIEWS:
            raise ValueError(f"mqtt_routes has no view {view!r}: choose from {', '.join(VIEWS)}")
        return view

    @property
    def _bootstrap(self) -> str:
        return required_option(self.options, self.name())

    @property
    def _topics(self) -> KafkaTopics:
        return KafkaTopics(self.options.get("topic_prefix", DEFAULT_PREFIX))

    def _moment(self, option: str) -> Moment:
        return Moment.parse(self.options.get(option, EARLIEST if option == "start" else LATEST))


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


def required_option(options: Mapping[str, str], source: str) -> str:
    """The option `kafka`, which has no default.

    Raises:
        ValueError: It is missing.
    """
    value = options.get("kafka")
    if not value:
        raise ValueError(f"{source} needs the option 'kafka': the address of Kafka, HOST:PORT")
    return value


def default_snapshot_dir() -> Path:
    """Where snapshots are kept when nobody says."""
    return Path(tempfile.gettempdir()) / "sluicemq-routes"
