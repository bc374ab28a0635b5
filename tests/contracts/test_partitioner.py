"""Kafka's partitioner: pinned values, of which the first ones stand in Kafka's own tests."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, Message, Producer

from admin.kafka_topics import topic_administration
from contracts.kafka_topics import KafkaTopic
from contracts.partitioner import murmur2, partition_of
from tests.conftest import LiveKafka


@pytest.mark.parametrize(
    ("data", "signed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_kafkas(data: bytes, signed: int) -> None:
    assert murmur2(data) == signed & 0xFFFF_FFFF


@pytest.mark.live
def test_a_producer_chooses_the_same_partition(kafka: LiveKafka, unique: Callable[[str], str]) -> None:
    """Gateways write with librdkafka's `murmur2_random`."""
    topic = KafkaTopic(unique("partitioner"), 7)
    with topic_administration(kafka.bootstrap) as administration:
        administration.create([topic])
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "partitioner": "murmur2_random"})
    found: dict[bytes, int] = {}

    def written(error: KafkaError | None, message: Message) -> None:
        assert error is None
        found[message.key() or b""] = message.partition() or 0

    keys = {f"client-{'é' * (number % 5)}{number}".encode() for number in range(200)}
    for key in keys:
        producer.produce(topic.name, key=key, on_delivery=written)
    assert producer.flush(30) == 0
    assert found == {key: partition_of(key, 7) for key in keys}
