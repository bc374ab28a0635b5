"""One client's connection: a thin asyncio shell around the sans-I/O core.

It moves bytes and events between the transport (TCP, or TLS or WebSocket over it), the core and the gateway's parts,
keeps the core's deadline, and applies back-pressure both ways. It knows no Kafka and decides nothing about MQTT.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, cast

from contracts.headers import Headers
from edge.gateway.listeners.peer_chain import peer_chain
from edge.mqtt.events import (
    AuthReceived,
    ConnectionEnded,
    ConnectReceived,
    DeliveryCompleted,
    DeliveryDropped,
    DeliveryReceived,
    DisconnectReceived,
    PublishReceived,
    ReleaseReceived,
    SubscribeReceived,
    UnsubscribeReceived,
)
from edge.mqtt.limits import ServerLimits
from edge.mqtt.reason_codes import ReasonCode
from edge.mqtt.server import ServerConnection

if TYPE_CHECKING:
    from edge.gateway.ingress import Held
    from edge.gateway.limits.outflow import Outflow
    from edge.gateway.limits.rate import Rate
    from edge.gateway.sessions.seat import Seat
    from edge.gateway.tracing.tracer import Tracer
    from edge.mqtt.packets import Publish
    from identity.rules import Permissions


_HEARD_WHILE_SLOW = 65_536
"""Bytes that a client may send while its socket takes no more: what it asks, whose answers have to wait."""
_FAREWELL = (
    5.0  # seconds for a client to take what waits for it when its connection is closed, and to close it too
)


class Handler(Protocol):
    """What a connection needs of its gateway."""

    def about_to_read(self) -> None:
        """Bytes of a client are about to be looked at."""

    def opened(self) -> None:
        """A client opened a TCP connection."""

    def connect_received(self, connection: Connection, event: ConnectReceived) -> None:
        """It wants in: accept or refuse."""

    def accepted(self, connection: Connection) -> None:
        """It was let in, and nothing is read yet that it sent behind its CONNECT."""

    def auth_received(self, connection: Connection, event: AuthReceived) -> None:
        """It goes on with enhanced authentication, or begins it anew."""

    def publish_received(self, connection: Connection, packet: Publish) -> None:
        """It published: confirm when Kafka has it."""

    def subscribe_received(self, connection: Connection, event: SubscribeReceived) -> None:
        """It subscribes: confirm when Kafka has it."""

    def unsubscribe_received(self, connection: Connection, event: UnsubscribeReceived) -> None:
        """It unsubscribes: confirm when Kafka has it."""

    def delivery_completed(self, connection: Connection, event: DeliveryCompleted) -> None:
        """A QoS 1 or 2 delivery to it is over."""

    def delivery_received(self, connection: Connection, event: DeliveryReceived) -> None:
        """It has a QoS 2 message of a kept session: note it, then release."""

    def release_received(self, connection: Connection, event: ReleaseReceived) -> None:
        """It frees a packet id of a kept session: note it, then confirm."""

    def ended(self, connection: Connection, event: ConnectionEnded) -> None:
        """It is over, for whatever reason; the last call."""


class Outbox:
    """Connections with bytes to send; each is flushed once, at the end of the event loop's present turn."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._dirty: list[Connection] = []

    def add(self, connection: Connection) -> None:
        """Have a connection flushed; it takes care to add itself only once."""
        if not self._dirty:
            self._loop.call_soon(self._flush)
        self._dirty.append(connection)

    def _flush(self) -> None:
        dirty, self._dirty = self._dirty, []
        for connection in dirty:
            connection.flush()


