"""One connected client's messages out of the persisted log: sent in its order, under packet ids that it gives.

While the feed is being loaded it keeps what the tail brings; then it delivers. It never queues anything in the MQTT
core: a message waits here until the client's window has room and its packet id is free (I3, I6).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable
from functools import partial
from itertools import islice

from contracts.persisted_log import Backlog
from contracts.persisted_record import Event, EventKind, Message
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.local_subscriptions import FindSubscriptions
from edge.gateway.persistence.acknowledgements import Acknowledgements
from edge.gateway.persistence.sender import Sender
from edge.mqtt.events import DeliveryCompleted, DeliveryReceived


class Feed:
    """From the log to one connection; made anew for each connection of a session."""

    def __init__(
        self, connection: Connection, partition: int, acknowledgements: Acknowledgements, counters: Counters,
        find: FindSubscriptions, reload: Callable[[Feed], None], max_pending: int, max_pending_bytes: int,
    ) -> None:  # fmt: skip
        """Prepare to deliver.

        Args:
            connection: The client.
            partition: Its partition of the log.
            acknowledgements: Where to tell what became of messages.
            counters: The gateway's.
            find: Looks up by which of the client's subscriptions it gets a message.
            reload: Asked to load this feed again, when more had come than it may keep.
            max_pending: How many messages it keeps; what comes beyond that stays in the log for a while.
            max_pending_bytes: The same in bytes of payload.
        """
        self.connection = connection
        self.client_id = connection.client_id
        self.partition = partition
        self._acknowledgements = acknowledgements
        self._sender = Sender(connection, f"of the persisted log, {partition}", counters, find)
        self._reload = reload
        self._max_pending = max_pending
        self._max_pending_bytes = max_pending_bytes
        self._early: list[Message | Event] | None = []
        self._backlog: Backlog[Message] = Backlog()
        self._unsent: deque[int] = deque()
        self._releases: deque[int] = deque()
        self._repeated: set[int] = set()
        self._is_guessed = False  # whether `_repeated` is what may have been sent, and not what was
        self._settled: set[int] = set()
        self._bytes = 0
        self._is_behind = False
        self._has_begun = False
        self.is_over = False
        """Whether the connection has ended."""

    # what comes

    def loaded(
        self, messages: Iterable[Message], received: Iterable[int], later: Iterable[Message | Event],
        sent: Collection[int] | None = (),
    ) -> None:  # fmt: skip
        """Everything below where the tail began to bring records is here: begin to deliver.

        Args:
            messages: What the store had, ascending by offset.
            received: Offsets whose PUBREC had come, as the store had it.
            later: What the log had after that.
            sent: Offsets that an earlier connection has sent already: they get DUP. None: nobody knows (its gateway
                died), so as many as fit a window may have been.
        """
        early, self._early = self._early or [], None
        self._is_behind = False
        self._has_begun = True
        self._backlog = Backlog({message.offset: message for message in messages}, received)
        for record in (*later, *early):
            self._fold(record)
        self._backlog.acked(self._settled)
        self._releases = deque(sorted(self._backlog.received_offsets))
        self._unsent = deque(self._backlog.pending)
        self._is_guessed = sent is None
        self._repeated = set(islice(self._unsent, self._sender.window) if sent is None else sent)
        self._bytes = sum(len(message.value) for message in self._backlog.pending.values())
        self.pump()

    def take(self, record: Message | Event) -> None:
        """The tail brings the next record."""
        if self._early is not None:
            self._early.append(record)
            return
        if not isinstance(record, Message):
            self._fold(record)
            self.pump()
            return
        if self._is_behind or self._is_full(record):
            self._is_behind = True  # It is in the log, and is read again when there is room.
            return
        self._backlog.add(record.offset, record)
        self._bytes += len(record.value)
        self._unsent.append(record.offset)
        self.pump()

    def _is_full(self, record: Message) -> bool:
        return (
            len(self._backlog.pending) >= self._max_pending
            or self._bytes + len(record.value) > self._max_pending_bytes
        )

    def _fold(self, record: Message | Event) -> None:
        if isinstance(record, Message):
            self._backlog.add(record.offset, record)
            return
        if record.kind is EventKind.ACKED:
            self._settled.difference_update(record.offsets)
        self._backlog.apply(record)
        if not self._backlog.pending:
            self._bytes = 0

    # what goes

    def pump(self) -> None:
        """Send what the window has room for, in order."""
        if self._early is not None or self.is_over:
            return
        while self._releases and self._sender.can_send(self._releases[0]):
            self._sender.release(self._releases.popleft())
        while self._unsent and not self._releases:
            offset = self._unsent[0]
            message = self._backlog.pending.get(offset)
            if message is not None:
                if not self._sender.can_send(offset):
                    break
                dup = offset in self._repeated
                if not self._sender.send(message, dup=dup, is_owed=dup and not self._is_guessed):
                    self._settle(offset)
            self._unsent.popleft()
        self.connection.changed()
        if self._is_behind and not self._backlog.pending and not self._backlog.received_offsets:
            self._early = []
            self._reload(self)

    # what the client says

    def end(self) -> list[int] | None:
        """The connection is over; returns the offsets that were sent and not acknowledged, None if it never began."""
        self.is_over = True
        if not self._has_begun:
            return None
        unsent = set(self._unsent)
        return [
            offset for offset in self._backlog.pending if offset not in unsent or offset in self._repeated
        ]

    def completed(self, event: DeliveryCompleted) -> None:
        """A delivery of this feed is over."""
        offset = event.message.tag
        if isinstance(offset, int):
            self._settle(offset)
            self.pump()

    def received(self, event: DeliveryReceived) -> None:
        """PUBREC came: note it, then PUBREL."""
        offset = event.message.tag
        if isinstance(offset, int):
            go_on = partial(self._sender.go_on, event.packet_id)
            self._acknowledgements.received(self.client_id, offset, go_on)

    def _settle(self, offset: int) -> None:
        message = self._backlog.pending.get(offset)
        if message is not None:
            self._bytes -= len(message.value)
        self._backlog.acked((offset,))
        self._repeated.discard(offset)
        self._settled.add(offset)  # until the tail brings the event: a reload must not send it again
        self._acknowledgements.acked(self.client_id, offset)
