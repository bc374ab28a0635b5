"""Kafka topics that have just been made, which a busy broker needs a moment for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from confluent_kafka import Consumer, KafkaException, TopicPartition

from contracts.kafka_topics import KafkaTopic

PATIENCE = 120.0
"""Seconds for Kafka, on a machine that is busy with other tests."""


def await_leaders(kafka: str, topics: Iterable[KafkaTopic]) -> None:
    """Wait until all partitions can be asked for: at first nobody leads them."""
    _await(kafka, topics, lambda _end: True)


def await_empty(kafka: str, topic: KafkaTopic) -> None:
    """Wait until a topic is a new one, whose name another had before: for a moment the old one still answers to it."""
    _await(kafka, [topic], lambda end: end == 0)


def _await(kafka: str, topics: Iterable[KafkaTopic], is_there: Callable[[int], bool]) -> None:
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "tests", "log_level": 2})
    until = time.monotonic() + PATIENCE
    places = [TopicPartition(topic.name, number) for topic in topics for number in range(topic.partitions)]
    for place in places:
        while True:
            try:
                _, end = consumer.get_watermark_offsets(place, timeout=5.0)
                if is_there(end):
                    break
            except KafkaException:
                pass
            assert time.monotonic() < until, f"{place.topic} is not there"
    consumer.close()
