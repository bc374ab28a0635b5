"""The client's half of a connection, for tests, the demo and load generators: the mirror of ``server``."""

from collections.abc import Sequence
from typing import ClassVar

from edge.mqtt.connection import Connection
from edge.mqtt.errors import LocalProtocolError, violation
from edge.mqtt.events import (
    AuthReceived,
    ConnAckReceived,
    DeliveryOutcome,
    DisconnectReceived,
    PingRespReceived,
    SubAckReceived,
    UnsubAckReceived,
)
from edge.mqtt.inflight import Inbound, Session
from edge.mqtt.limits import ClientLimits
from edge.mqtt.message import OutgoingMessage
from edge.mqtt.packets import (
    Auth,
    ConnAck,
    Connect,
    Disconnect,
    PingResp,
    Publish,
    SubAck,
    Subscribe,
    Subscription,
    UnsubAck,
    Unsubscribe,
)
from edge.mqtt.properties import NO_PROPERTIES, Properties
from edge.mqtt.protocol import PacketType, ProtocolVersion
from edge.mqtt.reason_codes import FAILURE, ReasonCode
from edge.mqtt.states import Side, State
from edge.mqtt.wire import UNLIMITED_PACKET_SIZE, Handler

__all__ = ["ClientConnection", "ClientLimits"]

V5 = ProtocolVersion.V5
_PING = b"\xc0\x00"


