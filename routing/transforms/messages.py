"""Messages: what is read from `tbmq.msg.all`, for people and their queries; the router's plan has `read_publishes`."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

from contracts import headers as h
from contracts.message_table import HIGHEST_AT_MS
from contracts.probe_record import PROBE_KEY
from contracts.will_record import WILL
from routing.columns.header_values import (
    header_number,
    header_or,
    header_text,
    header_value,
    user_properties,
)
from routing.columns.headers import in_band_routes, known_headers

_UINT32 = 0xFFFF_FFFF


def read_messages(records: DataFrame) -> DataFrame:
    """Show records as messages: key, value, headers, partition, offset, timestamp → contracts.message_table.

    One row in, at most one row out. Dropped: what is no message, for its key is null, empty, malformed, or a probe's.
    Headers that hold what they can't become null. Batch and stream alike; any other columns go.

    Args:
        records: As Spark's Kafka source gives them with `includeHeaders`, or the archive.
    """
    topic = F.col("key").cast("string")
    is_message = (
        F.col("key").isNotNull() & (F.octet_length("key") > 0) & F.is_valid_utf8(topic) & ~_is_probe(topic)
    )
    headers = F.col("headers")
    return (
        records.select(
            "key",
            "value",
            known_headers(headers).alias("headers"),
            F.col("partition").cast("int").alias("partition"),
            F.col("offset").cast("bigint").alias("offset"),
            "timestamp",
        )
        .where(is_message)
        .select(
            topic.alias("topic"),
            F.coalesce("value", F.lit(b"")).alias("payload"),
            header_or(headers, h.QOS, header_number(headers, h.QOS, 2), 0).cast("int").alias("qos"),
            F.coalesce(header_value(headers, h.RETAIN) == F.lit(b"1"), F.lit(False)).alias("retain"),
            header_or(headers, h.CLIENT_ID, header_text(headers, h.CLIENT_ID), "").alias("client_id"),
            header_or(headers, h.NODE, header_text(headers, h.NODE), "").alias("node"),
            header_or(headers, h.PROTOCOL, header_number(headers, h.PROTOCOL, 5), 5)
            .cast("int")
            .alias("protocol"),
            user_properties(headers).alias("user_properties"),
            header_text(headers, h.CONTENT_TYPE).alias("content_type"),
            header_text(headers, h.RESPONSE_TOPIC).alias("response_topic"),
            header_value(headers, h.CORRELATION_DATA).alias("correlation_data"),
            header_number(headers, h.PAYLOAD_FORMAT, 1).cast("int").alias("payload_format"),
            header_number(headers, h.MESSAGE_EXPIRY, _UINT32).alias("message_expiry"),
            F.timestamp_millis(header_number(headers, h.PUBLISHED_AT, HIGHEST_AT_MS)).alias("published_at"),
            header_text(headers, WILL).alias("will"),
            in_band_routes(headers).alias("routes"),
            "partition",
            "offset",
            "timestamp",
        )
    )


def without_probes(records: DataFrame) -> DataFrame:
    """Leave out the probes of gateways and router; columns and all other rows stay."""
    return records.where(~F.coalesce(_is_probe(F.col("key").cast("string")), F.lit(False)))


def _is_probe(topic: Column) -> Column:
    """Whether a key begins as no topic can, and probes' do."""
    return F.startswith(topic, F.lit(PROBE_KEY[0]))
