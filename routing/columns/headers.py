"""What the router reads from and writes to the headers of a record.

Headers are an array of struct<key: string, value: binary>, as Spark's Kafka source and sink have them. The positions
of what is read are fixed by the contracts (`routes` is the last header, a probe's `node` the first), so no header list
is searched with a lambda: that would be interpreted, and would take the whole plan out of compiled code. Only `qos` may
stand anywhere; it is searched by its name alone, and only where a route needs it.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

from contracts import headers as h
from contracts.publish_record import ROUTES_DDL
from contracts.routed_record import ROUTED_HEADERS

HEADERS_DDL = "array<struct<key:string,value:binary>>"
"""The type of a headers column."""


def known_headers(headers: Column) -> Column:
    """Headers, empty where there are none."""
    return F.coalesce(headers, F.array().cast(HEADERS_DDL))


def has_routes(headers: Column) -> Column:
    """Whether the last header is `routes`; false for empty headers."""
    return F.coalesce(F.try_element_at(headers, F.lit(-1))["key"] == h.ROUTES, F.lit(False))


def in_band_routes(headers: Column) -> Column:
    """The hits in the `routes` header, an array of `ROUTES_DDL`; null where there is none or it is malformed."""
    text = F.try_element_at(headers, F.lit(-1))["value"].cast("string")
    return F.when(has_routes(headers) & F.is_valid_utf8(text), F.from_json(text, ROUTES_DDL))


def publisher_headers(headers: Column) -> Column:
    """Headers without `routes`."""
    without = F.slice(headers, F.lit(1), F.size(headers) - 1)
    return F.when(has_routes(headers), without).otherwise(headers)


def probing_node(headers: Column) -> Column:
    """The node that asks: a probe's first header (contracts.probe_record.encode_headers); null if it is another."""
    first = F.try_element_at(headers, F.lit(1))
    return F.when(first["key"] == h.NODE, first["value"].cast("string"))


def is_acknowledged(headers: Column) -> Column:
    """Whether a message was published at QoS 1 or 2, as contracts.publish_record.decode reads it; never null."""
    position = F.array_position(headers["key"], h.QOS).cast(
        "int"
    )  # Of the first one, from 1; 0 where there is none.
    qos = F.get(headers["value"], position - 1).cast("string")
    return F.coalesce(qos.rlike("^0{0,19}[12]\\z"), F.lit(False))


def header(name: str, value: Column) -> Column:
    """One header, its value a string column."""
    return F.struct(F.lit(name).alias("key"), value.cast("binary").alias("value"))


def routed_headers(topic: Column, partition: Column, offset: Column, filter: Column) -> Column:
    """The headers that end a routed record (contracts.routed_record)."""
    id = F.concat_ws(":", partition.cast("string"), offset.cast("string"))
    values = dict(zip(ROUTED_HEADERS, (topic, id, filter), strict=True))
    return F.array(*(header(name, value) for name, value in values.items()))


def answer_headers(generation: int, table_partition: Column, table_version: Column) -> Column:
    """The headers that a probe's answer has before those of a routed record (contracts.probe_record)."""
    return F.array(
        header(h.GENERATION, F.lit(str(generation))),
        header(h.TABLE_PARTITION, table_partition.cast("string")),
        header(h.TABLE_VERSION, table_version.cast("string")),
    )


def header_bytes(headers: Column) -> Column:
    """The space that headers take in a record at most, in bytes: interpreted, so only for the rare exact check."""
    return F.aggregate(
        headers,
        F.lit(0).cast("bigint"),
        # Two lengths of up to five bytes each stand before a header's parts.
        lambda total, one: (
            total + F.octet_length(one["key"]) + F.coalesce(F.octet_length(one["value"]), F.lit(0)) + 10
        ),
    )
