"""Readers of the views of `mqtt_routes` that are not the router's live table: of a moment, and of changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from contracts.kafka_topics import KafkaTopics
from routing.moments import Moment
from routing.routes.assumptions import Assumptions
from routing.routes.kafka import RouteLog
from routing.routes.past import PastPartition
from routing.routes.views import batches_of, change_rows, subscription_rows


@dataclass
class LogPart(InputPartition):
    """A range of one partition of the subscription log."""

    partition: int
    start: int
    end: int
    is_proved: bool = False


@dataclass
class PastReader(DataSourceReader):
    """The table as of a moment, which is resolved once: however often it is read, its versions are the same."""

    bootstrap: str
    topics: KafkaTopics
    schema: StructType | None
    """Of subscriptions; None where routes are asked for."""
    as_of: Moment
    assumptions: Assumptions
    is_part_enough: bool

    def partitions(self) -> list[InputPartition]:
        """One for each partition there is now, and its part of the moment."""
        log = RouteLog(self.bootstrap, self.topics.subscriptions)
        ends = self.as_of.resolve(log)
        # What is the end now is whole now, and compaction does not come to what was just written.
        return [
            LogPart(number, 0, end, self.is_part_enough or end >= log.bounds(number)[1])
            for number, end in ends.items()
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one partition."""
        assert isinstance(partition, LogPart)  # noqa: S101 - it is one of ours
        count = RouteLog(self.bootstrap, self.topics.subscriptions).partitions()
        number = partition.partition
        assumed = self.assumptions.of_partition(number, count)
        past = PastPartition(self.bootstrap, self.topics, number, partition.end, partition.is_proved, assumed)
        if self.schema is None:
            return past.routes()
        return batches_of(subscription_rows(past), to_arrow_schema(self.schema, timezone="UTC"))


@dataclass
class ChangesReader(DataSourceReader):
    """The log itself, from one moment to another."""

    bootstrap: str
    topics: KafkaTopics
    schema: StructType
    start: Moment
    end: Moment

    def partitions(self) -> list[InputPartition]:
        """One for each partition there is now."""
        log = RouteLog(self.bootstrap, self.topics.subscriptions)
        starts, ends = self.start.resolve(log), self.end.resolve(log)
        return [LogPart(number, starts[number], ends[number]) for number in starts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one partition."""
        return _changes(self.bootstrap, self.topics, self.schema, partition)


class ChangesStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The log as it grows. Its offsets, as Spark keeps them: partition, as text → the first offset not read."""

    def __init__(self, bootstrap: str, topics: KafkaTopics, schema: StructType, start: Moment) -> None:
        self._bootstrap, self._topics, self._schema, self._start = bootstrap, topics, schema, start
        self._goal: dict[str, int] | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name.
        """Where a new query begins."""
        return _as_text(self._start.resolve(self._log))

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: ARG002, N802
        """The log's end, or where all that was there at the start of an available-now query ends."""
        if self._goal is not None:
            return self._goal
        return self._ends(start)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name.
        """Note what is there now."""
        self._goal = self._ends({})

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """One for each partition that has something new; one that is new itself is read from its beginning."""
        return [
            LogPart(int(number), start.get(number, 0), offset)
            for number, offset in end.items()
            if offset > start.get(number, 0)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one partition."""
        return _changes(self._bootstrap, self._topics, self._schema, partition)

    @property
    def _log(self) -> RouteLog:
        return RouteLog(self._bootstrap, self._topics.subscriptions)

    def _ends(self, read_to: dict[str, int]) -> dict[str, int]:
        log = self._log
        return _as_text(
            {number: log.bounds(number, read_to.get(str(number), 0))[1] for number in range(log.partitions())}
        )


def _as_text(offsets: dict[int, int]) -> dict[str, int]:
    return {str(number): offset for number, offset in offsets.items()}


def _changes(bootstrap: str, topics: KafkaTopics, schema: StructType, part: Any) -> Iterator[pa.RecordBatch]:
    rows = change_rows(RouteLog(bootstrap, topics.subscriptions), part.partition, part.start, part.end)
    return batches_of(rows, to_arrow_schema(schema, timezone="UTC"))
