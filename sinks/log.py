"""A log as its sink reads it: where it ends, and the stream from given positions."""

from __future__ import annotations

import json
from collections.abc import Mapping

from confluent_kafka import Consumer, KafkaException, TopicPartition
from pyspark.sql import DataFrame, SparkSession

from sinks.errors import LogUnavailableError, StoreAheadError
from telemetry.librdkafka import QUIET

OFFSETS_PER_BATCH = 200_000
"""A batch's bound, so that a backlog drains in steps. Large, since what is acknowledged within a batch costs nothing;
no memory depends on it."""
SECONDS_TO_ANSWER = 10.0
"""How long Kafka may take for a metadata request."""
EMPTY_IT = "empty it, and it is built anew from the log"
"""What to do with a store that is a function of the log."""
_EARLIEST = -2  # Spark's number for it


def log_ends(bootstrap: str, topic: str) -> dict[int, int]:
    """Each partition's end offset.

    Raises:
        LogUnavailableError: Kafka does not answer, or there is no such topic.
    """
    consumer = Consumer(QUIET | {"bootstrap.servers": bootstrap, "group.id": "sluicemq-sink"})
    try:
        found = consumer.list_topics(topic, SECONDS_TO_ANSWER).topics[topic]
        if found.error is not None or not found.partitions:
            raise LogUnavailableError(f"Kafka topic {topic} is missing: create it with `sluicemq topics`")
        return {
            partition: consumer.get_watermark_offsets(TopicPartition(topic, partition), SECONDS_TO_ANSWER)[1]
            for partition in found.partitions
        }
    except KafkaException as error:
        raise LogUnavailableError(f"Kafka at {bootstrap} does not answer: {error.args[0]}") from None
    finally:
        consumer.close()


def check_ends(
    positions: Mapping[int, int | None], ends: Mapping[int, int], topic: str, remedy: str = EMPTY_IT
) -> None:
    """Check that Kafka has all that the store has; `remedy` ends the sentence that says what to do if not.

    Raises:
        StoreAheadError: It has not. Its next records would look as if the store had them already.
    """
    for partition, next_offset in positions.items():
        end = ends.get(partition, 0)
        if next_offset is not None and next_offset > end:
            raise StoreAheadError(
                f"the store has partition {partition} of {topic} up to {next_offset}, but it ends at {end}: this store"
                f" belongs to another Kafka, or Kafka has lost records; {remedy}"
            )


def stream_log(
    spark: SparkSession,
    bootstrap: str,
    topic: str,
    positions: Mapping[int, int | None],
    offsets_per_batch: int = OFFSETS_PER_BATCH,
) -> DataFrame:
    """A log as a stream, with all that Kafka tells of a record; in offset order within a partition.

    Args:
        spark: The session.
        bootstrap: Kafka's address.
        topic: The log.
        positions: Where to begin in each of its partitions; None: at its beginning.
        offsets_per_batch: A batch's bound.
    """
    begins = {
        partition: _EARLIEST if next_offset is None else next_offset
        for partition, next_offset in positions.items()
    }
    options = {
        "kafka.bootstrap.servers": bootstrap,
        "subscribe": topic,
        "includeHeaders": "true",
        # The store's positions are the authority; the query's own checkpoint is thrown away.
        "startingOffsets": json.dumps({topic: begins}),
        # Some of those who write do it in transactions; what was aborted never happened.
        "kafka.isolation.level": "read_committed",
        # What retention has removed is past its time to live; a sink that stands still would lose the rest as well.
        "failOnDataLoss": "false",
        "maxOffsetsPerTrigger": str(offsets_per_batch),
    }
    return spark.readStream.format("kafka").options(**options).load()
