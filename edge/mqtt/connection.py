"""What both halves of a connection have in common: reading, faults, and the flows of messages in both directions.

It does no I/O and has no clock: bytes come in by ``receive_data`` with the time, bytes go out by ``data_to_send``, and
what happened is told by ``events_received``. After every call the I/O side looks at ``data_to_send``, ``close_wanted``
and ``deadline``.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from edge.mqtt.errors import LocalProtocolError, RemoteProtocolError, violation
from edge.mqtt.events import (
    ConnectionEnded,
    DeliveryCompleted,
    DeliveryDropped,
    DeliveryOutcome,
    Event,
    PublishReceived,
)
from edge.mqtt.framing import Framer
from edge.mqtt.inflight import Delivery, Inbound, Session
from edge.mqtt.message import V5_FLAG, OutgoingMessage
from edge.mqtt.packets import ConnAck, Disconnect, Packet, PubAck, PubComp, Publish, PubRec, PubRel
from edge.mqtt.properties import NO_PROPERTIES, Properties
from edge.mqtt.protocol import MAXIMUM_REMAINING_LENGTH, PacketType, ProtocolVersion
from edge.mqtt.reading import READERS
from edge.mqtt.reason_codes import FAILURE, ReasonCode
from edge.mqtt.states import RECEIVABLE_BITS, Side, State
from edge.mqtt.writing import write_packet

UNLIMITED_PACKET_SIZE = MAXIMUM_REMAINING_LENGTH + 5
"""A packet cannot be larger."""
_SHARED_TAIL_BYTES = 4096
"""From here on a payload is sent as its own chunk, shared by all receivers, and not copied behind a packet id."""

_MAY_ALWAYS_EXPLAIN = (ConnAck, Publish, Disconnect)
"""Packets with Reason String and User Properties even when Request Problem Information is 0 [MQTT-3.1.2-29]."""

Handler = Callable[[Any, Any], None]


class Connection:
    """The common half; ``ServerConnection`` and ``ClientConnection`` are the whole.

    Args:
        session: The flows, new or taken over.
        maximum_packet_size: The largest packet in bytes that we accept.
        version: The version, as far as it is known.
        state: The state to start in.
    """

    __slots__ = (
        "_alias_maximum",
        "_aliases",
        "_events",
        "_frame_flags",
        "_framer",
        "_last_packet_at",
        "_may_explain",
        "_now",
        "_output",
        "_peer_maximum",
        "_receivable",
        "_receive_maximum",
        "_session",
        "_state",
        "_version",
        "close_wanted",
    )

    _side: ClassVar[Side]
    _handlers: ClassVar[dict[int, Handler]]

    def __init__(
        self, session: Session, maximum_packet_size: int, version: ProtocolVersion, state: State
    ) -> None:
        self._session = session
        self._framer = Framer(maximum_packet_size)
        self._version = version
        self._frame_flags = 0
        self._events: list[Event] = []
        self._output: list[bytes] = []
        self._now = 0.0
        self._last_packet_at = 0.0
        self._peer_maximum = UNLIMITED_PACKET_SIZE
        self._receive_maximum = 0
        self._alias_maximum = 0
        self._aliases: dict[int, str] | None = None
        self._may_explain = True
        self.close_wanted = False
        self._enter(state)

    # What the I/O side calls ------------------------------------------------------------------------------------------

    def receive_data(self, data: bytes, now: float) -> None:
        """Take bytes from the peer. Then drain ``events_received`` and ``data_to_send``."""
        if self._state is State.CLOSED:
            return
        self._now = now
        self._framer.feed(data)
        self._read_frames()

    def receive_eof(self, now: float) -> None:
        """The peer or the network ended the stream. Then drain ``events_received`` and close."""
        self._now = now
        self._end(None, will_wanted=self._state is State.CONNECTED)

    def events_received(self) -> list[Event]:
        """What happened since the last call."""
        events = self._events
        if events:
            self._events = []
        return events

    def data_to_send(self) -> list[bytes]:
        """What to write, in order, since the last call."""
        output = self._output
        if output:
            self._output = []
        return output

    @property
    def state(self) -> State:
        """Where the connection stands."""
        return self._state

    @property
    def version(self) -> ProtocolVersion:
        """The version that CONNECT told; before it means nothing."""
        return self._version

    @property
    def session(self) -> Session:
        """The flows, for the next connection of the same session."""
        return self._session

    @property
    def in_flight(self) -> int:
        """How many deliveries wait for the peer's acknowledgement."""
        return self._session.outbound.in_flight

    @property
    def queued(self) -> int:
        """How many messages wait behind the window."""
        return self._session.outbound.queued

    @property
    def unfinished(self) -> int:
        """How many messages from the peer are not finished; for back-pressure."""
        return len(self._session.inbound)

    # Messages from us -------------------------------------------------------------------------------------------------

    def deliver(
        self,
        outgoing: OutgoingMessage,
        qos: int,
        retain: bool = False,
        subscription_ids: tuple[int, ...] = (),
        now: float | None = None,
    ) -> DeliveryOutcome:
        """Send a message, or let it wait behind the in-flight window.

        Args:
            outgoing: The message; the same object for all its receivers.
            qos: The QoS of this delivery.
            retain: The RETAIN flag of this delivery.
            subscription_ids: The receiver's subscription identifiers (MQTT 5.0; ignored in 3.x).
            now: The time, for messages that expire; the time of the last call that told one by default.

        Returns:
            What became of it. QoS 1 and 2 that were sent or queued end with ``DeliveryCompleted`` or
            ``DeliveryDropped``, or go on with the session's next connection.
        """
        if self._state is not State.CONNECTED:
            return DeliveryOutcome.DROPPED_CLOSED
        flags = self._frame_flags | qos << 1 | retain
        if not flags & V5_FLAG:
            subscription_ids = ()
        remaining = None
        if outgoing.expires_at is not None:
            remaining = outgoing.remaining(self._now if now is None else now)
            if remaining == 0:
                return DeliveryOutcome.DROPPED_EXPIRED  # [MQTT-3.3.2-5]
        if qos == 0:
            frame = outgoing.frames.get(flags) if remaining is None and not subscription_ids else None
            if frame is None:
                frame = outgoing.frame(flags, subscription_ids, remaining)
            if len(frame) > self._peer_maximum:
                return DeliveryOutcome.DROPPED_TOO_LARGE  # [MQTT-3.1.2-24]
            self._output.append(frame)
            return DeliveryOutcome.SENT
        head, tail = outgoing.parts(flags, subscription_ids, remaining)
        if len(head) + len(tail) + 2 > self._peer_maximum:
            return DeliveryOutcome.DROPPED_TOO_LARGE  # [MQTT-3.1.2-24]
        outbound = self._session.outbound
        delivery = Delivery(outgoing, qos, retain, subscription_ids)
        if outbound.has_room:  # [MQTT-3.3.4-9]
            self._write_publish(head, outbound.begin(delivery), tail)
            return DeliveryOutcome.SENT
        return DeliveryOutcome.QUEUED if outbound.enqueue(delivery) else DeliveryOutcome.DROPPED_QUEUE_FULL

    def _write_publish(self, head: bytes, packet_id: int, tail: bytes) -> None:
        if len(tail) < _SHARED_TAIL_BYTES:
            self._output.append(b"".join((head, packet_id.to_bytes(2, "big"), tail)))
        else:
            self._output += (head + packet_id.to_bytes(2, "big"), tail)

    def _fill_window(self) -> None:
        """Send what a free place in the window allows: first again what an earlier connection left, then the queue."""
        outbound = self._session.outbound
        while (delivery := outbound.next_resend()) is not None:
            self._send_again(delivery)
        while (delivery := outbound.next_queued()) is not None:
            self._send_queued(delivery)

    def _send_again(self, delivery: Delivery) -> None:
        """Same packet identifier, DUP set, and expired or not [MQTT-4.4.0-1], [MQTT-3.3.1-1]."""
        if delivery.is_released:
            self._send(PubRel(delivery.packet_id))
            return
        head, tail = self._parts_of(delivery)
        if len(head) + len(tail) + 2 > self._peer_maximum:
            self._session.outbound.complete(delivery)  # [MQTT-3.1.2-25]
            self._events.append(DeliveryDropped(delivery.message, DeliveryOutcome.DROPPED_TOO_LARGE))
            return
        self._write_publish(bytes((head[0] | 8,)) + head[1:], delivery.packet_id, tail)

    def _send_queued(self, delivery: Delivery) -> None:
        message = delivery.message
        if message.expires_at is not None and message.remaining(self._now) == 0:
            self._events.append(DeliveryDropped(message, DeliveryOutcome.DROPPED_EXPIRED))  # [MQTT-3.3.2-5]
            return
        head, tail = self._parts_of(delivery)
        if len(head) + len(tail) + 2 > self._peer_maximum:  # The session's next connection may allow less.
            self._events.append(DeliveryDropped(message, DeliveryOutcome.DROPPED_TOO_LARGE))
            return
        self._write_publish(head, self._session.outbound.begin(delivery), tail)

    def _parts_of(self, delivery: Delivery) -> tuple[bytes, bytes]:
        flags = self._frame_flags | delivery.qos << 1 | delivery.retain
        ids = delivery.subscription_ids if flags & V5_FLAG else ()
        return delivery.message.parts(flags, ids, delivery.message.remaining(self._now))

    # Acknowledgements of them -----------------------------------------------------------------------------------------

    def _on_puback(self, packet: PubAck) -> None:
        delivery = self._session.outbound.get(packet.packet_id)
        if delivery is None:
            return  # Left over from a session that was wiped; nothing hangs on it.
        if delivery.qos != 1:
            raise violation(f"PUBACK {packet.packet_id} answers a message of QoS 2")  # [MQTT-4.3.3-3]
        self._complete(delivery, packet.reason_code)

    def _on_pubrec(self, packet: PubRec) -> None:
        packet_id = packet.packet_id
        delivery = self._session.outbound.get(packet_id)
        if delivery is None:
            # MQTT 3.x cannot say "not found"; PUBREL lets the peer forget it.
            if packet.reason_code < FAILURE:
                self._send(PubRel(packet_id, self._not_found()))
            return
        if delivery.qos != 2:
            raise violation(f"PUBREC {packet_id} answers a message of QoS 1")
        if packet.reason_code >= FAILURE:
            self._complete(delivery, packet.reason_code)  # [MQTT-4.3.3-4]: no PUBREL
            return
        delivery.is_released = True
        self._send(PubRel(packet_id))

    def _on_pubcomp(self, packet: PubComp) -> None:
        delivery = self._session.outbound.get(packet.packet_id)
        if delivery is None:
            return
        if not delivery.is_released:
            raise violation(f"PUBCOMP {packet.packet_id} comes before its PUBREL")
        self._complete(delivery, packet.reason_code)

    def _complete(self, delivery: Delivery, reason_code: int) -> None:
        outbound = self._session.outbound
        outbound.complete(delivery)
        self._events.append(DeliveryCompleted(delivery.packet_id, delivery.message, reason_code))
        self._fill_window()

    def _not_found(self) -> int:
        is_v5 = self._version is ProtocolVersion.V5
        return ReasonCode.PACKET_IDENTIFIER_NOT_FOUND if is_v5 else ReasonCode.SUCCESS

    # Messages from the peer -------------------------------------------------------------------------------------------

    def _on_publish(self, packet: Publish) -> None:
        if packet.properties is not NO_PROPERTIES and packet.properties.topic_alias is not None:
            self._resolve_alias(packet, packet.properties.topic_alias)
        if packet.qos and not self._begin_inbound(packet):
            return
        self._events.append(PublishReceived(packet))

    def _resolve_alias(self, packet: Publish, alias: int) -> None:
        """Put the topic in for its alias, which lives as long as this connection [MQTT-3.3.2-7]."""
        if alias > self._alias_maximum:  # [MQTT-3.3.2-9]
            raise RemoteProtocolError(
                ReasonCode.TOPIC_ALIAS_INVALID,
                f"topic alias {alias} is above the maximum of {self._alias_maximum}",
            )
        if self._aliases is None:
            self._aliases = {}
        if packet.topic:
            self._aliases[alias] = packet.topic
            return
        topic = self._aliases.get(alias)
        if topic is None:
            raise violation(f"topic alias {alias} stands for no topic yet")
        packet.topic = topic

    def _begin_inbound(self, packet: Publish) -> bool:
        """Begin a QoS 1 or 2 flow; False when it is a repetition of one that is under way."""
        inbound = self._session.inbound
        known = inbound.get(packet.packet_id)
        if known is None:
            inbound.put(
                packet.packet_id, Inbound.QOS_1_RECEIVED if packet.qos == 1 else Inbound.QOS_2_RECEIVED
            )
            if self._receive_maximum and inbound.outstanding > self._receive_maximum:  # [MQTT-3.3.4-7]
                raise RemoteProtocolError(
                    ReasonCode.RECEIVE_MAXIMUM_EXCEEDED,
                    f"more than {self._receive_maximum} messages wait for their acknowledgement",
                )
            return True
        if (known is Inbound.QOS_1_RECEIVED) != (packet.qos == 1) or (packet.qos == 1 and not packet.dup):
            raise violation(f"packet identifier {packet.packet_id} is in use")  # [MQTT-2.2.1-3]
        if known is Inbound.QOS_2_CONFIRMED:
            self._send(PubRec(packet.packet_id))  # [MQTT-4.3.3-10]
        return False

    def confirm_publish(
        self,
        packet_id: int,
        reason: int = ReasonCode.SUCCESS,
        reason_string: str | None = None,
    ) -> None:
        """The message is safe (or refused): send PUBACK or PUBREC. Then drain ``data_to_send``.

        On a closed connection it only notes a QoS 2 message as received, for the session's next one. A failing reason
        in MQTT 3.x, which has none, closes the connection.

        Raises:
            LocalProtocolError: No message with this packet identifier waits for it.
        """
        inbound = self._session.inbound
        known = inbound.get(packet_id)
        if known is None or known is Inbound.QOS_2_CONFIRMED:
            raise LocalProtocolError(f"packet identifier {packet_id} waits for no confirmation")
        is_v5 = self._version is ProtocolVersion.V5
        if reason >= FAILURE and not is_v5:
            inbound.finish(packet_id)
            self._end(reason, will_wanted=True)
            return
        if known is Inbound.QOS_1_RECEIVED or reason >= FAILURE:
            inbound.finish(packet_id)  # [MQTT-4.3.3-9]: a refused QoS 2 message frees its identifier
        else:
            inbound.put(packet_id, Inbound.QOS_2_CONFIRMED)
        if self._state is State.CLOSED:
            return
        if reason or reason_string is not None or self._peer_maximum < 4:
            answer = PubAck if known is Inbound.QOS_1_RECEIVED else PubRec
            self._send(answer(packet_id, reason, explained(reason_string)))
            return
        first = b"\x40\x02" if known is Inbound.QOS_1_RECEIVED else b"\x50\x02"
        self._output.append(first + packet_id.to_bytes(2, "big"))

    def _on_pubrel(self, packet: PubRel) -> None:
        packet_id = packet.packet_id
        known = self._session.inbound.get(packet_id)
        if known is Inbound.QOS_2_RECEIVED:
            raise violation(f"PUBREL {packet_id} comes before its PUBREC")
        if known is Inbound.QOS_2_CONFIRMED:
            self._session.inbound.finish(packet_id)
            self._send(PubComp(packet_id))  # [MQTT-4.3.3-11]
        else:
            self._send(PubComp(packet_id, self._not_found()))

    # Reading and ending -----------------------------------------------------------------------------------------------

    def _enter(self, state: State) -> None:
        self._state = state
        self._receivable = RECEIVABLE_BITS[self._side, state]

    def _use_version(self, version: ProtocolVersion) -> None:
        self._version = version
        self._frame_flags = V5_FLAG if version is ProtocolVersion.V5 else 0
        self._framer.use_version(version)

    def _read_frames(self) -> None:
        """Handle all packets that are complete and may be read in this state."""
        next_frame = self._framer.next_frame
        handlers = self._handlers
        try:
            while self._receivable:
                frame = next_frame()
                if frame is None:
                    return
                first, body = frame
                kind = first >> 4
                if not self._receivable >> kind & 1:
                    raise violation(f"{PacketType(kind).name} must not be sent now")
                self._last_packet_at = self._now  # [MQTT-3.1.2-22]: only what is complete counts
                handlers[kind](self, READERS[kind](first, body, self._version))
        except RemoteProtocolError as error:
            self._fail(error)

    def _fail(self, error: RemoteProtocolError) -> None:
        """The one place where a peer's fault becomes a reason code on the wire [MQTT-4.13.1-1]."""
        if self._state is State.CONNECTED and self._version is ProtocolVersion.V5:
            self._send(Disconnect(error.reason_code, explained(error.message)))
        self._end(error.reason_code, will_wanted=self._state is State.CONNECTED)

    def _end(self, reason_code: int | None, *, will_wanted: bool) -> None:
        if self._state is State.CLOSED:
            return
        self._enter(State.CLOSED)
        self._framer = Framer(0)
        self.close_wanted = True
        self._events.append(ConnectionEnded(reason_code, will_wanted))

    def _send(self, packet: Packet) -> bool:
        """Write a packet; without its diagnosis where that is not wanted or too large, and not at all if still so."""
        if not self._may_explain and not isinstance(packet, _MAY_ALWAYS_EXPLAIN):
            packet = _terse(packet)
        frame = write_packet(packet, self._version)
        if len(frame) > self._peer_maximum:
            frame = write_packet(_terse(packet), self._version)  # [MQTT-3.4.2-2], [MQTT-3.9.2-1] and the like
            if len(frame) > self._peer_maximum:
                return False  # [MQTT-3.1.2-24]
        self._output.append(frame)
        return True


def explained(reason_string: str | None) -> Properties:
    """Properties with a Reason String, if there is one."""
    return NO_PROPERTIES if reason_string is None else Properties(reason_string=reason_string)


def _terse(packet: Any) -> Packet:
    """The packet without Reason String and User Properties."""
    if not hasattr(packet, "properties"):
        return packet
    terse: Packet = replace(
        packet, properties=replace(packet.properties, reason_string=None, user_properties=())
    )
    return terse
