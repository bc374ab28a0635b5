"""Commands to the owners of sessions: written into the sessions' own log, answered in a topic of the administration.

Each reads with a Kafka client of its own: there are few, and none believes what was so before Kafka was started anew.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Sequence
from typing import Protocol

from confluent_kafka import Consumer, KafkaException

from admin.clients.errors import NobodyAnswersError, NotReadyError
from admin.clients.writing import Writer
from contracts import command_answer, session_event
from contracts.command_answer import CommandAnswer
from contracts.errors import RecordError
from contracts.kafka_topics import KafkaTopics
from contracts.session_event import CommandGiven, Subscription
from edge.gateway.errors import KafkaNotReadyError
from edge.gateway.kafka_clients import consumer_config, create_topics, end_offsets
from edge.gateway.sessions.requests import from_end

PATIENCE = 15.0
"""Seconds for a command to be answered: a gateway that takes over another's sessions needs about ten."""
_STEP = 0.5  # seconds that a poll may wait
_ANSWER = 10.0  # seconds for Kafka to tell something


class Commanding(Protocol):
    """Whoever gives commands."""

    def give(
        self,
        client_id: str,
        action: str,
        subscriptions: Sequence[Subscription] = (),
        filters: Sequence[str] = (),
    ) -> CommandAnswer:
        """Have something done to a client's session; blocking, until it is answered."""

    def newest_publishes(self) -> tuple[int, ...]:
        """The highest offset of each partition of `tbmq.msg.all`: floors of a subscription that is made now."""


class Commands:
    """Gives commands; from any thread."""

    def __init__(self, kafka: str, topics: KafkaTopics, writer: Writer) -> None:
        self._kafka, self._topics, self._writer = kafka, topics, writer
        self._lock = threading.Lock()
        self._has_topic = False

    def give(
        self,
        client_id: str,
        action: str,
        subscriptions: Sequence[Subscription] = (),
        filters: Sequence[str] = (),
    ) -> CommandAnswer:
        """Have something done to a client's session.

        Raises:
            NotReadyError: Kafka does not take it: it is not done.
            NobodyAnswersError: Kafka has it, and nobody has answered in time: it may be done yet.
        """
        given = CommandGiven(uuid.uuid4().hex, action, tuple(subscriptions), tuple(filters))
        try:
            self._ensure_topic()
            answers = Consumer(consumer_config(self._kafka))
            try:
                answers.assign([from_end(self._kafka, self._topics.command_answers)])
                key = client_id.encode()
                self._writer.write(self._topics.session_requests, key, session_event.encode(given))
                return self._await(answers, given.command)
            finally:
                answers.close()
        except (KafkaException, KafkaNotReadyError) as error:
            raise NotReadyError(f"Kafka at {self._kafka} does not take commands: {error}") from error

    def newest_publishes(self) -> tuple[int, ...]:
        """The highest offset of each partition of `tbmq.msg.all`.

        Raises:
            NotReadyError: Kafka does not tell.
        """
        topic = self._topics.publishes
        consumer = Consumer(consumer_config(self._kafka))
        try:
            count = len(consumer.list_topics(topic, timeout=_ANSWER).topics[topic].partitions)
            ends = end_offsets(consumer, topic, count, _ANSWER)
        except KafkaException as error:
            raise NotReadyError(f"Kafka at {self._kafka} does not answer: {error}") from error
        finally:
            consumer.close()
        return tuple(ends[partition] - 1 for partition in range(count))

    def _ensure_topic(self) -> None:
        with self._lock:
            if not self._has_topic:
                create_topics(self._kafka, [self._topics.of_commands()])
                self._has_topic = True

    def _await(self, answers: Consumer, command: str) -> CommandAnswer:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            message = answers.poll(_STEP)
            if message is None or message.error() is not None:
                continue
            try:
                answer = command_answer.decode(message.key(), message.value())
            except RecordError:  # of a later version, or nobody's
                continue
            if answer.command == command:
                return answer
        raise NobodyAnswersError(
            f"no gateway has answered within {PATIENCE:.0f} s, and what was asked may still be done: see that gateways "
            "run, and that all are of this version"
        )
