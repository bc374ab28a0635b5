"""Routed records: what Spark's Kafka sink writes."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

from contracts.application_shares import MAX_TARGET, TARGET_PATTERN
from contracts.kafka_topics import NODE_ID_PATTERN, KafkaTopics
from contracts.probe_record import PROBE_KIND
from contracts.route_table import APP, APPSHARE, DEVICE, KAFKA, SHARE
from contracts.routed_record import RULE_STRIDE
from contracts.topics import MAX_TOPIC_BYTES, SHARE_PREFIX
from routing.columns.headers import HEADERS_DDL, answer_headers, routed_headers


def address_records(
    targets: DataFrame,
    topics: KafkaTopics,
    generation: int,
    quarantine: Collection[str] = (),
    has_rules: bool = False,
    kafka_topics: Collection[str] = (),
) -> DataFrame:
    """Make records of targets: one row in, at most one row out → topic, key, value, headers.

    What goes to a node is written to its downlink, and what goes to an APPLICATION to its own Kafka topic, or to the
    entity that such clients share, keyed by source partition; what goes to a persistent DEVICE to the persisted log,
    keyed by client id: the default partitioner keeps each client's messages in one partition, in order. What goes to a
    share group is written to the log of shares, keyed by group and filter, which is its `filter` too. Dropped: a node,
    or an application's suffix, that is no valid node id, or an entity's target that is none, which would make no Kafka
    topic, a client id or group that cannot be, and what goes to a Kafka topic in quarantine.

    Args:
        targets: topic, value, headers, partition, offset, filter, node, kind, table_partition, table_version.
        topics: The names of the Kafka topics.
        generation: The router's generation, which answers to probes tell.
        quarantine: Kafka topics that are known to be missing; writing there would stop the query (I11).
        has_rules: Whether some messages were made by rules, under source partitions of their own.
        kafka_topics: Those of the user's that rules write to, keyed by the message's topic.
    """
    answer = F.when(
        F.col("kind") == PROBE_KIND,
        answer_headers(generation, F.col("table_partition"), F.col("table_version")),
    )
    is_share = F.col("kind") == SHARE
    is_kafka = F.col("kind") == KAFKA
    name = F.col("topic")
    if kafka_topics:
        name = F.when(is_kafka, F.ltrim(name, F.lit("\0"))).otherwise(name)
    # What a rule made takes the way of what it was made of: one task writes both, in order.
    source = F.col("partition") % RULE_STRIDE if has_rules else F.col("partition")
    shared = F.concat(F.lit(SHARE_PREFIX), F.col("node"), F.lit("/"), F.col("filter"))
    filter = F.when(is_share, shared).otherwise(F.col("filter"))
    headers = F.concat(
        F.col("headers"),
        F.coalesce(answer, F.array().cast(HEADERS_DDL)),
        routed_headers(name, F.col("partition"), F.col("offset"), filter),
    )
    is_device = F.col("kind") == DEVICE
    # A longer key could make the record larger than what Kafka takes.
    is_client = F.octet_length("node").between(1, MAX_TOPIC_BYTES)
    is_group = is_client & (F.octet_length(shared) <= MAX_TOPIC_BYTES)
    is_node = F.col("node").rlike(f"^(?:{NODE_ID_PATTERN})\\z")
    is_entity = F.col("kind") == APPSHARE
    is_target = (F.length("node") <= MAX_TARGET) & F.col("node").rlike(f"^(?:{TARGET_PATTERN})\\z")
    is_possible = (
        F.when(is_device, is_client).when(is_share, is_group).when(is_entity, is_target).otherwise(is_node)
    )
    way, key = F.when(is_device, topics.persisted), F.when(is_device, F.col("node"))
    if kafka_topics:
        is_possible = is_kafka | is_possible
        way, key = way.when(is_kafka, F.col("node")), key.when(is_kafka, name)
    records = targets.where(is_possible).select(
        way.when(F.col("kind") == APP, F.concat(F.lit(topics.application_prefix), F.col("node")))
        .when(is_entity, F.concat(F.lit(topics.application_share_prefix), F.col("node")))
        .when(is_share, topics.shares)
        .otherwise(F.concat(F.lit(topics.downlink_prefix), F.col("node")))
        .alias("topic"),
        # As text and as the key: so one source partition stays in one destination partition, in order (I4).
        key.when(is_share, shared).otherwise(source.cast("string")).alias("key"),
        "value",
        headers.alias("headers"),
    )
    return records.where(~F.col("topic").isin(*sorted(quarantine))) if quarantine else records
