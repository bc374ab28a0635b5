"""Row builders: each row says only what its test is about."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from contracts.route_table import ROUTES_TABLE_DDL
from contracts.topics import shape_of

RECORDS_DDL = (
    "key binary, value binary, headers array<struct<key:string,value:binary>>, partition int, offset bigint"
)


def publishes(spark: SparkSession, *rows: dict[str, Any]) -> DataFrame:
    """Records as Spark's Kafka source gives them."""
    default = {"key": b"t", "value": b"v", "headers": None, "partition": 0}
    return spark.createDataFrame(
        [{**default, "offset": offset, **row} for offset, row in enumerate(rows)], RECORDS_DDL
    )


def routes(spark: SparkSession, *rows: tuple[str, str | None] | dict[str, Any]) -> DataFrame:
    """A route table of (filter, node) pairs, or of whole rows."""
    table = []
    for row in rows:
        if isinstance(row, tuple):
            row = {"route_key": row[0], "node": row[1], "kind": "node"}
        shape = shape_of(row["route_key"])
        default = {"shape": shape and shape.text, "node": None, "table_partition": 0, "table_version": 1}
        table.append({**default, **row})
    return spark.createDataFrame(table, ROUTES_TABLE_DDL)
