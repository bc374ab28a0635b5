"""The server's half of a connection: what a gateway drives for each of its clients.

``ConnectReceived`` waits for ``accept`` or ``refuse``, each message at QoS 1 and 2 for ``confirm_publish``; pings,
releases and the in-flight window are looked after inside.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from edge.mqtt.connection import Connection
from edge.mqtt.errors import LocalProtocolError, RemoteProtocolError, violation
from edge.mqtt.events import (
    AuthReceived,
    ConnectReceived,
    DisconnectReceived,
    SubscribeReceived,
    UnsubscribeReceived,
)
from edge.mqtt.inflight import Session
from edge.mqtt.limits import ServerLimits
from edge.mqtt.packets import (
    Auth,
    ConnAck,
    Connect,
    Disconnect,
    PingReq,
    Publish,
    SubAck,
    Subscribe,
    UnsubAck,
    Unsubscribe,
    Will,
)
from edge.mqtt.payload_format import is_as_indicated
from edge.mqtt.properties import NO_PROPERTIES, Properties
from edge.mqtt.protocol import PacketType, ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode, connack_code, return_code
from edge.mqtt.states import Side, State
from edge.mqtt.topic_aliases import SentAliases
from edge.mqtt.wire import UNLIMITED_PACKET_SIZE, Handler, explained

__all__ = ["ServerConnection", "ServerLimits"]

V5 = ProtocolVersion.V5
_DEFAULT_RECEIVE_MAXIMUM = 65_535
"""What an absent Receive Maximum means (section 3.1.2.11.3)."""

_UNLIMITED = 0xFFFF
"""A Receive Maximum that need not be said."""


class ServerConnection(Connection):
    """One client's connection, seen from the server.

    Args:
        limits: What the server allows.
        now: When the transport was opened, for the connect timeout; without it that begins with the first bytes.
    """

    __slots__ = (
        "_asks_response_as",
        "_authentication_method",
        "_client_expiry",
        "_deadline_from",
        "_keep_alive",
        "_needs_client_id",
        "_server_keep_alive",
        "_window",
        "limits",
    )

    _side: ClassVar[Side] = Side.SERVER

    def __init__(self, limits: ServerLimits, now: float | None = None) -> None:
        self.limits = limits
        self._deadline_from = now
        self._keep_alive = 0
        self._needs_client_id = False
        self._asks_response_as: str | None = None
        self._server_keep_alive: int | None = None
        self._window = limits.maximum_in_flight
        self._authentication_method: str | None = None
        self._client_expiry = 0
        session = Session(limits.maximum_queued, limits.maximum_queued_bytes)
        super().__init__(session, limits.maximum_packet_size, ProtocolVersion.V3_1_1, State.AWAITING_CONNECT)

    # Time -------------------------------------------------------------------------------------------------------------

    def deadline(self) -> float | None:
        """When to call ``handle_timeout``, on the clock of ``now``; None for never. Changes with every call."""
        if self._state is State.CONNECTED:
            return (
                self._last_packet_at + 1.5 * self._keep_alive if self._keep_alive else None
            )  # [MQTT-3.1.2-22]
        if self._state in (State.AWAITING_CONNECT, State.AUTHENTICATING) and self._deadline_from is not None:
            return self._deadline_from + self.limits.connect_timeout
        return None

    def handle_timeout(self, now: float) -> None:
        """The deadline may have passed: end the connection if it has. Then drain as after ``receive_data``."""
        self._now = now
        deadline = self.deadline()
        if deadline is None or now < deadline:
            return
        if self._state is State.CONNECTED:
            self._fail(
                RemoteProtocolError(
                    ReasonCode.KEEP_ALIVE_TIMEOUT, "nothing came for 1.5 times the keep alive"
                )
            )
        else:
            self._end(ReasonCode.MAXIMUM_CONNECT_TIME, will_wanted=False)

    @property
    def authentication_method(self) -> str | None:
        """What CONNECT named (MQTT 5.0)."""
        return self._authentication_method

    # Reading ----------------------------------------------------------------------------------------------------------

    def receive_data(self, data: bytes, now: float) -> None:
        """Take bytes from the client. Then drain ``events_received`` and ``data_to_send``."""
        if self._deadline_from is None:
            self._deadline_from = now
        super().receive_data(data, now)
        if self._state is State.AWAITING_ACCEPT and self._framer.buffered > self.limits.maximum_held_bytes:
            self._fail(RemoteProtocolError(ReasonCode.QUOTA_EXCEEDED, "too much was sent before the CONNACK"))

    def _on_connect(self, packet: Connect) -> None:
        self._use_version(packet.version)
        self._enter(State.AWAITING_ACCEPT)
        if packet.version is V5:
            self._take_properties(packet.properties)
            self._check_will(packet.will)
            if packet.properties.request_response_information:
                self._asks_response_as = packet.client_id
        else:
            self._check_client_id(packet)
        self._needs_client_id = not packet.client_id
        self._keep_alive = packet.keep_alive
        cap = self.limits.keep_alive_cap
        if packet.version is V5 and cap and not 0 < packet.keep_alive <= cap:
            self._keep_alive = self._server_keep_alive = cap
        if self._authentication_method is not None:
            self._enter(State.AUTHENTICATING)
        self._events.append(ConnectReceived(packet))

    def _take_properties(self, properties: Properties) -> None:
        self._peer_maximum = properties.maximum_packet_size or UNLIMITED_PACKET_SIZE
        self._may_explain = properties.request_problem_information != 0
        self._client_expiry = properties.session_expiry_interval or 0
        self._authentication_method = properties.authentication_method
        self._receive_maximum = self.limits.receive_maximum
        self._alias_maximum = self.limits.topic_alias_maximum
        self._window = min(self._window, properties.receive_maximum or _DEFAULT_RECEIVE_MAXIMUM)

        allowed = min(properties.topic_alias_maximum or 0, self.limits.sent_topic_aliases)
        self._sent_aliases = SentAliases(allowed) if allowed else None  # [MQTT-3.1.2-26], [MQTT-3.1.2-27]

    def _check_will(self, will: Will | None) -> None:
        if self.limits.check_payload_format and will is not None and not is_as_indicated(will):
            raise RemoteProtocolError(
                ReasonCode.PAYLOAD_FORMAT_INVALID, "the will is not the UTF-8 that it says"
            )

    def _check_client_id(self, packet: Connect) -> None:
        """MQTT 3.x: 3.1 has ids of 1 to 23 characters; 3.1.1 an empty one only with Clean Session."""
        is_3_1 = packet.version is ProtocolVersion.V3_1
        if is_3_1 and self.limits.strict_3_1_client_id and not 1 <= len(packet.client_id) <= 23:
            raise self._bad_client_id("MQTT 3.1 wants a client id of 1 to 23 characters")
        if not packet.client_id and not packet.clean_start:
            raise self._bad_client_id("an empty client id needs Clean Session")  # [MQTT-3.1.3-8] of 3.1.1

    @staticmethod
    def _bad_client_id(message: str) -> RemoteProtocolError:
        return RemoteProtocolError(ReasonCode.CLIENT_IDENTIFIER_NOT_VALID, message)

    def _take_publish_properties(self, packet: Publish, properties: Properties) -> None:
        if properties.subscription_identifiers:
            raise violation("a client must not send subscription identifiers")  # [MQTT-3.3.4-6]
        super()._take_publish_properties(packet, properties)

    def _on_subscribe(self, packet: Subscribe) -> None:
        self._events.append(SubscribeReceived(packet))

    def _on_unsubscribe(self, packet: Unsubscribe) -> None:
        self._events.append(UnsubscribeReceived(packet))

    def _on_pingreq(self, _packet: PingReq) -> None:
        self._output.append(b"\xd0\x00")  # [MQTT-3.12.4-1]

    def _on_auth(self, packet: Auth) -> None:
        method = packet.properties.authentication_method
        if self._authentication_method is None or method != self._authentication_method:
            raise violation(
                "AUTH has another authentication method than CONNECT"
            )  # [MQTT-4.12.0-5], [MQTT-4.12.1-1]
        is_open = self._state is State.CONNECTED
        if packet.reason_code == ReasonCode.SUCCESS or (
            packet.reason_code == ReasonCode.RE_AUTHENTICATE and not is_open
        ):
            raise violation("AUTH has a reason code that a client must not send now")
        self._events.append(AuthReceived(packet))

    def _on_disconnect(self, packet: Disconnect) -> None:
        expiry = packet.properties.session_expiry_interval
        if expiry and not self._client_expiry:
            raise violation(
                "a session that ends with its connection cannot be prolonged"
            )  # section 3.14.2.2.2
        was_open = self._state is State.CONNECTED
        self._events.append(DisconnectReceived(packet.reason_code, packet.properties))
        # Only 0x00 discards the will [MQTT-3.14.4-3].
        self._end(packet.reason_code, will_wanted=was_open and packet.reason_code != ReasonCode.SUCCESS)

    def _fail(self, error: RemoteProtocolError) -> None:
        if self._state is State.AWAITING_CONNECT:
            if error.version is None:
                self._end(error.reason_code, will_wanted=False)
                return
            self._use_version(error.version)
        if self._state in (State.AWAITING_CONNECT, State.AWAITING_ACCEPT, State.AUTHENTICATING):
            self._refuse(error.reason_code, error.message)
        else:
            super()._fail(error)

    # Commands ---------------------------------------------------------------------------------------------------------

    def accept(
        self,
        session_present: bool = False,
        assigned_client_id: str | None = None,
        *,
        session: Session | None = None,
        is_kept: bool = False,
        properties: Properties = NO_PROPERTIES,
        now: float | None = None,
    ) -> None:
        """Let the client in: CONNACK, what the session still had under way, then what the client sent meanwhile.

        Does nothing when the client has gone in the meantime. Then drain as after ``receive_data``.

        Args:
            session_present: Whether the client goes on with a session.
            assigned_client_id: The id chosen for a client that came without one.
            session: The flows of that session, from an earlier connection; new ones by default.
            is_kept: Whether the application keeps the session where it outlives this process; then a PUBREL makes
                ``ReleaseReceived`` and its PUBCOMP waits for ``confirm_release``.
            properties: More for CONNACK (MQTT 5.0): session expiry interval, response information, authentication data,
                user properties … What follows from ``limits`` is added here.
            now: The time, from which the keep alive counts; the time of the last call that told one by default.

        Raises:
            LocalProtocolError: There is nothing to accept, or the assigned id is missing.
        """
        if not self._is_waiting():
            return
        if now is not None:
            self._now = now
        self._last_packet_at = self._now
        if self._version is V5:
            properties = self._connack_properties(properties, assigned_client_id)
        if not self._send(ConnAck(session_present, ReasonCode.SUCCESS, properties)):
            self._end(ReasonCode.PACKET_TOO_LARGE, will_wanted=False)  # [MQTT-3.1.2-24]
            return
        self._is_kept = is_kept
        if session is not None:
            self._use_session(session)
        self._session.resume(self._window)
        self._enter(State.CONNECTED)
        self._fill_window()
        self._read_frames()

    def _is_waiting(self) -> bool:
        """Whether a CONNECT waits for its answer; False when the client has gone."""
        if self._state in (State.AWAITING_ACCEPT, State.AUTHENTICATING):
            return True
        if self._state is State.CLOSED:
            return False
        raise LocalProtocolError("no CONNECT waits for an answer")

    def _connack_properties(self, properties: Properties, assigned_client_id: str | None) -> Properties:
        if self._needs_client_id and not assigned_client_id:
            raise LocalProtocolError("a client without an id must be told the one it got")  # [MQTT-3.2.2-16]
        limits = self.limits
        return replace(
            properties,
            assigned_client_identifier=assigned_client_id if self._needs_client_id else None,
            server_keep_alive=self._server_keep_alive,  # [MQTT-3.1.2-21]
            receive_maximum=limits.receive_maximum if limits.receive_maximum < _UNLIMITED else None,
            maximum_packet_size=limits.maximum_packet_size,
            topic_alias_maximum=limits.topic_alias_maximum or None,
            response_information=self._response_information(assigned_client_id),
            authentication_method=self._authentication_method,
        )

    def _response_information(self, assigned_client_id: str | None) -> str | None:
        template = self.limits.response_information
        if template is None or self._asks_response_as is None:
            return None  # [MQTT-3.1.2-28]
        client_id = self._asks_response_as or assigned_client_id or ""
        # No topic can start with a client id that has wildcards in it; such a client is told nothing.
        return None if "+" in client_id or "#" in client_id else template.replace("${clientid}", client_id)

    def refuse(self, reason: int, reason_string: str | None = None) -> None:
        """Turn the client away: CONNACK with the reason (a bare close where MQTT 3.x has no word for it).

        Does nothing when the client has gone in the meantime. Then drain as after ``receive_data``.

        Raises:
            LocalProtocolError: There is nothing to refuse.
        """
        if self._is_waiting():
            self._refuse(reason, reason_string)

    def _refuse(self, reason: int, reason_string: str | None) -> None:
        if self._version is V5:
            self._send(ConnAck(False, connack_code(reason), explained(reason_string)))
        elif return_code(reason) is not None:
            self._send(ConnAck(False, reason))  # [MQTT-3.2.2-4] of 3.1.1
        self._end(reason, will_wanted=False)

    def authenticate(self, reason: int, data: bytes | None = None, reason_string: str | None = None) -> None:
        """Go on with enhanced authentication: CONTINUE_AUTHENTICATION, or SUCCESS at the end of a re-authentication.

        Raises:
            LocalProtocolError: The client named no authentication method, or the reason is not one to send now.
        """
        if self._state is State.CLOSED:
            return
        if self._authentication_method is None:
            raise LocalProtocolError("the client named no authentication method")  # [MQTT-4.12.0-6]
        is_end = reason == ReasonCode.SUCCESS and self._state is State.CONNECTED
        if reason != ReasonCode.CONTINUE_AUTHENTICATION and not is_end:
            raise LocalProtocolError("a server must not send AUTH with this reason now")  # [MQTT-4.12.0-2]
        properties = Properties(
            authentication_method=self._authentication_method,
            authentication_data=data,
            reason_string=reason_string,
        )
        self._send(Auth(reason, properties))

    def confirm_subscribe(
        self, packet_id: int, reasons: Sequence[int], properties: Properties = NO_PROPERTIES
    ) -> None:
        """Answer SUBSCRIBE: for each filter, in order, its granted QoS or a failing reason [MQTT-3.8.4-6]."""
        if self._state is not State.CLOSED:
            self._send(SubAck(packet_id, tuple(reasons), properties))

    def confirm_unsubscribe(
        self, packet_id: int, reasons: Sequence[int], properties: Properties = NO_PROPERTIES
    ) -> None:
        """Answer UNSUBSCRIBE: for each filter, in order, its reason (MQTT 3.x is told none)."""
        if self._state is not State.CLOSED:
            self._send(UnsubAck(packet_id, tuple(reasons), properties))

    def disconnect(self, reason: int, properties: Properties = NO_PROPERTIES) -> None:
        """End the connection: DISCONNECT with the reason (a bare close in MQTT 3.x). The will stands.

        Raises:
            LocalProtocolError: The properties have a session expiry interval, which is for clients to say.
        """
        if properties.session_expiry_interval is not None:
            raise LocalProtocolError("a server does not change the session's expiry")  # [MQTT-3.14.2-2]
        is_open = self._state is State.CONNECTED
        if is_open and self._version is V5:
            self._send(Disconnect(reason, properties))
        self._end(reason, will_wanted=is_open)

    _handlers: ClassVar[dict[int, Handler]] = {
        PacketType.CONNECT: _on_connect,
        PacketType.PUBLISH: Connection._on_publish,
        PacketType.PUBACK: Connection._on_puback,
        PacketType.PUBREC: Connection._on_pubrec,
        PacketType.PUBREL: Connection._on_pubrel,
        PacketType.PUBCOMP: Connection._on_pubcomp,
        PacketType.SUBSCRIBE: _on_subscribe,
        PacketType.UNSUBSCRIBE: _on_unsubscribe,
        PacketType.PINGREQ: _on_pingreq,
        PacketType.DISCONNECT: _on_disconnect,
        PacketType.AUTH: _on_auth,
    }
