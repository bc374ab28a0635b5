"""One owned partition: its state machine, read from Kafka and fed with events.

Its state is what two Kafka topics have in the partition of this number: `tbmq.client.session`, and what is to become of
applications that are no more, `tbmq.sys.app.removed`.

Each partition has a transactional id of its own, and an owner writes the decisions on all its partitions under one of
those ids. So whoever takes over from an owner that died has its open transaction rolled back by nothing but beginning
(`fence`), and shuts it out. An owner that lives but has lost the partition is shut out by the group: a transaction
carries the offset of each partition that it decides, and Kafka takes no offset of an old generation. Hence what is read
after `fence`, once no transaction is open any more, is all there is.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import cast

from confluent_kafka import Message, Producer

from contracts import removal_record, session_event, session_record
from contracts.errors import RecordError
from contracts.kafka_topics import KafkaTopics
from edge.gateway.kafka_clients import record_headers, transaction_config
from edge.gateway.limits.quotas import Quotas
from edge.gateway.sessions.effects import Effect, without_superseded
from edge.gateway.sessions.ownership import REMOVAL_DELAY_MS, Ownership, Process
from edge.gateway.state_reading import StaleStateError, read_state

__all__ = ["OwnedPartition", "StaleStateError"]

log = logging.getLogger(__name__)

_STEP = 10.0  # seconds for Kafka to answer; after that it is begun anew


class OwnedPartition:
    """A partition of `tbmq.client.session.event.request`, and that of `tbmq.client.session` with the same number."""

    def __init__(
        self, kafka: str, topics: KafkaTopics, number: int, removal_delay_ms: int = REMOVAL_DELAY_MS,
        quotas: Quotas | None = None,
    ) -> None:  # fmt: skip
        """Args: `removal_delay_ms` and `quotas` are as `Ownership` has them."""
        self.number = number
        self._new = partial(Ownership, removal_delay_ms, quotas)
        self.ownership = self._new()
        self.next_offset = 0
        """The first event that is not applied yet."""
        self.losses: dict[Process, int] = {}
        """Lost gateways, and the offset up to which they may have got events into the log."""
        self.producer: Producer | None = None
        """Writes under this partition's transactional id; there while the partition is loaded."""
        self._kafka, self._topics = kafka, topics
        self._fenced: Producer | None = None

    @property
    def is_loaded(self) -> bool:
        """Whether it may be decided upon."""
        return self.producer is not None

    def fence(self) -> None:
        """Begin under this partition's transactional id; what another owner has open under it is rolled back.

        Raises:
            KafkaException: Kafka does not answer; try again.
        """
        self.close()
        self._fenced = Producer(transaction_config(self._kafka, f"{self._topics.sessions}-{self.number}"))
        self._fenced.init_transactions(_STEP)

    def load(self, committed: int, low: int, ends: Mapping[str, int]) -> None:
        """Read the state.

        Args:
            committed: Where the group stands, asked for after `fence`; negative when it has never been here.
            low: The oldest event that there still is.
            ends: The ends of the state's Kafka topics, what is not committed included, asked for after `fence`.

        Raises:
            KafkaException: Kafka does not answer; try again.
            StaleStateError: The same, or another owner's transaction is still open.
        """
        self.ownership = self._new()
        self.losses.clear()
        for message in read_state(
            self._kafka, self._topics.sessions, self.number, ends[self._topics.sessions]
        ):
            self._restore(message)
        removed = self._topics.removed_applications
        for message in read_state(self._kafka, removed, self.number, ends[removed]):
            self._restore_removal(message)
        self.next_offset = max(committed, low)
        self.producer = self._fenced
        log.info("sessions %d: %d of them, from event %d", self.number, len(self.ownership), self.next_offset)

    def close(self) -> None:
        """Let go; an open transaction is rolled back by whoever comes next."""
        for producer in (self.producer, self._fenced):
            if producer is not None:
                producer.purge(blocking=False)
                producer.poll(0)  # the purged ones are reported, which nobody is interested in
        self.producer = self._fenced = None

    def decide(self, events: Sequence[Message], now_ms: int) -> list[Effect]:
        """Apply events, losses that are due, and time. Unless all that follows is committed, `load` again."""
        effects: list[Effect] = []
        for message in events:
            effects += self._apply(message, now_ms)
        for process, end in list(self.losses.items()):
            if self.next_offset >= end:
                effects += self.ownership.lose(process, now_ms)
                if process not in self.ownership.processes:  # else there is more, for further rounds
                    del self.losses[process]
        return without_superseded(effects + self.ownership.expire(now_ms))

    def _apply(self, message: Message, now_ms: int) -> list[Effect]:
        offset = cast(int, message.offset())
        if offset < self.next_offset:
            return []
        self.next_offset = offset + 1
        try:
            client_id, part = session_record.decode_key(message.key())
            if part is not None:
                raise RecordError("an event's key is not a client id")
            event = session_event.decode_event(message.value(), record_headers(message))
        except RecordError as error:
            log.warning("session event %d:%d is skipped: %s", self.number, offset, error)
            return []
        return self.ownership.apply(client_id, event, now_ms)

    def _restore(self, message: Message) -> None:
        key, value = message.key(), message.value()
        try:
            client_id, part = session_record.decode_key(key)
            record = None if value is None else session_record.decode(key, value, record_headers(message))
        except RecordError as error:
            log.warning("session record %d:%s is skipped: %s", self.number, message.offset(), error)
            return
        self.ownership.restore(client_id, part, record)

    def _restore_removal(self, message: Message) -> None:
        try:
            client_id, due_at_ms = removal_record.decode(message.key(), message.value())
        except RecordError as error:
            log.warning("removal %d:%s is skipped: %s", self.number, message.offset(), error)
            return
        self.ownership.removals.put(client_id, due_at_ms)
