"""Offsets in a transaction: whatever librdkafka does, there is an end to the wait."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from edge.gateway.transactional_offsets import send_offsets


class Slow:
    """A producer whose call returns when it is let."""

    def __init__(self, error: KafkaException | None = None) -> None:
        self.let = threading.Event()
        self.given: list[Any] = []
        self._error = error

    def send_offsets_to_transaction(self, offsets: list[Any], group: object, seconds: float) -> None:
        self.given += [offsets, group, seconds]
        assert self.let.wait(30)
        if self._error is not None:
            raise self._error


def test_what_is_sent() -> None:
    producer = Slow()
    producer.let.set()
    read = [TopicPartition("t", 0, 5)]
    send_offsets(producer, read, "group", 7.0)  # type: ignore[arg-type] # a double
    assert producer.given == [read, "group", 7.0]


def test_a_refusal_is_raised() -> None:
    refusal = KafkaException(KafkaError(KafkaError.ILLEGAL_GENERATION))
    producer = Slow(refusal)
    producer.let.set()
    with pytest.raises(KafkaException) as raised:
        send_offsets(producer, [], None, 7.0)  # type: ignore[arg-type] # a double
    assert raised.value is refusal


def test_a_call_that_never_returns_is_given_up() -> None:
    producer = Slow()
    with pytest.raises(KafkaException, match="does not take the offsets"):
        send_offsets(producer, [], None, 0.0, lenience=0.01)  # type: ignore[arg-type] # a double
    producer.let.set()
