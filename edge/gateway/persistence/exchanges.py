"""QoS 2 from the client, in sessions that outlive their connection: exactly once, whatever dies in between (I5).

Each step is in the session's log before it has an effect that the client could see:

* `q2_begun` before the message is appended to `tbmq.msg.all`, with the place from which on it would stand there;
* `q2_confirmed` after that, unwaited for: it only saves a search;
* `q2_released` before PUBCOMP, so that the packet id is free before the client uses it again.

Whoever goes on with a session that has begun an exchange looks in `tbmq.msg.all` (settling.py): if the message is
there, its client is sent PUBREC; if not, the client's repetition is a new message.
"""

from __future__ import annotations

from collections.abc import Callable

from confluent_kafka import KafkaError, Message

from contracts.delayed_record import DELAYED_PREFIX
from contracts.partitioner import partition_of
from contracts.session_event import (
    ExchangeBegun,
    ExchangeConfirmed,
    ExchangeReleased,
    SessionEvent,
)
from edge.gateway.appender import Durable
from edge.gateway.connection import Connection
from edge.gateway.sessions.seat import Phase
from edge.gateway.source_marks import SourceMarks
from edge.mqtt.packets import Publish


class Exchanges:
    """The exchanges of this gateway's persistent clients."""

    def __init__(
        self, sources: int, marks: SourceMarks, tell: Callable[[str, SessionEvent, Durable | None], None],
        submit: Callable[[Connection, Publish], None],
        delayed_place: Callable[[str], tuple[int, int]] | None = None,
    ) -> None:  # fmt: skip
        """Prepare to take exchanges.

        Args:
            sources: Partitions of `tbmq.msg.all`.
            marks: What this gateway has seen of them; what is appended later stands behind it.
            tell: Appends a session's event for its owner.
            submit: Takes a publish on its way to Kafka.
            delayed_place: Tells the source partition, and the place from which on, of a publish to `$delayed/…`.
        """
        self._sources = sources
        self._marks = marks
        self._tell = tell
        self._submit = submit
        self._delayed_place = delayed_place

    def begin(self, connection: Connection, packet: Publish) -> None:
        """Note a QoS 2 publish, then take it."""
        seat = connection.seat
        if seat is None:
            return

        def durable(error: KafkaError | None, _: Message) -> None:
            # A client that has gone sends it again, wherever it comes to; nobody has told it anything yet.
            if error is None and seat.phase is Phase.CONNECTED:
                self._submit(connection, packet)

        begun = ExchangeBegun(seat.id, packet.packet_id, *self._place(packet.topic))
        self._tell(seat.client_id, begun, durable)

    def _place(self, topic: str) -> tuple[int, int]:
        if self._delayed_place is not None and topic.startswith(DELAYED_PREFIX):
            return self._delayed_place(topic)
        source = partition_of(topic.encode(), self._sources)
        return source, self._marks.seen(source) + 1

    def confirmed(self, connection: Connection, packet_id: int) -> None:
        """Its message is in Kafka."""
        if connection.seat is not None:
            self._tell(connection.client_id, ExchangeConfirmed(connection.seat.id, packet_id), None)

    def release(self, connection: Connection, packet_id: int) -> None:
        """PUBREL came: note it, then PUBCOMP."""
        seat = connection.seat
        if seat is None:
            return

        def durable(error: KafkaError | None, _: Message) -> None:
            if error is None:
                connection.core.confirm_release(packet_id)
                connection.changed()

        self._tell(seat.client_id, ExchangeReleased(seat.id, packet_id), durable)