class Connection(asyncio.Protocol):
    """The shell; `core` is the protocol's state."""

    __slots__ = (
        "_dirty", "_handler", "_has_left", "_heard_while_slow", "_is_held_back", "_lingers", "_loop", "_outbox",
        "_timer", "_transport",
        "authentication_data", "client_id", "client_type", "core", "headers", "held_bytes", "incoming", "is_given_up",
        "is_kept", "is_paused", "is_slow", "is_will_left", "keep_alive", "left", "max_unsent_bytes", "origin",
        "outflow", "permissions", "seat", "settled", "tracer", "unconfirmed", "user_name", "wants_more", "will",
    )  # fmt: skip

    def __init__(self, handler: Handler, limits: ServerLimits, outbox: Outbox, max_unsent_bytes: int) -> None:
        self._loop = asyncio.get_running_loop()
        self.core = ServerConnection(limits, self._loop.time())
        self.client_id = ""
        self.headers: Headers = []
        """The headers that all its publish records begin with."""
        self.held_bytes = 0
        """Bytes of its publishes that wait for Kafka."""
        self.unconfirmed: deque[Held] = deque()
        """Its QoS 1 and 2 publishes that wait for their acknowledgement, in order."""
        self.is_paused = False
        """Whether reading from its socket is held back."""
        self.is_slow = False
        """Whether its socket takes no more for now, and `max_unsent_bytes` wait for it."""
        self.max_unsent_bytes = max_unsent_bytes
        self.will: Publish | None = None
        self.user_name: str | None = None
        """As in its CONNECT."""
        self.keep_alive = 0
        """The same, in seconds."""
        self.client_type: str | None = None
        """DEVICE or APPLICATION, as it has proven; None where nobody asked for proof."""
        self.permissions: Permissions | None = None
        """What it may publish and subscribe to; None: everything."""
        self.incoming: tuple[Rate, ...] = ()
        """What its publishes are held to."""
        self.outflow: Outflow | None = None
        """What its deliveries are held to; None: nothing."""
        self.authentication_data: bytes | None = None
        """For its CONNACK, once it has proven by enhanced authentication who it is."""
        self.seat: Seat | None = None
        """Its place among the cluster's sessions, from its CONNECT on."""
        self.is_kept = False
        """Whether its session outlives it, so that messages of QoS 1 and 2 come to it by the persisted log."""
        self.is_given_up = False
        """Whether its session may be elsewhere: what it sent at QoS 1 and 2 and Kafka has not, must not get there, nor
        its will."""
        self.is_will_left = False
        """Whether its will is wanted, and left to its session's owner."""
        self.settled: Callable[[], None] | None = None
        """Called when none of its publishes waits for Kafka any more."""
        self.wants_more: Callable[[], None] | None = None
        """Called when the window or the socket may take more again; there while something waits for that."""
        self.origin: tuple[str, int] | None = None
        """The host and port that it comes from by the word of a proxy before us, where one is trusted."""
        self.tracer: Tracer | None = None
        """There while a trace is on."""
        self.left: Callable[[Connection], None] | None = None
        """Called when its socket is gone, for who counts sockets."""
        self._handler = handler
        self._outbox = outbox
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._dirty = False
        self._heard_while_slow = 0
        self._is_held_back = False
        self._has_left = False
        self._lingers = False

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The client has connected."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=self.max_unsent_bytes)
        self._handler.opened()
        self._watch_deadline()

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        if self._lingers:
            return
        self._handler.about_to_read()
        self.core.receive_data(data, self._loop.time())
        self.react()
        if self.is_slow:
            self._heard_while_slow += len(data)
            if self._heard_while_slow > _HEARD_WHILE_SLOW:  # it asks on and on, and takes no answers (I10)
                self._is_held_back = True
                self._read_as_allowed()

    def eof_received(self) -> None:
        """The client sends no more; MQTT has no use for half a connection."""
        self._has_left = True
        self.core.receive_eof(self._loop.time())
        self.react()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """The connection is gone; how makes no difference."""
        self.core.receive_eof(self._loop.time())
        self._transport = None
        self.react()
        if self._timer:
            self._timer.cancel()
        if self.left is not None:
            self.left(self)

    def pause_writing(self) -> None:
        """More than `max_unsent_bytes` wait for the socket."""
        self.is_slow = True
        self._heard_while_slow = 0

    def resume_writing(self) -> None:
        """The socket takes again."""
        self.is_slow = False
        if self._is_held_back:
            self._is_held_back = False
            self._read_as_allowed()
        if self.wants_more is not None:
            self.wants_more()

    # the gateway's side

    def changed(self) -> None:
        """The core was given a command: send what came of it, at the end of this turn of the loop."""
        if not self._dirty:
            self._dirty = True
            self._outbox.add(self)

    def react(self) -> None:
        """The core was given something that may have made events: pass them on, and send what came of it."""
        core, handler = self.core, self._handler
        while events := core.events_received():  # what handles an event may make further ones
            for event in events:
                if type(event) is PublishReceived:
                    handler.publish_received(self, event.packet)
                else:
                    _HANDLERS[type(event)](self, event)
        self.changed()

    def flush(self) -> None:
        """Send what the core has to send now."""
        self._dirty = False
        transport = self._transport
        if transport is None:
            return
        if frames := self.core.data_to_send():
            transport.write(frames[0] if len(frames) == 1 else b"".join(frames))
        if self.core.close_wanted and not self._lingers and not transport.is_closing():
            self._close(transport)  # once: asyncio's TLS does not stand a second time

    def _close(self, transport: asyncio.Transport) -> None:
        """Close the socket, after what is buffered has gone out, in such a way that the client can read all of it.

        TCP resets a connection that is closed with something unread, and the client may lose a DISCONNECT by that. So
        it is told that no more comes, and until it closes what it still sends is thrown away.
        """
        if self._has_left or self._is_held_back or not transport.can_write_eof():
            transport.close()
            if transport.get_write_buffer_size():
                self._loop.call_later(_FAREWELL, transport.abort)
            return
        self.resume_reading()
        self._lingers = True
        transport.write_eof()
        if self._timer:
            self._timer.cancel()
        self._timer = self._loop.call_later(_FAREWELL, transport.abort)

    def disconnect(self, reason: ReasonCode) -> None:
        """End the connection from our side."""
        self.core.disconnect(reason)
        self.react()

    def accepted(self) -> None:
        """The core has let the client in: what it sent meanwhile is read, and its keep alive runs."""
        self._handler.accepted(self)
        self.react()
        self._watch_deadline()

    def refuse(self, reason: ReasonCode) -> None:
        """Turn away a client that waits to be let in."""
        self.core.refuse(reason)
        self.react()

    def disconnect_soon(self, reason: ReasonCode) -> None:
        """The same, but not before this turn of the loop is over; for callers who are going through connections."""
        self._loop.call_soon(self.disconnect, reason)

    def pause_reading(self) -> None:
        """Read no more from the client until `resume_reading`; its keep alive does not run meanwhile."""
        if not self.is_paused and self._transport and not self._transport.is_closing():
            self.is_paused = True
            self._read_as_allowed()

    def resume_reading(self) -> None:
        """Read again."""
        if self.is_paused and self._transport and not self._transport.is_closing():
            self.is_paused = False
            self._read_as_allowed()

    def _read_as_allowed(self) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        is_wanted = not (self.is_paused or self._is_held_back)
        if is_wanted and not transport.is_reading():
            transport.resume_reading()
        elif not is_wanted and transport.is_reading():
            transport.pause_reading()

    @property
    def peer(self) -> str:
        """The client's address, for logs."""
        return str(self._address) if self._transport else "(gone)"

    @property
    def host(self) -> str:
        """The host that the client comes from; empty when that is not to be had."""
        name = self._address
        return str(name[0]) if isinstance(name, tuple) else ""

    @property
    def certificates(self) -> tuple[bytes, ...]:
        """The certificates that it has shown, verified, in DER, its own first; none without TLS, or when it is gone."""
        return peer_chain(self._transport.get_extra_info("ssl_object")) if self._transport else ()

    @property
    def _address(self) -> object:
        if self._transport is None or self.origin is not None:
            return self.origin
        return self._transport.get_extra_info("peername")

    def _watch_deadline(self) -> None:
        """Have a timer that fires at the core's deadline or before; data that comes in only moves the deadline."""
        deadline = self.core.deadline()
        if deadline is None or self._transport is None:
            return
        if self._timer is not None:
            if self._timer.when() <= deadline:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(deadline, self._look_at_deadline)

    def _look_at_deadline(self) -> None:
        self._timer = None
        now, deadline = self._loop.time(), self.core.deadline()
        if deadline is None or now < deadline or self._transport is None:
            self._watch_deadline()
        elif self.is_paused or self._is_held_back:  # what we do not read, the client may well have sent
            self._timer = self._loop.call_at(now + 1.0, self._look_at_deadline)
        else:
            self.core.handle_timeout(now)
            self.react()

    def _connect_received(self, event: ConnectReceived) -> None:
        self._handler.connect_received(self, event)
        self._watch_deadline()

    def _auth_received(self, event: AuthReceived) -> None:
        self._handler.auth_received(self, event)

    def _subscribe_received(self, event: SubscribeReceived) -> None:
        self._handler.subscribe_received(self, event)

    def _unsubscribe_received(self, event: UnsubscribeReceived) -> None:
        self._handler.unsubscribe_received(self, event)

    def _disconnect_received(self, event: DisconnectReceived) -> None:
        self._has_left = True
        expiry = event.properties.session_expiry_interval
        if self.seat is not None and expiry is not None:
            self.seat.prolong(expiry)

    def _delivery_completed(self, event: DeliveryCompleted) -> None:
        if self.tracer is not None:
            self.tracer.completed(self, event)
        if self.is_kept:
            self._handler.delivery_completed(self, event)
        if self.wants_more is not None:
            self.wants_more()

    def _delivery_received(self, event: DeliveryReceived) -> None:
        self._handler.delivery_received(self, event)

    def _release_received(self, event: ReleaseReceived) -> None:
        self._handler.release_received(self, event)

    def _ended(self, event: ConnectionEnded) -> None:
        self._handler.ended(self, event)

    def _nothing_to_do(self, event: object) -> None:
        pass


_HANDLERS: dict[type, Callable[[Connection, Any], None]] = {
    ConnectReceived: Connection._connect_received,
    SubscribeReceived: Connection._subscribe_received,
    UnsubscribeReceived: Connection._unsubscribe_received,
    ConnectionEnded: Connection._ended,
    DeliveryCompleted: Connection._delivery_completed,
    DeliveryReceived: Connection._delivery_received,
    ReleaseReceived: Connection._release_received,
    DeliveryDropped: Connection._nothing_to_do,
    DisconnectReceived: Connection._disconnect_received,
    AuthReceived: Connection._auth_received,
}
