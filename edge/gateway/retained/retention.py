"""Retained messages put together: what the gateway makes once and calls.

While its records become durable, a SUBSCRIBE passes a `LogBarrier` on `tbmq.msg.retained`; what the view has then is
what its client gets, after the SUBACK. So it gets whatever was acknowledged to a publisher, anywhere, before it
subscribed (I9).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial

from confluent_kafka import KafkaError, Message

from contracts import publish_record
from contracts.errors import RecordError
from contracts.kafka_topics import KafkaTopics
from contracts.retained_record import RetainedRecord
from contracts.shared_record import is_group
from edge.gateway.appender import Appender
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.kafka_clients import place_of, record_headers
from edge.gateway.local_subscriptions import LocalSubscriptions
from edge.gateway.log_barrier import LogBarrier
from edge.gateway.retained.copies import Copies
from edge.gateway.retained.keeping import Keeping
from edge.gateway.retained.newcomers import Newcomer, Newcomers
from edge.gateway.retained.order import Kind, LiveOrder
from edge.gateway.retained.reading import Reading, Wish, read
from edge.gateway.retained.tail import RetainedTail
from edge.gateway.retained.view import RetainedView
from edge.gateway.retained.writing import RetainedWriter
from edge.mqtt import packets
from edge.mqtt.reason_codes import FAILURE
from edge.mqtt.states import State

log = logging.getLogger(__name__)

_ONLY_IF_NEW, _NEVER = 1, 2
"""Retain Handling: 0 is always (section 3.8.3.1)."""


@dataclass(slots=True, eq=False)
class Turn:
    """One SUBSCRIBE between its arrival and its SUBACK."""

    connection: Connection
    """Whose."""
    wishes: list[Wish] = field(default_factory=list)
    """The filters of which retained messages are wanted."""
    acknowledge: Callable[[], None] | None = None
    """Sends the SUBACK; there once all records are durable."""
    has_passed: bool = False
    """Whether the barrier has let it through."""
    is_begun: bool = False
    """Whether its retained messages are being read."""

    @property
    def is_ready(self) -> bool:
        """Whether it only waits for its turn."""
        return self.has_passed and self.acknowledge is not None


class Retention:
    """The view, and everybody's way to it and from it."""

    def __init__(
        self, kafka: str, topics: KafkaTopics, partitions: int, node: str, appender: Appender,
        local: LocalSubscriptions[Connection], counters: Counters, subscriptions_read: Callable[[], dict[int, int]],
    ) -> None:  # fmt: skip
        """Prepare to read.

        Args:
            kafka: Bootstrap servers.
            topics: The names of the Kafka topics.
            partitions: Of `tbmq.msg.retained`.
            node: This gateway.
            appender: For records and copies.
            local: Who holds which filter here.
            counters: The gateway's.
            subscriptions_read: Tells how far this gateway has read the subscription log.
        """
        self.view = RetainedView()
        self.order: LiveOrder[Connection] = LiveOrder(self.view.__len__)
        """Told by the downlink what it brings."""
        self.hurry: Callable[[], None] = _nothing
        """Asks for a sign of how far the downlink is: something waits for that."""
        self.writer = RetainedWriter(topics.retained, appender, subscriptions_read)
        self.tail = RetainedTail(
            kafka, topics.retained, partitions, node, self.view, self.writer, counters, self._applied
        )
        self._barrier: LogBarrier[Turn] = LogBarrier(
            kafka, topics.retained, partitions, self.tail, self._passed
        )
        self._keeping = Keeping(topics, appender, local, counters)
        self._publishes = topics.publishes
        self._local = local
        self._counters = counters
        self._newcomers: Newcomers[Connection] = Newcomers()
        self._turns: dict[Connection, deque[Turn]] = {}
        self._copies: dict[Connection, Copies] = {}

    def stop(self) -> None:
        """Stop reading; SUBSCRIBEs that wait are not answered any more."""
        self._barrier.stop()
        self.tail.stop()

    # what subscribing tells

    def begin(self, connection: Connection) -> Turn:
        """A SUBSCRIBE came; its retained messages are read after those of the connection's earlier ones."""
        turn = Turn(connection)
        self._turns.setdefault(connection, deque()).append(turn)
        return turn

    def wish(self, turn: Turn, position: int, wanted: packets.Subscription, *, is_new: bool) -> Wish | None:
        """A filter of it is about to be served; None where its retained messages are not wanted.

        With Retain Handling 0 they are [MQTT-3.3.1-9], with 1 if it is new [MQTT-3.3.1-10], with 2 never
        [MQTT-3.3.1-11]; a share group gets none either (section 4.8.2).
        """
        handling = wanted.retain_handling
        if is_group(wanted.filter) or handling == _NEVER or (handling == _ONLY_IF_NEW and not is_new):
            return None
        since = self.order.now()
        newcomer = Newcomer(turn.connection, wanted.filter, since) if is_new else None
        if newcomer is not None:
            self._newcomers.add(newcomer)
        wish = Wish(position, wanted.filter, since, newcomer)
        turn.wishes.append(wish)
        return wish

    def placed(self, wish: Wish, message: Message) -> None:
        """A wish's subscription stands in the subscription log."""
        partition, offset = place_of(message)
        if wish.newcomer is not None and offset >= 0:
            self._newcomers.place(wish.newcomer, partition, offset)

    def asked(self, turn: Turn) -> None:
        """All filters of a SUBSCRIBE are served."""
        if turn.wishes:
            self._barrier.enter(turn)
        else:
            turn.has_passed = True

    def durable(self, turn: Turn, reasons: list[int], acknowledge: Callable[[], None]) -> None:
        """All records of a SUBSCRIBE are settled: read what is retained, then acknowledge, then send it."""
        turn.acknowledge = acknowledge
        turn.wishes = [one for one in turn.wishes if reasons[one.position] < FAILURE]
        self._go_on(turn.connection)

    def ended(self, connection: Connection, filter: str) -> None:
        """A client does not hold a filter any more."""
        self._newcomers.end(connection, filter)
        self.order.forget(connection, filter)
        if (copies := self._copies.get(connection)) is not None:
            copies.drop(filter)

    def left(self, connection: Connection) -> None:
        """A connection is over, and its subscriptions were ended here."""
        self._turns.pop(connection, None)
        if (copies := self._copies.pop(connection, None)) is not None:
            copies.drop()

    # what settling tells

    async def keep_found(self, published: Collection[Message]) -> None:
        """Publishes were found in Kafka whose gateway died before they were acknowledged: retain what asked for it."""
        for message in published:
            if message.topic() != self._publishes:
                continue  # It is published later.
            try:
                record = publish_record.decode(message.key(), message.value(), record_headers(message))
            except RecordError:  # no gateway's, whatever it says of its client
                continue
            if record.retain:
                await self._keep(RetainedRecord(record, *place_of(message)))

    async def _keep(self, record: RetainedRecord) -> None:
        winner = self.view.winner(record.topic)
        if winner is not None and winner.partition == record.partition and winner.offset >= record.offset:
            return
        done: asyncio.Future[KafkaError | None] = asyncio.get_running_loop().create_future()
        self.writer.append_again(record, done.set_result)
        if (error := await done) is not None:
            log.warning("what is retained of %r was not kept: %s", record.topic[:80], error)

    # what becomes of SUBSCRIBEs

    def _passed(self, turns: list[Turn]) -> None:
        for turn in turns:
            turn.has_passed = True
            self._go_on(turn.connection)

    def _go_on(self, connection: Connection) -> None:
        """SUBSCRIBEs of one connection are answered in their order."""
        turns = self._turns.get(connection)
        while turns and turns[0].is_ready and not turns[0].is_begun:
            self._read(turns[0])
        if turns is not None and not turns:
            self._turns.pop(connection, None)

    def _read(self, turn: Turn) -> None:
        turn.is_begun = True
        for wish in turn.wishes:
            if wish.newcomer is not None:
                wish.newcomer.read_at = self.view.sequence
        readings = self._readings(turn)
        if turn.connection.is_kept and turn.wishes:
            self._keeping.keep(turn.connection, self._readings(turn), partial(self._kept, turn, readings))
        else:
            self._answer(turn, readings)

    def _kept(self, turn: Turn, readings: list[Reading]) -> None:
        self._answer(turn, readings)
        self._go_on(turn.connection)

    def _answer(self, turn: Turn, readings: list[Reading]) -> None:
        connection = turn.connection
        turns = self._turns.get(connection)
        if turns and turns[0] is turn:
            turns.popleft()
        if turn.acknowledge is not None:
            turn.acknowledge()
        if connection.core.state is State.CONNECTED:
            for reading in readings:
                self._send(connection, reading)

    def _readings(self, turn: Turn) -> list[Reading]:
        # Each filter counts as a SUBSCRIBE of its own [MQTT-3.8.4-5].
        return [Reading(one.filter, one.kind, one.since, read(self.view, one.filter)) for one in turn.wishes]

    def _send(self, connection: Connection, reading: Reading) -> None:
        copies = self._copies.get(connection)
        if copies is None:
            copies = self._copies[connection] = Copies(
                connection, self.order, self._local, self._counters, self.hurry
            )
        copies.add(reading)

    # what the log tells

    def _applied(self, record: RetainedRecord) -> None:
        """A message counts from now on: who has read before, and may not get it live, gets it from here."""
        sequence = self.view.sequence
        for newcomer in self._newcomers.missed(record.topic, sequence, record.subscriptions_read):
            connection = newcomer.subscriber
            retained = self.view.get(record.topic)
            if connection is None or retained is None or connection.core.state is not State.CONNECTED:
                continue
            found = partial(Reading, newcomer.filter, Kind.MISSED, newcomer.since)
            if connection.is_kept:
                self._keeping.keep(connection, [found(iter([retained]))], _nothing)
            self._send(connection, found(iter([retained])))


def _nothing() -> None:
    """Nobody waits for it."""
