"""Targets: which nodes and clients get a message, from the route table and from the message's own in-band routes."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

from contracts.probe_record import PROBE_KIND
from contracts.route_table import APPSHARE, KAFKA, NODE, NODE0, PERSISTED, SHARE
from routing.columns.headers import is_acknowledged, probing_node

_TABLE_COLUMNS = ("kind", "table_partition", "table_version")


def join_routes(candidates: DataFrame, routes: DataFrame, kafka_topics: Collection[str] = ()) -> DataFrame:
    """Add route_key, hit_kind, node, headers → node, kind, table_partition, table_version; drop what has no target.

    One row in; out come one for each route with that key that takes the message at its QoS, or the row itself where it
    carries its node and takes it, or none. The answer to a probe goes to the node that asked. `route_key` and
    `hit_kind` go.

    Args:
        candidates: As `explode_candidates` gives them.
        routes: The route table (contracts.route_table); read at the start of each batch, so it must fit each executor.
        kafka_topics: Those of the user's that rules write to.
    """
    table = routes.select(
        "route_key", F.col("node").alias("table_node"), F.col("kind").alias("table_kind"), *_TABLE_COLUMNS[1:]
    )
    kept = [name for name in candidates.columns if name not in ("route_key", "hit_kind", "node")]
    is_hit = F.col("node").isNotNull()
    # Only the table answers probes.
    hit_kind = F.nullif(F.col("hit_kind"), F.lit(PROBE_KIND))
    kind = F.when(is_hit, hit_kind).otherwise(F.col("table_kind"))
    answers = F.when(F.col("table_kind") == PROBE_KIND, probing_node(F.col("headers")))
    node = F.coalesce(F.col("node"), F.col("table_node"), answers)
    is_taken = takes(F.col("kind"), is_acknowledged(F.col("headers")))
    if kafka_topics:
        # Whoever writes to `tbmq.msg.all` may put any hit there; only what a rule names is written to.
        is_taken = is_taken | ((F.col("kind") == KAFKA) & F.col("node").isin(*sorted(kafka_topics)))
    return (
        candidates.join(F.broadcast(table), on="route_key", how="left_outer")
        .select(*kept, node.alias("node"), kind.alias("kind"), *_TABLE_COLUMNS[1:])
        .where(F.col("node").isNotNull() & is_taken)
    )


def takes(kind: Column, acknowledged: Column) -> Column:
    """Whether a message takes a route of this kind, as contracts.route_table.takes has it; a probe's row takes all.

    Args:
        kind: The route's.
        acknowledged: Whether the message was published at QoS 1 or 2. It is looked at only where the kind makes it
            matter: in a plan whose routes are all of the kind `node`, never.
    """
    is_persisted = kind.isin(*PERSISTED)
    by_qos = F.when(is_persisted, acknowledged).when(kind == NODE0, ~acknowledged)
    return kind.isin(NODE, PROBE_KIND, SHARE, APPSHARE) | F.coalesce(by_qos, F.lit(False))
