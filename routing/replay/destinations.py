"""The Kafka topics that a replay writes to: found beforehand, and created where they are missing."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import DataFrame

from contracts.kafka_topics import MAX_ROUTED_RECORD_BYTES, KafkaTopics
from routing.errors import ReplayError
from routing.routes.kafka import RouteLog
from telemetry.librdkafka import QUIET

_SECONDS_TO_CREATE = 60.0
_KEPT_MS = 7 * 86_400_000
"""What was replayed is looked at by people, who take longer than gateways."""
_BROKER_DEFAULT = -1


def destinations(records: DataFrame) -> set[str]:
    """The Kafka topics that routed records lead to; reads all of them, but not what is in them."""
    return {row.topic for row in records.select("topic").distinct().collect()}


def create_missing(bootstrap: str, wanted: Iterable[str], source: KafkaTopics, into: KafkaTopics) -> None:
    """Create those that are missing: a log with as many partitions as the one it stands for, others with one.

    Raises:
        ReplayError: Kafka refuses one.
    """
    existing = RouteLog(bootstrap, source.subscriptions).existing_topics()
    new = []
    for name in sorted(set(wanted) - existing):
        original = source.prefix + name.removeprefix(into.prefix)
        partitions = RouteLog(bootstrap, original).partitions() if original in existing else 1
        config = {"max.message.bytes": str(MAX_ROUTED_RECORD_BYTES), "retention.ms": str(_KEPT_MS)}
        new.append(NewTopic(name, partitions, _BROKER_DEFAULT, config=config))
    if not new:
        return
    admin = AdminClient(QUIET | {"bootstrap.servers": bootstrap})
    for name, created in admin.create_topics(new, operation_timeout=_SECONDS_TO_CREATE).items():
        try:
            created.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise ReplayError(f"Kafka does not create {name}: {error.args[0]}") from None
