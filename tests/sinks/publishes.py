"""A test's side of `tbmq.msg.all`: write it as gateways and the router do, and say what stands there."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from contracts import probe_record, publish_record
from contracts.kafka_topics import KafkaTopics
from contracts.publish_record import PublishRecord

HOUR_MS = 3_600_000
FIRST_MS = 1_780_000_000_000 // HOUR_MS * HOUR_MS
"""The beginning of an hour that is long over."""


@dataclass
class Publishes:
    """One log of messages, and what was written to it."""

    bootstrap: str
    topics: KafkaTopics
    partitions: int = 2
    written: list[tuple[int, int, bytes]] = field(default_factory=list)
    """Partition, offset and payload of each message, as they were acknowledged."""

    def __post_init__(self) -> None:
        self.producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "partitioner": "murmur2_random",
                "linger.ms": 5,
                "log_level": 2,
            }
        )
        self.create(self.topics.publishes)
        self._numbers = itertools.count()

    def create(self, name: str) -> None:
        """Make a Kafka topic with as many partitions. What stands there is of an hour long past, and must stay."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 2})
        new = NewTopic(name, self.partitions, 1, config={"retention.ms": "-1"})
        admin.create_topics([new])[name].result(60)

    def publish(self, count: int, *, at_ms: int = FIRST_MS, qos: int = 1, topics: int = 7) -> None:
        """Write so many messages on several MQTT topics, and a probe before each tenth; returns when all are there."""
        for _ in range(count):
            number = next(self._numbers)
            if number % 10 == 0:
                self._produce(
                    probe_record.PROBE_KEY.encode(), b"", probe_record.encode_headers("gw1", number), at_ms,
                    partition=number // 10 % self.partitions,
                )  # fmt: skip
            record = PublishRecord(f"t/{number % topics}", b"%d" % number, "publisher", "gw1", qos)
            self._produce(record.topic.encode(), record.payload, publish_record.encode_headers(record), at_ms)
        assert self.producer.flush(120) == 0

    def ends(self) -> dict[int, int]:
        """Where each partition with messages ends, at least."""
        found: dict[int, int] = {}
        for partition, offset, _ in self.written:
            found[partition] = max(found.get(partition, 0), offset + 1)
        return found

    def _produce(
        self, key: bytes, value: bytes, headers: list[tuple[str, bytes]], at_ms: int, partition: int = -1
    ) -> None:
        def delivered(error: object, message: Message) -> None:
            assert error is None, error
            if key != probe_record.PROBE_KEY.encode():
                place, offset = message.partition(), message.offset()
                assert place is not None
                assert offset is not None
                self.written.append((place, offset, value))

        self.producer.produce(
            self.topics.publishes, value, key, partition, on_delivery=delivered, timestamp=at_ms,
            headers=list(headers),
        )  # fmt: skip
