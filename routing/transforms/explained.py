"""Who would get a message, and why: the router's own join, as a table for people."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

from contracts import headers as h
from contracts.route_table import NODE, NODE0
from contracts.topics import Shape
from routing.columns.header_values import header_number, header_text
from routing.transforms.candidates import explode_candidates
from routing.transforms.publishes import read_publishes
from routing.transforms.targets import join_routes, takes

TABLE, ASSUMED, IN_BAND = "table", "assumed", "in-band"
"""Where a route comes from: the subscription table; what-if changes to it; the message's own header."""


def explain_targets(records: DataFrame, routes: DataFrame, shapes: Sequence[Shape]) -> DataFrame:
    """Tell the targets of messages: one row for each (message, filter, kind, target).

    → partition, offset, topic, publisher, published_qos, filter, kind, target, origin, table_partition, table_version.

    A route that is both in the table and in-band is one row, of the table. `node0` stands as `node`: which of the two
    it is says nothing about this message. Messages that nobody would get have no row.

    Args:
        records: As Spark's Kafka source gives them with `includeHeaders`, or the archive; probes among them get rows.
        routes: The route table (contracts.route_table).
        shapes: The shapes to look for.
    """
    found = join_routes(explode_candidates(read_publishes(records), shapes), routes)
    headers = F.col("headers")
    message = ["partition", "offset", "topic", "publisher", "published_qos"]
    named = found.select(
        "partition",
        "offset",
        "topic",
        header_text(headers, h.CLIENT_ID).alias("publisher"),
        F.coalesce(header_number(headers, h.QOS, 2).cast("int"), F.lit(0)).alias("published_qos"),
        "filter",
        _lane("kind").alias("kind"),
        F.col("node").alias("target"),
        "table_partition",
        "table_version",
    )
    # Nulls do not count: what is in the table says so, whatever is also in-band.
    once = named.groupBy(*message, "filter", "kind", "target").agg(
        F.max("table_partition").alias("table_partition"), F.max("table_version").alias("table_version")
    )
    origin = F.when(F.col("table_partition").isNull(), IN_BAND).when(F.col("table_version").isNull(), ASSUMED)
    return once.select(
        *message,
        "filter",
        "kind",
        "target",
        origin.otherwise(TABLE).alias("origin"),
        "table_partition",
        "table_version",
    )


def explain_clients(targets: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """Tell the clients behind targets: one row for each (message, filter, target, client), or one without a client.

    → the columns of `explain_targets`, then client_id, share_group, qos, no_local.

    * `client_id` is null where no subscription that the table has explains the target: it came in-band and is newer.
    * `qos`: at which it would be delivered, the lesser of what was published and what was granted.
    * Of a share group all members have rows, and one of them would get the message. A client that holds several filters
      that match has a row for each, and would get one message.
    * A client that asked not to get what it published itself has no row for that.

    Args:
        targets: What `explain_targets` gives.
        subscriptions: contracts.message_table.SUBSCRIPTIONS_TABLE_DDL, as of the same moment as the routes.
    """
    holders = subscriptions.select(
        F.col("filter").alias("held_filter"),
        F.explode("routes").alias("route"),
        "client_id",
        "share_group",
        F.col("qos").alias("granted"),
        "no_local",
    )
    kind = F.col("route")["kind"]
    is_own = F.col("no_local") & (F.col("client_id") == F.col("publisher"))
    is_holder = (
        (F.col("held_filter") == F.col("filter"))
        & (_lane(kind) == F.col("kind"))
        & (F.col("route")["node"] == F.col("target"))
        & takes(kind, F.col("published_qos") > 0)
        & ~F.coalesce(is_own, F.lit(False))
    )
    return targets.join(holders, on=is_holder, how="left_outer").select(
        *targets.columns,
        "client_id",
        "share_group",
        F.when(F.col("granted").isNotNull(), F.least("published_qos", "granted")).alias("qos"),
        "no_local",
    )


def _lane(kind: Column | str) -> Column:
    """Kinds, of which `node0` is the same way as `node`."""
    column = F.col(kind) if isinstance(kind, str) else kind
    return F.when(column == NODE0, NODE).otherwise(column)
