"""One dispatched partition: its decisions' state in Kafka, and the writer that must be the only one.

As for sessions (sessions/partition.py), each partition has a transactional id, and a round of all partitions
is one transaction under one of those that are owned. Whoever takes over rolls back what an earlier dispatcher left open
by beginning under the same id; one that lives but has lost the partition is shut out by the consumer group.
"""

from __future__ import annotations

import logging

from confluent_kafka import Message, Producer

from contracts import shared_record
from contracts.errors import RecordError
from contracts.kafka_topics import KafkaTopics
from edge.gateway.kafka_clients import place_of, record_headers, transaction_config
from edge.gateway.shares.dispatch import Dispatch
from edge.gateway.shares.strategies import Strategies
from edge.gateway.state_reading import log_end, read_state

log = logging.getLogger(__name__)

_STEP = 10.0  # seconds for Kafka to answer; after that it is begun anew
_TIMEOUT_MS = 10_000  # after which Kafka rolls back by itself what a dispatcher that is gone has left open


class DispatchedPartition:
    """A partition of `tbmq.msg.shared`, and that of its state with the same number."""

    def __init__(self, kafka: str, topics: KafkaTopics, number: int, strategies: Strategies) -> None:
        self.number = number
        self.dispatch = Dispatch(strategies=strategies)
        self.due: set[str] = set()
        """Groups with parked messages whose members may have changed."""
        self.producer: Producer | None = None
        """Writes under this partition's transactional id; there while the partition is loaded."""
        self._kafka, self._topics, self._strategies = kafka, topics, strategies

    @property
    def is_loaded(self) -> bool:
        """Whether it may be dispatched."""
        return self.producer is not None

    def load(self) -> None:
        """Begin under this partition's transactional id, and read what was committed.

        Raises:
            KafkaException: Kafka does not answer; try again.
            StaleStateError: The same, or another dispatcher's transaction is still open.
        """
        self.close()
        config = transaction_config(self._kafka, f"{self._topics.shares}-{self.number}")
        producer = Producer(config | {"transaction.timeout.ms": _TIMEOUT_MS})
        producer.init_transactions(_STEP)
        self.dispatch = Dispatch(strategies=self._strategies)
        states = self._topics.share_states
        end = log_end(self._kafka, states, self.number)
        for message in read_state(self._kafka, states, self.number, end):
            self._restore(message)
        self.due = set(self.dispatch.parked)
        self.producer = producer
        log.info("shares %d: from %d", self.number, self.dispatch.state.next_offset)

    def take(self, message: Message) -> None:
        """Take the next record of the partition."""
        _, offset = place_of(message)
        self.dispatch.take(offset, message.value(), record_headers(message))

    def close(self) -> None:
        """Let go; an open transaction is rolled back by whoever comes next."""
        if self.producer is not None:
            self.producer.purge(blocking=False)
            self.producer.poll(0)
            self.producer = None

    def _restore(self, message: Message) -> None:
        value = message.value()
        try:
            group = shared_record.decode_state_key(message.key())
            if group is not None:
                (self.dispatch.parked.discard if value is None else self.dispatch.parked.add)(group)
            elif value is not None:
                self.dispatch.state = shared_record.decode_state(value)
        except RecordError as error:
            log.warning("state of shares %d:%s is skipped: %s", self.number, message.offset(), error)
