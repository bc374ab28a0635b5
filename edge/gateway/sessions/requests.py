"""The gateway's events for the owners, and their answers: Kafka on one side, calls in the event loop on the other."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, Message, TopicPartition

from contracts import session_event
from contracts.errors import RecordError
from contracts.kafka_topics import KafkaTopics
from contracts.session_event import ChangeWanted, DisconnectWanted, Granted, Refused, SessionEvent
from edge.gateway.appender import Appender, Durable
from edge.gateway.counters import Counters
from edge.gateway.gathering import Gathering
from edge.gateway.kafka_clients import first_ends
from edge.gateway.log_reader import LogReader

_GATHER = (
    0.005  # seconds between appends: in a storm of connects, Kafka takes many events at the cost of one …
)
_LONGEST = 0.02  # … and the more there were the last time, the longer the next ones gather, up to this

log = logging.getLogger(__name__)


class Answered(Protocol):
    """Who the answers are for."""

    def granted(self, answer: Granted) -> None:
        """A connection is let in."""

    def refused(self, answer: Refused) -> None:
        """A connection is turned away."""

    def change_wanted(self, wanted: ChangeWanted) -> None:
        """Subscriptions of a connection are to be changed."""

    def disconnect_wanted(self, wanted: DisconnectWanted) -> None:
        """A connection has to go."""


class Requests:
    """Events of one client are appended in the order of the calls."""

    def __init__(
        self, kafka: str, topics: KafkaTopics, node: str, appender: Appender, counters: Counters,
        traced: Callable[[Message], None],
    ) -> None:  # fmt: skip
        """Prepare.

        Args:
            kafka: Bootstrap servers.
            topics: The names of the Kafka topics.
            node: This gateway.
            appender: Writes the events.
            counters: The gateway's.
            traced: Takes records of the traces' Kafka topic, which no reader of its own is worth.
        """
        self._traces, self._traced = topics.traces, traced
        self._topic = topics.session_requests
        self._disconnects = topics.disconnects(node)
        self._appender = appender
        self._counters = counters
        self._waiting: Gathering[tuple[str, SessionEvent, Durable]] = Gathering(
            self._send_waiting, _GATHER, _LONGEST
        )
        self._answered: Answered | None = None
        # What was said to an earlier life of this node is of no use: its connections are gone.
        start = [from_end(kafka, topic) for topic in (topics.session_responses(node), self._disconnects)]
        start.append(
            TopicPartition(topics.traces, 0, OFFSET_BEGINNING)
        )  # what is on, stays on over a restart
        self._reader = LogReader(kafka, "session-answers", start, self._take)

    def start(self, answered: Answered) -> None:
        """Begin to read answers."""
        self._answered = answered
        self._reader.start()

    def stop(self) -> None:
        """Send what waits, and read no more."""
        self._send_waiting()
        self._reader.stop()

    def send(self, client_id: str, event: SessionEvent, durable: Durable | None = None) -> None:
        """Append an event to its client's log; `durable` is called once Kafka has it, or with its refusal."""
        self._waiting.add((client_id, event, durable or _unheard))

    def _send_waiting(self) -> None:
        self._waiting.begin_round()
        waiting = self._waiting.items
        while waiting:
            client_id, event, durable = waiting[0]
            try:
                self._appender.append(
                    self._topic, session_event.encode(event), client_id.encode(),
                    session_event.headers_of(event), durable,
                )  # fmt: skip
            except BufferError:
                self._appender.when_room(self._send_waiting)
                return
            except KafkaException as error:  # Kafka can never take it; it must not keep back those behind it
                log.warning(
                    "an event of client %r is dropped: %s", client_id[:80], error, extra={"client": client_id}
                )
            waiting.popleft()

    def _take(self, batch: list[Message]) -> None:
        assert self._answered is not None  # noqa: S101 - `start` comes first
        for message in batch:
            topic = message.topic()
            if topic == self._traces:
                self._traced(message)
                continue
            try:
                if topic == self._disconnects:
                    self._answered.disconnect_wanted(session_event.decode_disconnect(message.value()))
                    continue
                answer = session_event.decode_answer(message.value())
            except RecordError as error:
                self._counters.poison_records += 1
                log.warning("record %s of %s is skipped: %s", message.offset(), message.topic(), error)
                continue
            if isinstance(answer, Granted):
                self._answered.granted(answer)
            elif isinstance(answer, Refused):
                self._answered.refused(answer)
            else:
                self._answered.change_wanted(answer)


def from_end(kafka: str, topic: str) -> TopicPartition:
    """The end of a Kafka topic of one partition, as a place to read from; one just created may take a moment.

    Raises:
        KafkaNotReadyError: Kafka does not tell.
    """
    return TopicPartition(topic, 0, first_ends(kafka, topic, 1)[0])


def _unheard(error: KafkaError | None, _: Message) -> None:
    if error is not None:
        log.warning("a session's event was not written: %s", error)