class ClientConnection(Connection):
    """A connection to a server. CONNECT is the first thing to send: it is there from the start.

    Args:
        connect: The CONNECT; its properties say what the server may do.
        limits: What the client allows itself.
        session: The flows of an earlier connection, to go on with if the server still has the session.
        now: When the connection starts, for the keep alive.
    """

    __slots__ = ("_connect", "_keep_alive", "_maximum_qos", "_may_retain", "_pinged_at", "_sent_at", "limits")

    _side: ClassVar[Side] = Side.CLIENT

    def __init__(
        self,
        connect: Connect,
        limits: ClientLimits | None = None,
        *,
        session: Session | None = None,
        now: float = 0.0,
    ) -> None:
        self.limits = limits or ClientLimits()
        self._connect = connect
        self._keep_alive = connect.keep_alive
        self._sent_at = now
        self._pinged_at: float | None = None
        self._maximum_qos = 2
        self._may_retain = True
        flows = session or Session(self.limits.maximum_queued, self.limits.maximum_queued_bytes)
        wanted = connect.properties
        maximum = wanted.maximum_packet_size or UNLIMITED_PACKET_SIZE
        super().__init__(flows, maximum, connect.version, State.AWAITING_CONNACK)
        self._now = now
        self._use_version(connect.version)
        if connect.version is V5:
            self._receive_maximum = wanted.receive_maximum or 0xFFFF
            self._alias_maximum = wanted.topic_alias_maximum or 0
        self._send(connect)

    # Time -------------------------------------------------------------------------------------------------------------

    def deadline(self) -> float | None:
        """When to call ``handle_timeout``: the next ping, or the end of the wait for its answer."""
        if self._state is not State.CONNECTED or not self._keep_alive:
            return None
        start = self._sent_at if self._pinged_at is None else self._pinged_at
        return start + self._keep_alive

    def handle_timeout(self, now: float) -> None:
        """The deadline may have passed: ping, or give up when the last ping had no answer."""
        self._now = now
        deadline = self.deadline()
        if deadline is None or now < deadline:
            return
        if self._pinged_at is None:
            self.ping(now)
        else:
            self._end(ReasonCode.KEEP_ALIVE_TIMEOUT, will_wanted=False)

    def data_to_send(self) -> list[bytes]:
        """What to write, in order, since the last call."""
        output = super().data_to_send()
        if output:
            self._sent_at = self._now
        return output

    # Reading ----------------------------------------------------------------------------------------------------------

    def _on_connack(self, packet: ConnAck) -> None:
        if packet.reason_code >= FAILURE or (packet.reason_code and self._version is not V5):
            self._end(packet.reason_code, will_wanted=False)
            return
        given = packet.properties
        if given.server_keep_alive is not None:
            self._keep_alive = given.server_keep_alive  # [MQTT-3.1.2-21]
        self._peer_maximum = given.maximum_packet_size or UNLIMITED_PACKET_SIZE
        if given.maximum_qos is not None:
            self._maximum_qos = given.maximum_qos
        self._may_retain = given.retain_available != 0
        if not packet.session_present:  # [MQTT-3.2.2-5]: what the server has forgotten cannot go on
            self._use_session(Session(self.limits.maximum_queued, self.limits.maximum_queued_bytes))
        elif self._connect.clean_start:
            raise violation("a session is present after a clean start")  # [MQTT-3.2.2-2]
        self._session.resume(min(self.limits.maximum_in_flight, given.receive_maximum or 0xFFFF))
        self._enter(State.CONNECTED)
        self._events.append(ConnAckReceived(packet))
        self._fill_window()

    def _on_publish(self, packet: Publish) -> None:
        super()._on_publish(packet)
        if packet.qos and self.limits.confirms_at_once and self._is_unconfirmed(packet.packet_id):
            self.confirm_publish(packet.packet_id)

    def _is_unconfirmed(self, packet_id: int) -> bool:
        known = self._session.inbound.get(packet_id)
        return known is not None and known is not Inbound.QOS_2_CONFIRMED

    def _on_suback(self, packet: SubAck) -> None:
        if self._session.outbound.release(packet.packet_id):
            self._events.append(SubAckReceived(packet))

    def _on_unsuback(self, packet: UnsubAck) -> None:
        if self._session.outbound.release(packet.packet_id):
            self._events.append(UnsubAckReceived(packet))

    def _on_pingresp(self, _packet: PingResp) -> None:
        self._pinged_at = None
        self._events.append(PingRespReceived())

    def _on_auth(self, packet: Auth) -> None:
        if self._connect.properties.authentication_method is None:
            raise violation("AUTH comes though no authentication method was named")  # [MQTT-4.12.0-6]
        self._events.append(AuthReceived(packet))

    def _on_disconnect(self, packet: Disconnect) -> None:
        if self._version is not V5:
            raise violation("a server of MQTT 3.x must not send DISCONNECT")
        self._events.append(DisconnectReceived(packet.reason_code, packet.properties))
        self._end(packet.reason_code, will_wanted=False)

    # Commands ---------------------------------------------------------------------------------------------------------

    def publish(
        self,
        topic: str,
        payload: bytes = b"",
        qos: int = 0,
        retain: bool = False,
        properties: Properties = NO_PROPERTIES,
    ) -> DeliveryOutcome:
        """Publish a message; at QoS 1 and 2 ``DeliveryCompleted`` follows.

        Use ``deliver`` with an ``OutgoingMessage`` of your own to tell by the event which one is finished, or to send
        one message many times.

        Raises:
            LocalProtocolError: The server has said that it takes no such message.
        """
        if qos > self._maximum_qos:
            raise LocalProtocolError(f"the server allows QoS {self._maximum_qos} at most")  # [MQTT-3.2.2-11]
        if retain and not self._may_retain:
            raise LocalProtocolError("the server retains no messages")  # [MQTT-3.2.2-14]
        return self.deliver(OutgoingMessage(topic, payload, properties), qos, retain)

    def subscribe(self, subscriptions: Sequence[Subscription], properties: Properties = NO_PROPERTIES) -> int:
        """Subscribe; returns the packet identifier that ``SubAckReceived`` will carry."""
        self._need_open()
        packet_id = self._session.outbound.reserve()
        self._send(Subscribe(packet_id, tuple(subscriptions), properties))
        return packet_id

    def unsubscribe(self, filters: Sequence[str], properties: Properties = NO_PROPERTIES) -> int:
        """Unsubscribe; returns the packet identifier that ``UnsubAckReceived`` will carry."""
        self._need_open()
        packet_id = self._session.outbound.reserve()
        self._send(Unsubscribe(packet_id, tuple(filters), properties))
        return packet_id

    def ping(self, now: float) -> None:
        """Send PINGREQ."""
        self._need_open()
        self._now = now
        self._pinged_at = now
        self._output.append(_PING)

    def authenticate(self, reason: int, properties: Properties) -> None:
        """Send AUTH: CONTINUE_AUTHENTICATION, or RE_AUTHENTICATE once the connection is open.

        Raises:
            LocalProtocolError: CONNECT named no authentication method, or another one, or the reason is the server's.
        """
        method = self._connect.properties.authentication_method
        if method is None or properties.authentication_method != method:
            raise LocalProtocolError("AUTH needs CONNECT's method")  # [MQTT-4.12.0-7], [MQTT-4.12.1-1]
        is_again = reason == ReasonCode.RE_AUTHENTICATE and self._state is State.CONNECTED
        if reason != ReasonCode.CONTINUE_AUTHENTICATION and not is_again:
            raise LocalProtocolError("a client must not send AUTH with this reason now")  # [MQTT-4.12.0-3]
        self._send(Auth(reason, properties))

    def disconnect(
        self, reason: int = ReasonCode.NORMAL_DISCONNECTION, properties: Properties = NO_PROPERTIES
    ) -> None:
        """Say DISCONNECT and end the connection."""
        if self._state is State.CONNECTED:
            self._send(Disconnect(reason, properties))
        self._end(reason, will_wanted=False)

    def _need_open(self) -> None:
        if self._state is not State.CONNECTED:
            raise LocalProtocolError("the connection is not open")

    _handlers: ClassVar[dict[int, Handler]] = {
        PacketType.CONNACK: _on_connack,
        PacketType.PUBLISH: _on_publish,
        PacketType.PUBACK: Connection._on_puback,
        PacketType.PUBREC: Connection._on_pubrec,
        PacketType.PUBREL: Connection._on_pubrel,
        PacketType.PUBCOMP: Connection._on_pubcomp,
        PacketType.SUBACK: _on_suback,
        PacketType.UNSUBACK: _on_unsuback,
        PacketType.PINGRESP: _on_pingresp,
        PacketType.DISCONNECT: _on_disconnect,
        PacketType.AUTH: _on_auth,
    }
