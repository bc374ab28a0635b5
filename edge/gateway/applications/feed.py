"""One connected APPLICATION's messages: from its Kafka topic to its connection, as fast as it takes them.

What is read ahead is bounded: beyond that the reading is held. What had gathered before the client came may be given at
a bounded rate; what comes behind that waits its turn, so the order is kept (I3, I6).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from confluent_kafka import Message as KafkaMessage

from contracts import probe_record
from contracts.application_progress import Progress
from contracts.errors import RecordError
from contracts.persisted_record import Message
from contracts.routed_record import decode_route
from contracts.shared_record import is_of_dispatcher
from edge.gateway.applications.pacing import Pace
from edge.gateway.applications.reading import Reading, Verdict
from edge.gateway.applications.reporting import Reporting
from edge.gateway.counters import Counters
from edge.gateway.kafka_clients import place_of, record_headers
from edge.gateway.persistence.sender import Sender
from edge.mqtt.events import DeliveryCompleted, DeliveryReceived

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Start:
    """Where a connection begins."""

    progress: Progress
    replay_end: int
    """What stands before this offset had gathered before the client came."""
    sent: Collection[int] | None = ()
    """Offsets that an earlier connection has sent already: they get DUP. None: nobody knows (its gateway died), so as
    many as fit a window may have been."""


@dataclass(frozen=True)
class Bounds:
    """What may be read ahead, and how fast what had gathered is given."""

    messages: int
    bytes: int
    replay_rate: float = 0.0
    """Messages a second; 0 for any number."""


class ApplicationFeed:
    """From the topic to one connection; made anew for each connection of a session."""

    def __init__(
        self, sender: Sender, connection_id: str, start: Start, bounds: Bounds, counters: Counters,
        see: Callable[[int, int], None], reporting: Reporting, hold: Callable[[bool], None],
    ) -> None:  # fmt: skip
        """Prepare to deliver.

        Args:
            sender: To the client.
            connection_id: The connection's name in the cluster.
            start: Where to begin.
            bounds: Of what is read ahead.
            counters: The gateway's.
            see: Told of each place in `tbmq.msg.all` that comes: what the client subscribes to from then on is newer,
                and changes nothing about a message that may have been sent already.
            reporting: Where to tell how far it is.
            hold: Holds the reading (true), or lets it go on.
        """
        self.client_id = sender.client_id
        self.connection_id = connection_id
        self.reading = Reading(start.progress)
        self._sender = sender
        self._bounds = bounds
        self._counters = counters
        self._see = see
        self._reporting = reporting
        self._hold = hold
        self._loop = asyncio.get_running_loop()
        self._releases = deque(self.reading.received_offsets)
        self._unsent: deque[Message] = deque()
        self._bytes = 0
        self._under_way: set[int] = set()
        self._repeated = set(start.sent or ())
        self._is_guessed = (
            start.sent is None
        )  # whether `_repeated` is what may have been sent, and not what was
        self._unknown = sender.window if start.sent is None else 0
        self._replay_end = start.replay_end
        self._pace = Pace(bounds.replay_rate, self._loop.time())
        self._timer: asyncio.TimerHandle | None = None
        self._is_held = False
        self._is_over = False

    # what comes

    def take(self, record: KafkaMessage) -> None:
        """The next record of the topic; `pump` when there are no more for now."""
        if self._is_over:
            return
        _, offset = place_of(record)
        headers = record_headers(record)
        if probe_record.is_answer(headers):
            self.reading.skip(offset)  # The router asks itself how far it has written.
            return
        try:
            route = decode_route(headers)
        except RecordError as error:
            self._counters.poison_records += 1
            log.warning(
                "record %s of the topic of %r is skipped: %s", offset, self.client_id[:80], error,
                extra={"client": self.client_id, "offset": offset},
            )  # fmt: skip
            self.reading.skip(offset)
            return
        if not is_of_dispatcher(route.partition):  # those have a number space of their own
            self._see(route.partition, route.offset)
        tracer = self._sender.connection.tracer
        repeats = self.reading.repeated
        if self.reading.take(offset, route) is Verdict.NEW:
            if tracer is not None:
                tracer.kept(record, self.client_id)
            value = record.value() or b""
            message = Message(
                offset,
                self.client_id,
                route.partition,
                route.offset,
                route.topic,
                route.filter,
                value,
                headers,
            )
            if self._unknown:
                self._unknown -= 1
                self._repeated.add(offset)
            self._unsent.append(message)
            self._bytes += len(value)
        self._counters.repeated_records += self.reading.repeated - repeats

    # what goes

    def pump(self) -> None:
        """Send what the window has room for, in order."""
        if self._is_over:
            return
        while self._releases and self._sender.can_send(self._releases[0]):
            self._sender.release(self._releases.popleft())
        while self._unsent and not self._releases and self._may_send(self._unsent[0].offset):
            message = self._unsent.popleft()
            self._bytes -= len(message.value)
            dup = message.offset in self._repeated
            if self._sender.send(message, dup=dup, is_owed=dup and not self._is_guessed):
                self._under_way.add(message.offset)
            else:
                self._done(message.offset)
        self._sender.connection.changed()
        self._balance()

    def _may_send(self, offset: int) -> bool:
        if not self._sender.can_send(offset):
            return False
        if offset >= self._replay_end:
            return True
        wait = self._pace.wait(self._loop.time())
        if wait and self._timer is None:
            self._timer = self._loop.call_later(wait, self._go_on)
        return not wait

    def _go_on(self) -> None:
        self._timer = None
        self.pump()

    def _balance(self) -> None:
        """Hold the reading, or let it go on: full is full, and half empty is empty."""
        share = 0.5 if self._is_held else 1.0
        is_full = (
            len(self._unsent) >= share * self._bounds.messages or self._bytes > share * self._bounds.bytes
        )
        if is_full is not self._is_held:
            self._is_held = is_full
            self._hold(is_full)

    # what the client says

    def end(self) -> list[int]:
        """The connection is over; returns the offsets that were sent, by it or before, and not acknowledged."""
        self._is_over = True
        if self._timer:
            self._timer.cancel()
        # What may have been sent before and was not read again yet is not known by offset.
        unknown = range(self.reading.position, self.reading.position + self._unknown)
        return sorted({*self._under_way, *self._repeated, *unknown})

    def completed(self, event: DeliveryCompleted) -> None:
        """A delivery is over."""
        offset = event.message.tag
        if isinstance(offset, int):
            self._done(offset)
            self.pump()

    def received(self, event: DeliveryReceived) -> None:
        """PUBREC came: note it, then PUBREL (I5)."""
        offset = event.message.tag
        if not isinstance(offset, int):
            return
        self._under_way.discard(offset)
        self._repeated.discard(offset)
        self.reading.received(offset)
        self._reporting.note(self, partial(self._sender.go_on, event.packet_id))

    def _done(self, offset: int) -> None:
        self._under_way.discard(offset)
        self._repeated.discard(offset)
        self.reading.done(offset)
        self._reporting.gather(self)
