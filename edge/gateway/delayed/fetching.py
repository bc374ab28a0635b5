"""Reads records again by their offsets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from edge.gateway.kafka_clients import consumer_config
from edge.gateway.state_reading import StaleStateError

_STEP = 10.0  # seconds for Kafka to answer
_NEAR = 200  # offsets that are read over rather than sought: a fetch brings as many anyhow


class Fetching:
    """One consumer, for whatever partition is asked for."""

    def __init__(self, kafka: str, topic: str) -> None:
        self._kafka, self._topic = kafka, topic
        self._consumer: Consumer | None = None

    def fetch(self, partition: int, offsets: Sequence[int]) -> dict[int, Message]:
        """The records at these offsets; those that are gone are left out.

        Raises:
            KafkaException: Kafka refused.
            StaleStateError: Kafka does not answer.
        """
        if self._consumer is None:
            self._consumer = Consumer(consumer_config(self._kafka) | {"enable.partition.eof": True})
        consumer, found = self._consumer, {}
        position: int | None = None
        for wanted in sorted(offsets):
            if position is None or not position <= wanted <= position + _NEAR:
                consumer.assign([TopicPartition(self._topic, partition, wanted)])
                position = wanted
            while position <= wanted:
                message = consumer.poll(_STEP)
                if message is None:
                    raise StaleStateError(f"{self._topic} {partition} is not to be read")
                if (error := message.error()) is not None and cast(int, message.offset()) <= wanted:
                    raise KafkaException(error)
                position = cast(int, message.offset()) + 1
                found[position - 1] = message
        consumer.unassign()
        return {offset: found[offset] for offset in offsets if offset in found}

    def close(self) -> None:
        """Let go of the client."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None
