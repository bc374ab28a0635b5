"""The flows of messages in both directions, which are the same for a server and a client.

Messages to the peer go through a window of those under way and a bounded queue behind it; messages from the peer at
QoS 1 and 2 wait for the application's confirmation. ``wire`` says how to drive a connection.
"""

from edge.mqtt.errors import LocalProtocolError, RemoteProtocolError, violation
from edge.mqtt.events import (
    DeliveryCompleted,
    DeliveryDropped,
    DeliveryOutcome,
    DeliveryReceived,
    PublishReceived,
    ReleaseReceived,
)
from edge.mqtt.inflight import Delivery, Gate, Inbound, Session
from edge.mqtt.message import V5_FLAG, OutgoingMessage
from edge.mqtt.packets import PubAck, PubComp, Publish, PubRec, PubRel
from edge.mqtt.properties import NO_PROPERTIES, Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import FAILURE, ReasonCode
from edge.mqtt.states import State
from edge.mqtt.topic_aliases import SentAliases
from edge.mqtt.wire import Wire, explained

_SHARED_TAIL_BYTES = 4096
"""From here on a payload is sent as its own chunk, shared by all receivers, and not copied behind a packet id."""
_PUBACK_HEAD = b"\x40\x02"
_PUBREC_HEAD = b"\x50\x02"

# Members of an enumeration looked up once: each lookup costs as much as an addition, and these run for each message.
_CONNECTED = State.CONNECTED
_SENT = DeliveryOutcome.SENT
_QOS_1_RECEIVED = Inbound.QOS_1_RECEIVED
_QOS_2_RECEIVED = Inbound.QOS_2_RECEIVED
_QOS_2_CONFIRMED = Inbound.QOS_2_CONFIRMED


