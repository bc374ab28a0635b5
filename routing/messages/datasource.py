"""`mqtt_messages` as Spark sees it.

spark.dataSource.register(MqttMessages)
spark.read.format("mqtt_messages").option("kafka", "127.0.0.1:9092").option("start", "2026-11-29T10:00Z").load()
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from contracts.kafka_topics import DEFAULT_PREFIX, KafkaTopics
from contracts.message_table import MESSAGES_TABLE_DDL
from routing.moments import EARLIEST, LATEST, Moment
from routing.routes.datasource import required_option

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]


class MqttMessages(DataSource):
    """All messages that were published in a range of `tbmq.msg.all`.

    Options:
        kafka: Bootstrap servers; needed.
        topic_prefix: Of the Kafka topics, by default `tbmq`.
        start, end: From what moment (routing.moments), by default the earliest, to what moment, by default the latest.
    """

    @classmethod
    def name(cls) -> str:
        """The name for `spark.read.format`."""
        return "mqtt_messages"

    def schema(self) -> str:
        """contracts.message_table."""
        return MESSAGES_TABLE_DDL

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader for the options given."""
        return MqttMessagesReader(
            required_option(self.options, self.name()),
            KafkaTopics(self.options.get("topic_prefix", DEFAULT_PREFIX)).publishes,
            schema,
            Moment.parse(self.options.get("start", EARLIEST)),
            Moment.parse(self.options.get("end", LATEST)),
        )


@dataclass
class MessageRange(InputPartition):
    """A range of one partition of `tbmq.msg.all`."""

    partition: int
    start: int
    end: int


@dataclass
class MqttMessagesReader(DataSourceReader):
    """One reader for each partition of `tbmq.msg.all`."""

    bootstrap: str
    topic: str
    schema: StructType
    start: Moment
    end: Moment

    def partitions(self) -> list[InputPartition]:
        """One for each partition there is now."""
        from routing.routes.kafka import RouteLog

        log = RouteLog(self.bootstrap, self.topic)
        starts, ends = self.start.resolve(log), self.end.resolve(log)
        return [MessageRange(number, starts[number], ends[number]) for number in starts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one partition."""
        from pyspark.sql.pandas.types import to_arrow_schema

        from routing.messages.rows import message_rows
        from routing.routes.kafka import RouteLog
        from routing.routes.views import batches_of

        assert isinstance(partition, MessageRange)  # noqa: S101 - it is one of ours
        rows = message_rows(
            RouteLog(self.bootstrap, self.topic), partition.partition, partition.start, partition.end
        )
        return batches_of(rows, to_arrow_schema(self.schema, timezone="UTC"))
