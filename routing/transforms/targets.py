"""Targets: which nodes get a message, from the route table and from the message's own in-band routes."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

from contracts.probe_record import PROBE_KIND
from routing.columns.headers import probing_node

_TABLE_COLUMNS = ("kind", "table_partition", "table_version")


def join_routes(candidates: DataFrame, routes: DataFrame) -> DataFrame:
    """Add route_key, node, headers → node, kind, table_partition, table_version; drop what has no target.

    One row in; out come one for each route with that key, or the row itself where it carries its node, or none. The
    answer to a probe goes to the node that asked. `route_key` goes.

    Args:
        candidates: As `explode_candidates` gives them.
        routes: The route table (contracts.route_table); read at the start of each batch, so it must fit each executor.
    """
    table = routes.select("route_key", F.col("node").alias("table_node"), *_TABLE_COLUMNS)
    kept = [name for name in candidates.columns if name not in ("route_key", "node")]
    answers = F.when(F.col("kind") == PROBE_KIND, probing_node(F.col("headers")))
    node = F.coalesce(F.col("node"), F.col("table_node"), answers)
    return (
        candidates.join(F.broadcast(table), on="route_key", how="left_outer")
        .select(*kept, node.alias("node"), *_TABLE_COLUMNS)
        .where(F.col("node").isNotNull())
    )