class Connection(Wire):
    """The common half; ``ServerConnection`` and ``ClientConnection`` are the whole.

    Args:
        session: The flows, new or taken over.
        maximum_packet_size: The largest packet in bytes that we accept.
        version: The version, as far as it is known.
        state: The state to start in.
    """

    __slots__ = (
        "_alias_maximum", "_aliases", "_inbound", "_is_kept", "_outbound", "_receive_maximum", "_sent_aliases",
        "_session",
    )  # fmt: skip

    def __init__(
        self, session: Session, maximum_packet_size: int, version: ProtocolVersion, state: State
    ) -> None:
        super().__init__(maximum_packet_size, version, state)
        self._receive_maximum = 0
        self._alias_maximum = 0
        self._aliases: dict[int, str] | None = None
        self._sent_aliases: SentAliases | None = None
        self._is_kept = False
        self._use_session(session)

    def _use_session(self, session: Session) -> None:
        self._session = session
        self._inbound = session.inbound
        self._outbound = session.outbound

    @property
    def session(self) -> Session:
        """The flows, for the next connection of the same session."""
        return self._session

    @property
    def in_flight(self) -> int:
        """How many deliveries wait for the peer's acknowledgement."""
        return self._outbound.in_flight

    @property
    def queued(self) -> int:
        """How many messages wait behind the window."""
        return self._outbound.queued

    @property
    def has_room(self) -> bool:
        """Whether a message at QoS 1 or 2 would be sent at once, and none waits behind the window."""
        outbound = self._outbound
        return self._state is _CONNECTED and not outbound.queued and outbound.has_room

    def pace(self, gate: Gate) -> None:
        """Have a gate decide, beside the window, when deliveries at QoS 1 and 2 begin on this connection.

        Call it when the connection is open, and ``continue_deliveries`` whenever the gate was closed and opens.
        """
        self._outbound.pace(gate)

    def continue_deliveries(self) -> None:
        """The gate may have opened: send what waits. Then drain as after ``receive_data``."""
        if self._state is _CONNECTED:
            self._fill_window()

    @property
    def unfinished(self) -> int:
        """How many messages from the peer are not finished; for back-pressure."""
        return len(self._inbound)

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
        if self._state is not _CONNECTED:
            return DeliveryOutcome.DROPPED_CLOSED
        flags = self._frame_flags | qos << 1 | retain
        if not flags & V5_FLAG:
            subscription_ids = ()
        remaining = None
        if outgoing.expires_at is not None:
            if now is not None:
                self._now = now
            remaining = outgoing.remaining(self._now)
            if remaining == 0:
                return DeliveryOutcome.DROPPED_EXPIRED  # [MQTT-3.3.2-5]
        if qos == 0:
            frame = outgoing.frames.get(flags) if remaining is None and not subscription_ids else None
            if frame is None:
                frame = outgoing.frame(flags, subscription_ids, remaining)
            if len(frame) > self._peer_maximum:
                return DeliveryOutcome.DROPPED_TOO_LARGE  # [MQTT-3.1.2-24]
            if self._sent_aliases is not None:
                frame = self._aliased_frame(outgoing, flags, subscription_ids, remaining, frame)
            self._output.append(frame)
            return _SENT
        head, tail = outgoing.parts(flags, subscription_ids, remaining)
        if len(head) + len(tail) + 2 > self._peer_maximum:
            return DeliveryOutcome.DROPPED_TOO_LARGE  # [MQTT-3.1.2-24]
        delivery = Delivery(outgoing, qos, retain, subscription_ids)
        packet_id = self._outbound.begin(delivery)
        if packet_id:
            self._write_delivery(delivery, head, tail)
            return _SENT
        is_queued = self._outbound.enqueue(delivery)
        return DeliveryOutcome.QUEUED if is_queued else DeliveryOutcome.DROPPED_QUEUE_FULL

    def can_deliver_as(self, packet_id: int) -> bool:
        """Whether ``deliver_as`` may be called with this packet identifier now."""
        return self._state is _CONNECTED and self._outbound.can_begin_as(packet_id)

    def deliver_as(
        self,
        packet_id: int,
        outgoing: OutgoingMessage,
        qos: int,
        retain: bool = False,
        subscription_ids: tuple[int, ...] = (),
        *,
        dup: bool = False,
        now: float | None = None,
    ) -> DeliveryOutcome:
        """Send a message that the application keeps until it is acknowledged, under a packet identifier of its choice.

        Nothing of it is queued here: ask ``can_deliver_as`` first. At QoS 2 a PUBREC makes ``DeliveryReceived``, and
        PUBREL waits for ``release_delivery``; so the application can go on with it on another connection.

        Args:
            packet_id: From 1 to 65,535.
            outgoing: The message.
            qos: 1 or 2.
            retain: The RETAIN flag.
            subscription_ids: The receiver's subscription identifiers.
            dup: Whether it may have been sent before: sent then, expired or not [MQTT-4.4.0-1].
            now: The time; that of the last call that told one by default.

        Raises:
            LocalProtocolError: ``can_deliver_as`` was not asked.
        """
        if not self.can_deliver_as(packet_id):
            raise LocalProtocolError(f"packet identifier {packet_id} cannot be used now")
        if now is not None:
            self._now = now
        if outgoing.remaining(self._now) == 0 and not dup:
            return DeliveryOutcome.DROPPED_EXPIRED  # [MQTT-3.3.2-5]
        delivery = Delivery(outgoing, qos, retain, subscription_ids, is_logged=True)
        head, tail = self._parts_of(delivery)
        if len(head) + len(tail) + 2 > self._peer_maximum:
            return DeliveryOutcome.DROPPED_TOO_LARGE  # [MQTT-3.1.2-25]
        self._outbound.begin_as(delivery, packet_id)
        self._write_delivery(delivery, head, tail, dup=dup)
        return _SENT

    def resume_release(self, packet_id: int, outgoing: OutgoingMessage) -> None:
        """Go on with a QoS 2 delivery of an earlier connection that the peer has received: send PUBREL.

        Raises:
            LocalProtocolError: ``can_deliver_as`` was not asked.
        """
        if not self.can_deliver_as(packet_id):
            raise LocalProtocolError(f"packet identifier {packet_id} cannot be used now")
        delivery = Delivery(outgoing, 2, is_logged=True, is_received=True, is_released=True)
        self._outbound.begin_as(delivery, packet_id)
        self._send(PubRel(packet_id))

    def release_delivery(self, packet_id: int) -> None:
        """The PUBREC of a kept delivery is noted: send PUBREL. Does nothing on a connection that is over."""
        delivery = self._outbound.get(packet_id)
        if self._state is _CONNECTED and delivery is not None and not delivery.is_released:
            delivery.is_released = True
            self._send(PubRel(packet_id))

    def _write_delivery(self, delivery: Delivery, head: bytes, tail: bytes, *, dup: bool = False) -> None:
        """Write a delivery that has its packet identifier, encoded without an alias; with one where it may have one."""
        if self._sent_aliases is not None:
            message, flags = delivery.message, self._frame_flags | delivery.qos << 1 | delivery.retain
            aliased = self._sent_aliases.parts(
                message,
                flags,
                delivery.subscription_ids,
                message.remaining(self._now),
                self._peer_maximum,
            )
            if aliased is not None:
                head, tail = aliased
        if dup:
            head = bytes((head[0] | 8,)) + head[1:]
        packet_id = delivery.packet_id
        if len(tail) < _SHARED_TAIL_BYTES:
            self._output.append(b"".join((head, packet_id.to_bytes(2, "big"), tail)))
        else:
            self._output += (head + packet_id.to_bytes(2, "big"), tail)

    def _aliased_frame(
        self,
        outgoing: OutgoingMessage,
        flags: int,
        subscription_ids: tuple[int, ...],
        remaining: int | None,
        frame: bytes,
    ) -> bytes:
        """The packet at QoS 0 with an alias where it may have one, else as it is."""
        assert self._sent_aliases is not None  # noqa: S101 - else nobody calls
        parts = self._sent_aliases.parts(outgoing, flags, subscription_ids, remaining, self._peer_maximum)
        return frame if parts is None else b"".join(parts)

    def _fill_window(self) -> None:
        """Send what a free place in the window allows: first again what an earlier connection left, then the queue."""
        outbound = self._outbound
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
            self._outbound.complete(delivery)  # [MQTT-3.1.2-25]
            self._events.append(DeliveryDropped(delivery.message, DeliveryOutcome.DROPPED_TOO_LARGE))
            return
        self._write_delivery(delivery, head, tail, dup=True)

    def _send_queued(self, delivery: Delivery) -> None:
        message = delivery.message
        if message.expires_at is not None and message.remaining(self._now) == 0:
            self._events.append(DeliveryDropped(message, DeliveryOutcome.DROPPED_EXPIRED))  # [MQTT-3.3.2-5]
            return
        head, tail = self._parts_of(delivery)
        if len(head) + len(tail) + 2 > self._peer_maximum:  # The session's next connection may allow less.
            self._events.append(DeliveryDropped(message, DeliveryOutcome.DROPPED_TOO_LARGE))
            return
        self._outbound.begin(delivery)
        self._write_delivery(delivery, head, tail)

    def _parts_of(self, delivery: Delivery) -> tuple[bytes, bytes]:
        flags = self._frame_flags | delivery.qos << 1 | delivery.retain
        ids = delivery.subscription_ids if flags & V5_FLAG else ()
        return delivery.message.parts(flags, ids, delivery.message.remaining(self._now))

    # Acknowledgements of them -----------------------------------------------------------------------------------------

    def _on_puback(self, packet: PubAck) -> None:
        delivery = self._outbound.get(packet.packet_id)
        if delivery is None:
            return  # Left over from a session that was wiped; nothing hangs on it.
        if delivery.qos != 1:
            raise violation(f"PUBACK {packet.packet_id} answers a message of QoS 2")  # [MQTT-4.3.3-3]
        self._complete(delivery, packet.reason_code)

    def _on_pubrec(self, packet: PubRec) -> None:
        packet_id = packet.packet_id
        delivery = self._outbound.get(packet_id)
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
        if delivery.is_logged and not delivery.is_released:
            if not delivery.is_received:
                delivery.is_received = True
                self._events.append(DeliveryReceived(packet_id, delivery.message))
            return
        delivery.is_released = True
        self._send(PubRel(packet_id))

    def _on_pubcomp(self, packet: PubComp) -> None:
        delivery = self._outbound.get(packet.packet_id)
        if delivery is None:
            return
        if not delivery.is_released:
            raise violation(f"PUBCOMP {packet.packet_id} comes before its PUBREL")
        self._complete(delivery, packet.reason_code)

    def _complete(self, delivery: Delivery, reason_code: int) -> None:
        outbound = self._outbound
        outbound.complete(delivery)
        self._events.append(DeliveryCompleted(delivery.packet_id, delivery.message, reason_code))
        self._fill_window()

    def _not_found(self) -> int:
        is_v5 = self._version is ProtocolVersion.V5
        return ReasonCode.PACKET_IDENTIFIER_NOT_FOUND if is_v5 else ReasonCode.SUCCESS

    # Messages from the peer -------------------------------------------------------------------------------------------

    def _on_publish(self, packet: Publish) -> None:
        if packet.properties is not NO_PROPERTIES:
            self._take_publish_properties(packet, packet.properties)
        if packet.qos and not self._begin_inbound(packet):
            return
        self._events.append(PublishReceived(packet))

    def _take_publish_properties(self, packet: Publish, properties: Properties) -> None:
        """Put the topic in for its alias, which lives as long as this connection [MQTT-3.3.2-7]."""
        alias = properties.topic_alias
        if alias is None:
            return
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
        inbound = self._inbound
        known = inbound.get(packet.packet_id)
        if known is None:
            maximum = self._receive_maximum
            if maximum and inbound.outstanding >= maximum:  # [MQTT-3.3.4-7]
                raise RemoteProtocolError(
                    ReasonCode.RECEIVE_MAXIMUM_EXCEEDED,
                    f"more than {maximum} messages wait for their acknowledgement",
                )
            inbound.put(packet.packet_id, _QOS_1_RECEIVED if packet.qos == 1 else _QOS_2_RECEIVED)
            return True
        if (known is _QOS_1_RECEIVED) != (packet.qos == 1) or (packet.qos == 1 and not packet.dup):
            raise violation(f"packet identifier {packet.packet_id} is in use")  # [MQTT-2.2.1-3]
        inbound.repeat(packet.packet_id)
        if known is _QOS_2_CONFIRMED or known is Inbound.QOS_2_RELEASED:
            self._send(PubRec(packet.packet_id))  # [MQTT-4.3.3-10]
        return False

    def confirm_publish(
        self,
        packet_id: int,
        reason: int = ReasonCode.SUCCESS,
        reason_string: str | None = None,
    ) -> None:
        """The message is safe (or refused): send PUBACK or PUBREC. Then drain ``data_to_send``.

        On a connection that is not open it only notes a QoS 2 message as received, for the session's next one. What
        came on an earlier connection at QoS 1 is acknowledged when the peer sends it again. A failing reason in MQTT
        3.x, which has none, closes the connection.

        Raises:
            LocalProtocolError: No message with this packet identifier waits for it.
        """
        inbound = self._inbound
        known = inbound.get(packet_id)
        if known is not _QOS_1_RECEIVED and known is not _QOS_2_RECEIVED:
            raise LocalProtocolError(f"packet identifier {packet_id} waits for no confirmation")
        if reason >= FAILURE and not self._frame_flags & V5_FLAG:
            inbound.finish(packet_id)
            self._end(reason, will_wanted=True)
            return
        came_here = True
        if known is _QOS_1_RECEIVED or reason >= FAILURE:
            # [MQTT-4.3.3-9]: a refused QoS 2 message frees its identifier
            came_here = inbound.finish(packet_id)
        else:
            inbound.put(packet_id, _QOS_2_CONFIRMED)
        # A PUBACK for what came on an earlier connection would cross with the peer's repetition of it, which we would
        # take for a new message, and the peer no longer count. It is acknowledged when it comes again [MQTT-4.4.0-1].
        if self._state is not _CONNECTED or (known is _QOS_1_RECEIVED and not came_here):
            return
        if reason or reason_string is not None or self._peer_maximum < 4:
            answer = PubAck if known is _QOS_1_RECEIVED else PubRec
            self._send(answer(packet_id, reason, explained(reason_string)))
            return
        head = _PUBACK_HEAD if known is _QOS_1_RECEIVED else _PUBREC_HEAD
        self._output.append(head + packet_id.to_bytes(2, "big"))

    def _on_pubrel(self, packet: PubRel) -> None:
        packet_id = packet.packet_id
        known = self._inbound.get(packet_id)
        if known is _QOS_2_RECEIVED:
            raise violation(f"PUBREL {packet_id} comes before its PUBREC")
        if known is _QOS_2_CONFIRMED and self._is_kept:
            self._inbound.put(packet_id, Inbound.QOS_2_RELEASED)
            self._events.append(ReleaseReceived(packet_id))
        elif known is _QOS_2_CONFIRMED:
            self._inbound.finish(packet_id)
            self._send(PubComp(packet_id))  # [MQTT-4.3.3-11]
        elif known is None:
            self._send(PubComp(packet_id, self._not_found()))

    def confirm_release(self, packet_id: int) -> None:
        """A ``ReleaseReceived`` is noted: the packet identifier is free, send PUBCOMP.

        Raises:
            LocalProtocolError: No PUBREL with this packet identifier waits for it.
        """
        if self._inbound.get(packet_id) is not Inbound.QOS_2_RELEASED:
            raise LocalProtocolError(f"packet identifier {packet_id} waits for no release")
        self._inbound.finish(packet_id)
        if self._state is _CONNECTED:
            self._send(PubComp(packet_id))
