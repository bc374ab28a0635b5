"""Publishes: what is read from `tbmq.msg.all`, as the plan wants it."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

from contracts.kafka_topics import MAX_ROUTED_RECORD_BYTES
from contracts.topics import MAX_TOPIC_BYTES
from routing.columns.headers import header_bytes, in_band_routes, known_headers, publisher_headers

_OVERHEAD_BYTES = 4096
"""For Kafka's own framing of a batch and a record, the id and a probe's answer; a few hundred bytes in truth."""


def read_publishes(records: DataFrame, exact_guard: bool = False, kept: Sequence[str] = ()) -> DataFrame:
    """Take records apart: key, value, headers, partition, offset → topic, value, headers, partition, offset, hits.

    One row in, at most one row out. Dropped: a null, empty or malformed key, which is no topic; a record that could not
    be written again with a filter, an id and a client id more (I11). A null value becomes an empty one, null headers
    become none.

    Args:
        records: As Spark's Kafka source gives them with `includeHeaders`.
        exact_guard: Also count what headers take. It costs time on every message, and what comes in through
            `tbmq.msg.all` with the settings of the contracts is never too large; only compression by a foreign
            producer can make it so.
        kept: Columns of the source that stay as well.
    """
    topic = F.col("key").cast("string")
    value = F.coalesce(F.col("value"), F.lit(b""))
    is_topic = F.col("key").isNotNull() & (F.octet_length("key") > 0) & F.is_valid_utf8(topic)
    return (
        records.select(
            "key",
            value.alias("value"),
            known_headers(F.col("headers")).alias("headers"),
            "partition",
            "offset",
            *kept,
        )
        .where(is_topic & (F.octet_length("key") <= MAX_TOPIC_BYTES) & has_room(exact_guard))
        .select(
            topic.alias("topic"),
            "value",
            publisher_headers(F.col("headers")).alias("headers"),
            "partition",
            "offset",
            in_band_routes(F.col("headers")).alias("hits"),
            *kept,
        )
    )


def has_room(exact_guard: bool) -> Column:
    """Whether a row (value, headers) still fits Kafka with all that routing adds to it (I11)."""
    # The topic's header, the filter's header, and a client id as the key, each as long as a topic may be.
    room = MAX_ROUTED_RECORD_BYTES - 3 * MAX_TOPIC_BYTES - _OVERHEAD_BYTES
    taken = F.octet_length("value").cast("bigint")
    if exact_guard:
        taken = taken + header_bytes(F.col("headers"))
    return taken <= room
