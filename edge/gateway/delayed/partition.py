"""One partition of `tbmq.msg.delayed`: what is to come, and the writer that must be the only one.

As for share groups (shares/partition.py), the partition has a transactional id: who takes over shuts out whoever was
there before, rolls back what it left open, and only then reads what is to come.
"""

from __future__ import annotations

import logging

from confluent_kafka import Message, Producer

from contracts import delayed_record
from contracts.errors import RecordError
from contracts.kafka_topics import KafkaTopics
from edge.gateway.delayed.agenda import Agenda
from edge.gateway.kafka_clients import place_of, record_headers, transaction_config
from edge.gateway.state_reading import StaleStateError, log_end, read_state

log = logging.getLogger(__name__)

_STEP = 10.0  # seconds for Kafka to answer; after that it is begun anew
_TIMEOUT_MS = 10_000  # after which Kafka rolls back by itself what a timekeeper that is gone has left open


class DelayedPartition:
    """A partition that the group has given to this gateway."""

    def __init__(self, kafka: str, topics: KafkaTopics, number: int) -> None:
        self.number = number
        self.agenda = Agenda()
        self.next_offset = 0
        """All before it is in the agenda."""
        self._kafka, self._topics = kafka, topics
        self._producer: Producer | None = None

    @property
    def is_loaded(self) -> bool:
        """Whether its messages may be published."""
        return self._producer is not None

    @property
    def producer(self) -> Producer:
        """Writes under the partition's transactional id.

        Raises:
            StaleStateError: It is not loaded.
        """
        if self._producer is None:
            raise StaleStateError(f"delayed {self.number} is not loaded")
        return self._producer

    def load(self) -> None:
        """Begin under the partition's transactional id, and read what is to come.

        Raises:
            KafkaException: Kafka does not answer; try again.
            StaleStateError: The same, or another's transaction is still open.
        """
        self.close()
        topic = self._topics.delayed
        config = transaction_config(self._kafka, f"{topic}-{self.number}")
        producer = Producer(config | {"transaction.timeout.ms": _TIMEOUT_MS})
        producer.init_transactions(_STEP)
        self.agenda = Agenda()
        self.next_offset = end = log_end(self._kafka, topic, self.number)
        for message in read_state(self._kafka, topic, self.number, end):
            self.take(message)
        self._producer = producer
        log.info("delayed %d: %d messages are to come", self.number, len(self.agenda))

    def take(self, message: Message) -> None:
        """Take a record of the partition."""
        _, offset = place_of(message)
        self.next_offset = max(self.next_offset, offset + 1)
        key = message.key() or b""
        value = message.value()
        if value is None:
            self.agenda.remove(key)
            return
        try:
            delayed_record.decode_key(key)
            due_ms = delayed_record.decode_due(record_headers(message))
        except RecordError as error:
            log.warning("delayed record %d:%d is skipped: %s", self.number, offset, error)
            return
        self.agenda.put(key, due_ms, offset, len(value))

    def close(self) -> None:
        """Let go; an open transaction is rolled back by whoever comes next."""
        if self._producer is not None:
            self._producer.purge(blocking=False)
            self._producer.poll(0)
            self._producer = None
