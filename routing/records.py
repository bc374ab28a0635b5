"""Kafka as Spark reads and writes it: the source's and the sink's options, each with its reason."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from contracts.kafka_topics import MAX_ROUTED_RECORD_BYTES, KafkaTopics

OFFSETS_PER_BATCH = 500_000
"""A micro-batch's bound, so that a backlog drains in steps (a real-time batch is bounded by its time)."""


def source_options(bootstrap: str, topics: KafkaTopics) -> dict[str, str]:
    """What both ways of reading `tbmq.msg.all` share."""
    return {
        "kafka.bootstrap.servers": bootstrap,
        "subscribe": topics.publishes,
        "includeHeaders": "true",
        # The first start routes what was published before it; a restart goes on from its checkpoint.
        "startingOffsets": "earliest",
        # Records of aborted transactions were never published.
        "kafka.isolation.level": "read_committed",
        # What retention has removed is gone; a router that stands still would lose the rest as well.
        "failOnDataLoss": "false",
    }


def stream_publishes(
    spark: SparkSession,
    bootstrap: str,
    topics: KafkaTopics,
    bounded: bool,
    offsets: Mapping[int, int] | None = None,
) -> DataFrame:
    """`tbmq.msg.all` as a stream.

    Args:
        spark: The session.
        bootstrap: Kafka's address.
        topics: The names of the Kafka topics.
        bounded: Whether to limit each batch, which real-time mode does not allow.
        offsets: Where to begin, for all partitions, if there is no checkpoint yet; None: at the beginning.
    """
    options = source_options(bootstrap, topics)
    if offsets is not None:
        options["startingOffsets"] = json.dumps({topics.publishes: offsets})
    if bounded:
        options["maxOffsetsPerTrigger"] = str(OFFSETS_PER_BATCH)
    return spark.readStream.format("kafka").options(**options).load()


def sink_options(bootstrap: str) -> dict[str, str]:
    """How routed records are written."""
    return {
        "kafka.bootstrap.servers": bootstrap,
        "kafka.acks": "all",
        # One request at a time keeps the order, and what is sent twice, consumers drop. An idempotent producer numbers
        # its batches, and when a broker that was fenced meanwhile expects other numbers, it sends one for ever.
        "kafka.enable.idempotence": "false",
        "kafka.max.in.flight.requests.per.connection": "1",
        # A record leaves at once; under load batches form by themselves while others are under way.
        "kafka.linger.ms": "0",
        "kafka.batch.size": str(128 << 10),
        # Larger than any record that the plan lets through (I11).
        "kafka.max.request.size": str(MAX_ROUTED_RECORD_BYTES),
        # How long one record for a missing Kafka topic may hold up a whole partition (I11).
        "kafka.max.block.ms": "10000",
        "kafka.request.timeout.ms": "10000",
        # Never given up, and so never overtaken: the producer would go on with the next record, consumers take what is
        # below the highest they have seen for a repeat, and what was given up would be lost when it is written again.
        "kafka.delivery.timeout.ms": str(2**31 - 1),
    }


def write_records(records: DataFrame, bootstrap: str, checkpoint: str) -> DataStreamWriter:
    """A writer of routed records; the trigger is still to be chosen."""
    return (
        records.writeStream.format("kafka")
        .options(**sink_options(bootstrap))
        .option("checkpointLocation", checkpoint)
        # Real-time mode knows no other; without aggregates it means the same as append.
        .outputMode("update")
    )
