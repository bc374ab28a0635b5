"""A test's view of Kafka: create topics, write records as a gateway does, read what the router wrote."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from contracts import probe_record, publish_record, subscription_record
from contracts.kafka_topics import KafkaTopic, KafkaTopics, subscription_partition
from contracts.publish_record import PublishRecord, RouteHit
from contracts.subscription_record import SubscriptionRecord

Header = tuple[str, bytes | None]


@dataclass(frozen=True)
class Taken:
    """A record that was read."""

    key: bytes | None
    value: bytes | None
    headers: list[Header]


@dataclass
class Broker:
    """One live broker, and the topics of one test."""

    bootstrap: str
    topics: KafkaTopics
    producer: Producer = field(init=False)
    admin: AdminClient = field(init=False)
    failed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "partitioner": "murmur2_random",
                "linger.ms": 1,
                "log_level": 2,
            }
        )
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 2})

    def create(self, *wanted: KafkaTopic) -> None:
        new = [NewTopic(topic.name, topic.partitions, 1, config=topic.config) for topic in wanted]
        for created in self.admin.create_topics(new).values():
            created.result()

    def create_nodes(self, *nodes: str) -> None:
        self.create(*(topic for node in nodes for topic in self.topics.of_node(node)))

    def delete(self, *names: str) -> None:
        for deleted in self.admin.delete_topics(list(names)).values():
            deleted.result()

    def topic_id(self, name: str) -> str:
        return str(self.admin.describe_topics(TopicCollection([name]))[name].result().topic_id)

    def subscribe(self, client: str, filter: str, node: str, **others: object) -> None:
        record = SubscriptionRecord(client, filter, node, **others)  # type: ignore[arg-type]
        self.write_subscription(client, record.subscribed_filter, subscription_record.encode_value(record))

    def unsubscribe(self, client: str, filter: str) -> None:
        self.write_subscription(client, filter, None)

    def write_subscription(self, client: str, filter: str, value: bytes | None) -> None:
        self.producer.produce(
            self.topics.subscriptions,
            key=subscription_record.encode_key(client, filter),
            value=value,
            partition=subscription_partition(filter, 2),
            on_delivery=self._delivered,
        )
        self.producer.poll(0)

    def publish(self, topic: str, payload: bytes = b"", hits: Sequence[RouteHit] = (), qos: int = 1) -> None:
        record = PublishRecord(topic, payload, "publisher", "gw1", qos, routes=hits)
        self.write(topic.encode(), payload, publish_record.encode_headers(record))

    def probe(self, node: str, sequence: int, partitions: int = 2) -> None:
        for partition in range(partitions):
            headers = probe_record.encode_headers(node, sequence)
            self.write(probe_record.PROBE_KEY.encode(), b"", headers, partition)

    def write(
        self, key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes]], partition: int = -1
    ) -> None:
        self.producer.produce(
            self.topics.publishes,
            key=key,
            value=value,
            headers=list(headers),
            partition=partition,
            on_delivery=self._delivered,
        )
        self.producer.poll(0)

    def flush(self) -> None:
        assert self.producer.flush(30) == 0
        assert not self.failed

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self.failed.append(str(error))

    def records(self, name: str, *partitions: int, seconds: float = 60) -> Iterator[Taken]:
        """Records of partitions from their beginning, as they come, until so many seconds are over; 0 by default."""
        with self._consumer(name, partitions or (0,)) as consumer:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                message = consumer.poll(0.2)
                if message is not None and message.error() is None:
                    yield _taken(message)

    def records_so_far(self, name: str, partition: int = 0) -> Iterator[Taken]:
        """Records of a partition from its beginning to its end; for when nobody writes any more."""
        with self._consumer(name, (partition,)) as consumer:
            while True:
                message = consumer.poll(60.0)
                assert message is not None, f"{name} has no end"
                error = message.error()
                if error is None:
                    yield _taken(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    return

    @contextmanager
    def _consumer(self, name: str, partitions: Sequence[int]) -> Iterator[Consumer]:
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "tests",
                "fetch.wait.max.ms": 10,
                "enable.partition.eof": True,
            }
        )
        consumer.assign([TopicPartition(name, partition, 0) for partition in partitions])
        try:
            yield consumer
        finally:
            consumer.close()

    def take(self, node: str, count: int, seconds: float = 60) -> list[Taken]:
        """The first records of a node's downlink; fails when they do not come."""
        taken: list[Taken] = []
        for record in self.records(self.topics.downlink(node), seconds=seconds):
            taken.append(record)
            if len(taken) == count:
                return taken
        raise AssertionError(f"{len(taken)} of {count} records came to {node}")


def _taken(message: Message) -> Taken:
    return Taken(message.key(), message.value(), list(message.headers() or ()))  # type: ignore[arg-type]
