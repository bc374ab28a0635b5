"""Transactions: what an owner has decided on its partitions in one round, and how far it has read them, all or nothing.

One for the round, whatever the number of partitions: a transaction costs Kafka much the same, whatever is in it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from confluent_kafka import Producer, TopicPartition

from contracts import (
    command_answer,
    persisted_record,
    removal_record,
    session_census,
    session_event,
    session_record,
)
from contracts.kafka_topics import KafkaTopics
from contracts.persisted_record import EventKind
from contracts.persisted_record import Message as PersistedMessage
from contracts.shared_record import RecordHeaders
from edge.gateway.errors import KafkaNotReadyError
from edge.gateway.fresh_headers import FreshHeaders
from edge.gateway.kafka_clients import create_topics
from edge.gateway.sessions.answers import parts_of
from edge.gateway.sessions.effects import (
    Answer,
    Disconnect,
    Effect,
    PublishWill,
    Release,
    Reply,
    Store,
    StoreRemoval,
)
from edge.gateway.sessions.partition import OwnedPartition
from edge.gateway.sessions.plain_effects import PlainEffects
from edge.gateway.sessions.topic_removal import TopicRemoval
from edge.gateway.sessions.will_publications import WillPublications
from edge.gateway.transactional_offsets import send_offsets

log = logging.getLogger(__name__)

_STEP = 10.0  # seconds for one step of a transaction; without an answer, all of it is begun anew

Decided = list[tuple[OwnedPartition, list[Effect]]]
"""Partitions and what follows for them."""
Returned = Callable[[Release], Sequence[PersistedMessage]]


class Transactions:
    """Carries decisions into Kafka."""

    def __init__(
        self, kafka: str, topics: KafkaTopics, plain: PlainEffects, returned: Returned | None = None,
        fresh_headers: FreshHeaders | None = None,
    ) -> None:  # fmt: skip
        """Prepare to write.

        Args:
            kafka: Bootstrap servers.
            topics: The names of the Kafka topics.
            plain: Writes what belongs into no transaction.
            returned: Finds what a released session gives back to its share groups; None: nothing.
            fresh_headers: As `WillPublications` has it.

        Raises:
            KafkaNotReadyError: Kafka does not answer, or has no publishes.
        """
        self._wills = WillPublications(kafka, topics, fresh_headers)
        self._kafka, self._topics = kafka, topics
        self._plain = plain
        self._removal = TopicRemoval(kafka, topics)
        self._returned: Returned = returned or (lambda _: [])
        self._known_nodes: set[str] = set()
        self._may_reply = False

    def commit(self, producer: Producer, decided: Decided, group: Any, decided_at: float) -> None:
        """Write what was decided, under the transactional id of a partition that is owned.

        Args:
            producer: The writer under that id.
            decided: What was.
            group: The consumer group's metadata.
            decided_at: When that was begun, as `time.monotonic` has it.

        Raises:
            KafkaException, BufferError, KafkaNotReadyError: Whether it was written is not known; load what it concerned
                again.
        """
        try:
            self._removal.remove((effect for _, effects in decided for effect in effects), decided_at)
            self._plain.write(effect for _, effects in decided for effect in effects)
            for _, effects in decided:
                self._expect_nodes(effects)
            # After the tombstones: no dispatcher chooses these members any more (shares/dispatcher.py).
            releases = [
                (effect, self._returned(effect))
                for _, effects in decided
                for effect in effects
                if isinstance(effect, Release)
            ]
            wills = [
                effect for _, effects in decided for effect in effects if isinstance(effect, PublishWill)
            ]
            prepared = self._wills.prepare(wills) if wills else None
            producer.begin_transaction()
            for release, messages in releases:
                self._release(producer, release, messages)
            for owned, effects in decided:
                for effect in effects:
                    self._produce(producer, owned.number, effect)
            if prepared is not None:  # last: while this is open, what others publish behind it is held back
                self._wills.write(producer, prepared, _STEP)
            read = [
                TopicPartition(
                    self._topics.session_requests,
                    owned.number,
                    owned.next_offset,
                    session_census.encode(owned.ownership.census),
                )
                for owned, _ in decided
            ]
            send_offsets(producer, read, group, _STEP)
            producer.commit_transaction(_STEP)
        except Exception:
            self._known_nodes.clear()
            self._may_reply = False
            raise

    def _release(self, producer: Producer, release: Release, messages: Sequence[PersistedMessage]) -> None:
        for message in messages:
            _append(
                producer, self._topics.shares, message.filter.encode(), message.value, -1, message.headers
            )
        value, headers = persisted_record.encode_event(EventKind.CLEARED)
        key = persisted_record.encode_key(release.client_id)
        _append(producer, self._topics.persisted, key, value, -1, headers)

    def _expect_nodes(self, effects: Iterable[Effect]) -> None:
        # A gateway that is gone for good may be without its Kafka topics; that must not stop all others.
        for effect in effects:
            if isinstance(effect, Answer | Disconnect) and effect.node not in self._known_nodes:
                create_topics(self._kafka, self._topics.of_node(effect.node))
                self._known_nodes.add(effect.node)
            if isinstance(effect, Reply) and not self._may_reply:
                self._expect_answers()

    def _expect_answers(self) -> None:
        # Older clusters have no topic for them. Where Kafka lets nobody make it, administrators get no answer: what is
        # decided for them, and for all others, must go on.
        try:
            create_topics(self._kafka, [self._topics.of_commands()])
            self._may_reply = True
        except KafkaNotReadyError as error:
            log.warning("administrators are not answered: %s", error)

    def _produce(self, producer: Producer, partition: int, effect: Effect) -> None:
        topics = self._topics
        if isinstance(effect, Store):
            value = None if effect.record is None else session_record.encode(effect.record)
            headers = session_record.headers_of(effect.record)
            _append(producer, topics.sessions, effect.key, value, partition, headers)
        elif isinstance(effect, StoreRemoval):
            value = None if effect.due_at_ms is None else removal_record.encode(effect.due_at_ms)
            key = effect.client_id.encode()
            _append(producer, topics.removed_applications, key, value, partition)
        elif isinstance(effect, Answer):
            key = effect.client_id.encode()
            for answer in parts_of(effect.answer):
                _append(producer, topics.session_responses(effect.node), key, session_event.encode(answer), 0)
        elif isinstance(effect, Reply) and self._may_reply:
            answer_key = command_answer.encode_key(effect.answer)
            _append(
                producer, topics.command_answers, answer_key, command_answer.encode_value(effect.answer), 0
            )
        elif isinstance(effect, Disconnect):
            value = session_event.encode_disconnect(effect.wanted)
            _append(producer, topics.disconnects(effect.node), effect.wanted.client_id.encode(), value, 0)


def _append(
    producer: Producer,
    topic: str,
    key: bytes,
    value: bytes | None,
    partition: int,
    headers: RecordHeaders = (),
) -> None:
    while True:
        try:
            producer.produce(topic, value, key, partition, headers=list(headers))
            return
        except BufferError:
            producer.poll(0.1)  # a lost node with very many sessions: let some go out
