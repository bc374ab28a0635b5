"""Commits what was decided, if it still holds: consume, transform, produce, all or nothing.

When all that was chosen stands in Kafka, but before it is committed, the members are looked at once more: whoever has
left or gone meanwhile makes the dispatcher decide again. So an owner that ends a session, after it has written that the
client is no member any more, finds each message that went into it: either that stands in the log by then, or the
dispatcher has seen that the member has left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from confluent_kafka import Producer, TopicPartition

from contracts.kafka_topics import KafkaTopics
from edge.gateway.kafka_clients import create_topics
from edge.gateway.shares.dispatch import Deliver, Write
from edge.gateway.shares.partition import DispatchedPartition
from edge.gateway.shares.view import ShareView
from edge.gateway.shares.writing import write_records
from edge.gateway.state_reading import StaleStateError
from edge.gateway.transactional_offsets import send_offsets

_STEP = 10.0  # seconds for one step of a transaction; without an answer, all of it is begun anew

Decided = Sequence[tuple[DispatchedPartition, Sequence[Write]]]
"""Partitions and what follows for them."""


class MembersChangedError(Exception):
    """Somebody who was chosen is not what they were any more."""


class Commits:
    """A dispatcher's transactions."""

    def __init__(self, kafka: str, topics: KafkaTopics, view: ShareView) -> None:
        self._kafka, self._topics = kafka, topics
        self._view = view
        self._known_nodes: set[str] = set()

    def forget_nodes(self) -> None:
        """Something failed, perhaps because a gateway's Kafka topics are gone."""
        self._known_nodes.clear()

    def commit(self, writer: DispatchedPartition, decided: Decided, group: Any) -> None:
        """Write what was decided, under the transactional id of one of the partitions.

        Raises:
            MembersChangedError: Nothing was written; decide again.
            KafkaException, BufferError, KafkaNotReadyError, StaleStateError: Whether it was written is not known; load
                the partitions again.
        """
        producer = writer.producer
        if producer is None:
            raise StaleStateError("the writer is gone")
        writes = [write for _, some in decided for write in some]
        self._expect_nodes(writes)
        producer.begin_transaction()
        for partition, some in decided:
            write_records(producer, self._topics, partition, some)
        self._check(producer, writes)
        read = [
            TopicPartition(self._topics.shares, one.number, one.dispatch.state.next_offset)
            for one, _ in decided
        ]
        send_offsets(producer, read, group, _STEP)
        producer.commit_transaction(_STEP)

    def _expect_nodes(self, writes: Iterable[Write]) -> None:
        # A gateway that is gone for good may be without its Kafka topics; that must not stop all the others.
        for write in writes:
            if isinstance(write, Deliver) and write.member.node not in self._known_nodes:
                create_topics(self._kafka, self._topics.of_node(write.member.node))
                self._known_nodes.add(write.member.node)

    def _check(self, producer: Producer, writes: Sequence[Write]) -> None:
        chosen = {(write.message.group, write.member) for write in writes if isinstance(write, Deliver)}
        if not chosen:
            return
        if producer.flush(_STEP):
            raise BufferError("Kafka does not take what was dispatched")
        self._view.catch_up()
        if any(member not in self._view.groups.members(group) for group, member in chosen):
            producer.abort_transaction(_STEP)
            raise MembersChangedError
