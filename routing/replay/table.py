"""The table that a replay routes by: as of a moment, and with assumptions if there are any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from contracts.kafka_topics import KafkaTopics
from contracts.topics import Shape
from routing.moments import LATEST, Moment, encode_offsets
from routing.routes.assumptions import Assumptions
from routing.routes.datasource import MqttRoutes
from routing.routes.kafka import RouteLog
from routing.sources import register_sources

Rows = DataFrame | Iterable[Mapping[str, Any]]
"""Subscriptions to assume: a DataFrame of few rows, or dicts (routing.routes.assumptions.Assumptions.of)."""


@dataclass(frozen=True)
class ChosenTable:
    """A subscription table that does not change any more."""

    routes: DataFrame
    """contracts.route_table, without rows for probes; the version of what is only assumed is null. It is kept by Spark
    once it was read: `routes.unpersist()` ends that."""
    subscriptions: DataFrame
    """contracts.message_table.SUBSCRIPTIONS_TABLE_DDL, as of the same moment; read anew each time."""
    version: Mapping[int, int]
    """The moment, by partition of `tbmq.client.subscriptions`."""
    assumed: frozenset[str]
    """The filters that assumptions name."""

    @property
    def shapes(self) -> list[Shape]:
        """The shapes of its filters. Reads the table."""
        return shapes_of_routes(self.routes)


def choose_table(
    spark: SparkSession,
    kafka: str,
    topics: KafkaTopics,
    as_of: str = LATEST,
    assumptions: Assumptions = Assumptions(),  # noqa: B008 - it is frozen
    is_part_enough: bool = False,
) -> ChosenTable:
    """Choose the table of a moment.

    Raises:
        MomentError: The moment is none, or not in the log.
        RouteTableError: Kafka does not answer. (That compaction may have removed something is told when it is read.)
    """
    register_sources(spark)
    moment = Moment.parse(as_of)
    version = moment.resolve(RouteLog(kafka, topics.subscriptions))
    reader = (
        spark.read.format(MqttRoutes.name())
        .option("kafka", kafka)
        .option("topic_prefix", topics.prefix)
        .option("as_of", encode_offsets(version))
        .option("assume", assumptions.encode())
        # What is the end now will be behind it soon, and nothing has been removed of it by then.
        .option("incomplete", "allow" if is_part_enough or moment.end == LATEST else "error")
    )
    return ChosenTable(
        reader.load().persist(),
        reader.option("view", "subscriptions").load(),
        version,
        assumptions.filters,
    )


def assume(add: Rows = (), remove: Rows = ()) -> Assumptions:
    """Assumptions of rows, wherever they stand; the values of a DataFrame's nulls are the defaults.

    Raises:
        ChangeError: A row is nothing that a client could ask for.
    """
    return Assumptions.of(_dicts(add), _dicts(remove))


def shapes_of_routes(routes: DataFrame) -> list[Shape]:
    """The shapes that a route table has, in an order."""
    found = routes.where("shape is not null").select("shape").distinct().collect()
    return [Shape.parse(text) for text in sorted(row.shape for row in found)]


def _dicts(rows: Rows) -> Iterable[Mapping[str, Any]]:
    return [row.asDict() for row in rows.collect()] if isinstance(rows, DataFrame) else rows
