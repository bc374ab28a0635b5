"""How this gateway's Kafka clients are set up; one place, so that all of them agree."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import wait
from typing import cast

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from contracts.kafka_topics import (
    DEFAULT_PREFIX,
    MAX_PUBLISH_RECORD_BYTES,
    MAX_ROUTED_RECORD_BYTES,
    MAX_SESSION_RECORD_BYTES,
    KafkaTopic,
)
from edge.gateway.errors import KafkaNotReadyError
from telemetry.librdkafka import QUIET, TOLD

Config = dict[str, str | int | float | bool]

START_TIMEOUT = 30.0  # seconds that Kafka may take to answer a starting gateway
_TELL = 0.5  # seconds after which it is told that Kafka does not answer yet
_TOPIC_APPEARS = 3.0  # seconds until a broker knows a topic that another, or it itself, has just made
_PATIENT: Config = QUIET | {
    "log.connection.close": False,
    "reconnect.backoff.max.ms": 1_000,
    # A broker that is starting may say that a topic is unknown; by default a client would believe it for five minutes.
    "topic.metadata.refresh.interval.ms": 2_000,
}


def producer_config(kafka: str) -> Config:
    """Durable, in order, without end: an append either gets its acknowledgement or goes on waiting (I1, I3)."""
    return (
        _PATIENT
        | {
            "bootstrap.servers": kafka,
            "acks": "all",
            "enable.idempotence": True,
            "message.timeout.ms": 0,  # never given up: the publisher still waits, and holds the message
            "message.max.bytes": MAX_PUBLISH_RECORD_BYTES,
            "partitioner": "murmur2_random",  # as Java's, so all writers put a topic in one partition
            "queue.buffering.max.messages": 100_000,
            "queue.buffering.max.kbytes": 65_536,
            "linger.ms": 0,  # publishes are appended many at a time, after their shared barrier, so batches form anyhow
        }
    )


def consumer_config(kafka: str) -> Config:
    """By hand: no group, no committed offsets; what a gateway reads it can always read again."""
    return _PATIENT | {
        "bootstrap.servers": kafka,
        "group.id": "sluicemq-gateway",  # librdkafka wants a name; nothing is ever committed under it
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",  # what retention took is gone, but nothing behind it is skipped
        "isolation.level": "read_committed",
        "fetch.max.bytes": 16 << 20,
        "fetch.message.max.bytes": MAX_ROUTED_RECORD_BYTES,
        "queued.max.messages.kbytes": 32_768,  # bounds what a reader that is held back keeps in memory
    }


def transaction_config(kafka: str, transactional_id: str) -> Config:
    """For a writer that must be the only one: it shuts out whoever began earlier under the same id."""
    return _PATIENT | {
        "bootstrap.servers": kafka,
        "transactional.id": transactional_id,
        "transaction.timeout.ms": 30_000,  # the next writer rolls back at once what it finds open
        "message.max.bytes": MAX_SESSION_RECORD_BYTES,
        "partitioner": "murmur2_random",
        "linger.ms": 20,  # a commit sends at once what lingers; until then, records gather in one batch
    }


def member_config(kafka: str, group: str, name: str, session_timeout_ms: int) -> Config:
    """For a member of the group that owns sessions; it keeps what is its own through a rebalance."""
    return consumer_config(kafka) | {
        "group.id": group,
        "client.id": name,
        "partition.assignment.strategy": "cooperative-sticky",
        "session.timeout.ms": session_timeout_ms,
        "heartbeat.interval.ms": 500,  # a heartbeat's answer is what tells of a rebalance
        # Longer than a round of work takes. When Kafka comes back from a crash it may wait as long for members as they
        # were before it, though these have joined anew under new ids, and until then nobody owns anything.
        "max.poll.interval.ms": max(15_000, session_timeout_ms),
    }


def record_headers(message: Message) -> list[tuple[str, bytes | None]]:
    """A consumed record's headers; confluent-kafka's type says more than ever comes."""
    return cast(list[tuple[str, bytes | None]], message.headers() or [])


def place_of(message: Message) -> tuple[int, int]:
    """A consumed record's partition and offset."""
    return cast(int, message.partition()), cast(int, message.offset())


def partition_count(kafka: str, topic: str) -> int:
    """How many partitions a Kafka topic has.

    Raises:
        KafkaNotReadyError: Kafka does not answer, or has no such topic.
    """
    patience = time.monotonic() + _TOPIC_APPEARS
    while True:
        admin = AdminClient(_PATIENT | {"bootstrap.servers": kafka})
        try:
            found = admin.list_topics(topic, timeout=START_TIMEOUT).topics[topic]
        except KafkaException as error:
            raise KafkaNotReadyError(f"Kafka at {kafka} does not answer: {error.args[0].str()}") from None
        if found.error is None:
            return len(found.partitions)
        if time.monotonic() > patience:
            prefix = topic.partition(".")[0]
            own_prefix = "" if prefix == DEFAULT_PREFIX else f" --topic-prefix {prefix}"
            raise KafkaNotReadyError(
                f"Kafka at {kafka} has no topic {topic}: run `sluicemq topics create --kafka {kafka}{own_prefix}`, "
                "which makes all that are missing, as after an upgrade, and leaves the others alone"
            )
        time.sleep(0.1)


def create_topics(kafka: str, topics: Iterable[KafkaTopic], replication: int = -1) -> None:
    """Create the topics that are not there yet, with the cluster's default replication.

    Raises:
        KafkaNotReadyError: Kafka does not answer, or refuses.
    """
    admin = AdminClient(_PATIENT | TOLD | {"bootstrap.servers": kafka})
    wanted = [
        NewTopic(t.name, t.partitions, replication_factor=replication, config=dict(t.config)) for t in topics
    ]
    for name, created in admin.create_topics(wanted, request_timeout=START_TIMEOUT).items():
        while not wait([created], timeout=_TELL).done:
            admin.poll(0)  # says why it takes so long
        try:
            created.result()
        except KafkaException as error:
            if error.args[0].name() != "TOPIC_ALREADY_EXISTS":
                raise KafkaNotReadyError(
                    f"Kafka at {kafka} did not create {name}: {error.args[0].str()}"
                ) from None


def first_ends(kafka: str, topic: str, partitions: int) -> dict[int, int]:
    """As `end_offsets`, for who starts: what was just made, or led elsewhere a moment ago, may take a while to answer.

    Raises:
        KafkaNotReadyError: It does not.
    """
    patience = time.monotonic() + START_TIMEOUT
    while True:
        # A new one each time: it would go on believing what it learnt.
        consumer = Consumer(consumer_config(kafka))
        try:
            return end_offsets(consumer, topic, partitions, START_TIMEOUT)
        except KafkaException as error:
            if time.monotonic() > patience:
                raise KafkaNotReadyError(
                    f"Kafka at {kafka} does not tell where {topic} ends: {error.args[0].str()}"
                ) from None
            time.sleep(0.1)
        finally:
            consumer.close()


def end_offsets(consumer: Consumer, topic: str, partitions: int, timeout: float) -> dict[int, int]:
    """The end offset of each partition, in one request: where the next record will stand.

    Raises:
        KafkaException: Kafka did not answer in time.
    """
    # offsets_for_times passes the logical offset on as the timestamp, and -1 asks a broker for its latest.
    latest = [TopicPartition(topic, partition, -1) for partition in range(partitions)]
    ends = {}
    for found in consumer.offsets_for_times(latest, timeout=timeout):
        if found.error is not None:
            raise KafkaException(found.error)
        ends[found.partition] = found.offset
    return ends
