"""Messages as hooks see them: typed columns, and back into what `route` takes.

A hook may give other values to `topic`, `payload` and `user_properties`; all other columns are there to be read. What
it leaves out stays as it was. `_record` is the record itself: it goes through every hook untouched.
"""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

from contracts import headers as h
from contracts.publish_record import ROUTES_DDL
from contracts.topics import MAX_TOPIC_BYTES
from routing.columns.candidates import is_unlisted
from routing.columns.header_values import header_number, header_text, header_value, user_properties
from routing.columns.headers import HEADERS_DDL
from routing.transforms.publishes import has_room

WRITABLE = {
    "topic": "string",
    "payload": "binary",
    "user_properties": "array<struct<name:string,value:string>>",
}
"""What a hook may change, and its type."""
SOURCE = "_record"
"""The record itself."""
_UINT32 = 0xFFFF_FFFF
_KEPT = ("topic", "value", "headers", "partition", "offset", "hits", "timestamp")


def as_messages(publishes: DataFrame) -> DataFrame:
    """Publishes with the columns topic, value, headers, partition, offset, hits, timestamp → messages.

    One row in, one row out. Null stands for a header that is missing or has no such value; `qos` is 0 and `retain`
    false then, and `user_properties` is empty. What no hook asks for is never computed.
    """
    headers = F.col("headers")
    source = F.struct(*_KEPT, is_unlisted(F.col("topic")).alias("passes_by"))
    return publishes.select(
        "topic",
        F.col("value").alias("payload"),
        F.coalesce(header_number(headers, h.QOS, 2), F.lit(0)).cast("int").alias("qos"),
        F.coalesce(header_value(headers, h.RETAIN) == F.lit(b"1"), F.lit(False)).alias("retain"),
        header_text(headers, h.CLIENT_ID).alias("client_id"),
        header_text(headers, h.NODE).alias("node"),
        header_number(headers, h.PROTOCOL, 5).cast("int").alias("protocol"),
        header_number(headers, h.MESSAGE_EXPIRY, _UINT32).alias("message_expiry"),
        header_number(headers, h.PAYLOAD_FORMAT, 1).cast("int").alias("payload_format"),
        header_text(headers, h.CONTENT_TYPE).alias("content_type"),
        header_text(headers, h.RESPONSE_TOPIC).alias("response_topic"),
        header_value(headers, h.CORRELATION_DATA).alias("correlation_data"),
        user_properties(headers).alias("user_properties"),
        F.col("timestamp").alias("received_at"),
        "partition",
        "offset",
        source.alias(SOURCE),
    )


def as_publishes(messages: DataFrame, changed: Collection[str], exact_guard: bool) -> DataFrame:
    """Messages → publishes, with the columns that `as_messages` takes.

    One row in, at most one row out. Dropped: a message whose new topic is none, or is one that hooks may not make (it
    is empty, too long, has a wildcard or U+0000, begins with `$`, is null), and one that is too large now. What passes
    by has all that it had.

    Args:
        messages: With `_record`, and those columns of `WRITABLE` that changed.
        changed: The names of these.
        exact_guard: As `read_publishes` has it.
    """
    source = F.col(SOURCE)
    passes_by = source["passes_by"]
    columns = {name: source[name] for name in _KEPT}
    kept = F.lit(True)
    if "topic" in changed:
        columns["topic"] = F.when(passes_by, source["topic"]).otherwise(F.col("topic"))
        columns["hits"] = F.when(
            passes_by | F.equal_null(F.col("topic"), source["topic"]), source["hits"]
        ).otherwise(matching_hits(source["hits"], F.col("topic")))
        kept = passes_by | F.coalesce(is_topic(F.col("topic")), F.lit(False))
    if "payload" in changed:
        payload = F.coalesce(F.col("payload").cast("binary"), F.lit(b""))
        columns["value"] = F.when(passes_by, source["value"]).otherwise(payload)
    if "user_properties" in changed:
        others = with_properties(source["headers"], F.col("user_properties"))
        columns["headers"] = F.when(passes_by, source["headers"]).otherwise(others)
    found = messages.where(kept).select(*(column.alias(name) for name, column in columns.items()))
    return found.where(has_room(exact_guard)) if changed else found


def is_topic(topic: Column) -> Column:
    """Whether a hook may give a message this topic: a topic name (contracts.topics) that does not begin with `$`."""
    return (
        F.octet_length(topic).between(1, MAX_TOPIC_BYTES)
        & F.is_valid_utf8(topic)
        & ~topic.rlike("[+#\\x00]")
        & ~is_unlisted(topic)
    )


def with_properties(headers: Column, properties: Column) -> Column:
    """Headers with these user properties and no others; those without a name or a value are left out."""
    return F.concat(
        F.filter(headers, lambda one: ~F.startswith(one["key"], F.lit(h.USER_PROPERTY))),
        F.transform(
            F.filter(
                F.coalesce(properties, F.array().cast(WRITABLE["user_properties"])),
                lambda one: one["name"].isNotNull() & one["value"].isNotNull(),
            ),
            lambda one: F.struct(
                F.concat(F.lit(h.USER_PROPERTY), one["name"]).alias("key"),
                one["value"].cast("binary").alias("value"),
            ),
        ),
    ).cast(HEADERS_DDL)


def matching_hits(hits: Column, topic: Column) -> Column:
    """Those in-band routes whose filter also matches another topic; the gateway found them for the one before.

    Args:
        hits: An array of `ROUTES_DDL`, or null.
        topic: A topic that does not begin with `$`.
    """
    levels = F.split(topic, "/")

    def matches(hit: Column) -> Column:
        parts = F.split(hit["filter"], "/")
        tail = F.element_at(parts, -1) == "#"
        depth = F.size(parts) - F.when(tail, 1).otherwise(0)
        enough = F.when(tail, F.size(levels) >= depth).otherwise(F.size(levels) == depth)
        pairs = F.arrays_zip(
            F.slice(parts, F.lit(1), depth).alias("part"), F.slice(levels, F.lit(1), depth).alias("level")
        )
        return enough & F.forall(pairs, lambda pair: (pair["part"] == "+") | (pair["part"] == pair["level"]))

    return F.filter(hits, lambda hit: F.coalesce(matches(hit), F.lit(False))).cast(ROUTES_DDL)
