"""A gateway that lets everybody in and takes note, for tests of what a client's bytes go through before it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from edge.gateway.config import GatewayConfig
from edge.gateway.connection import Connection, Outbox
from edge.gateway.counters import Counters
from edge.gateway.listeners.listeners import Listeners
from edge.gateway.listeners.websocket import WebSocket
from edge.mqtt.events import (
    AuthReceived,
    ConnectionEnded,
    ConnectReceived,
    DeliveryCompleted,
    DeliveryReceived,
    ReleaseReceived,
    SubscribeReceived,
    UnsubscribeReceived,
)
from edge.mqtt.limits import ServerLimits
from edge.mqtt.message import OutgoingMessage
from edge.mqtt.packets import Publish
from edge.mqtt.reason_codes import ReasonCode

T = TypeVar("T")
MESSAGE_BYTES = 4_096
"""Of a WebSocket message."""
UNSENT_BYTES = 65_536
"""That wait for a socket before its client is slow."""


async def within(awaitable: Awaitable[T]) -> T:
    """Wait for what must come."""
    async with asyncio.timeout(30):
        return await awaitable


class Shell(Connection):
    """A client's, which tells when its socket is closed."""

    def connection_lost(self, exc: Exception | None) -> None:
        """See `Connection`."""
        super().connection_lost(exc)
        cast(Doorman, self._handler).closed.put_nowait(None)


@dataclass
class Doorman:
    """A gateway that lets everybody in and takes note; the connections' `Handler`."""

    limits: ServerLimits
    outbox: Outbox = field(default_factory=Outbox)
    inside: list[Connection] = field(default_factory=list)
    published: asyncio.Queue[Publish] = field(default_factory=asyncio.Queue)
    ends: asyncio.Queue[ConnectionEnded] = field(default_factory=asyncio.Queue)
    read: asyncio.Queue[None] = field(default_factory=asyncio.Queue)
    closed: asyncio.Queue[None] = field(default_factory=asyncio.Queue)
    counters: Counters = field(default_factory=Counters)
    arrived: Callable[[Connection], None] | None = None
    """Called when somebody was let in."""
    port: int = 0

    def over_tcp(self) -> Connection:
        """A new client's shell."""
        return Shell(self, self.limits, self.outbox, UNSENT_BYTES)

    def over_websocket(self) -> WebSocket:
        """The same."""
        return WebSocket(self.over_tcp(), "/mqtt", MESSAGE_BYTES)

    def about_to_read(self) -> None:
        self.read.put_nowait(None)

    def opened(self) -> None:
        self.counters.connections += 1

    def connect_received(self, connection: Connection, event: ConnectReceived) -> None:  # noqa: ARG002
        self.inside.append(connection)
        connection.core.accept()
        connection.accepted()

    def accepted(self, connection: Connection) -> None:
        if self.arrived is not None:
            self.arrived(connection)

    def publish_received(self, connection: Connection, packet: Publish) -> None:  # noqa: ARG002
        self.published.put_nowait(packet)

    def auth_received(self, connection: Connection, event: AuthReceived) -> None: ...

    def subscribe_received(self, connection: Connection, event: SubscribeReceived) -> None: ...

    def unsubscribe_received(self, connection: Connection, event: UnsubscribeReceived) -> None: ...

    def delivery_completed(self, connection: Connection, event: DeliveryCompleted) -> None: ...

    def delivery_received(self, connection: Connection, event: DeliveryReceived) -> None: ...

    def release_received(self, connection: Connection, event: ReleaseReceived) -> None: ...

    def ended(self, connection: Connection, event: ConnectionEnded) -> None:  # noqa: ARG002
        self.ends.put_nowait(event)


@asynccontextmanager
async def open_door(limits: ServerLimits, *, websocket: bool) -> AsyncIterator[Doorman]:
    """A doorman who listens."""
    doorman = Doorman(limits)
    shell = doorman.over_websocket if websocket else doorman.over_tcp
    server = await asyncio.get_running_loop().create_server(shell, "127.0.0.1", 0)
    doorman.port = server.sockets[0].getsockname()[1]
    try:
        yield doorman
    finally:
        server.close()
        for connection in doorman.inside:
            connection.connection_lost(None)


@asynccontextmanager
async def open_listeners(**settings: Any) -> AsyncIterator[tuple[Doorman, Listeners]]:
    """A doorman behind a gateway's listeners, on free ports unless told otherwise; nothing of it is left at the end."""
    ports = {"port": 0, "tls_port": 0, "ws_port": 0, "wss_port": 0}
    config = GatewayConfig(node="gw1", kafka="none", **(ports | settings))
    doorman = Doorman(ServerLimits(connect_timeout=config.connect_timeout))
    listeners = Listeners(config, doorman.over_tcp, doorman.counters)
    await listeners.open()
    try:
        yield doorman, listeners
    finally:
        listeners.close()
        for connection in doorman.inside:
            connection.disconnect(ReasonCode.SERVER_SHUTTING_DOWN)


def make_slow(connection: Connection) -> int:
    """Send numbered messages of 100,000 bytes to who does not read until its socket takes no more; tells how many."""
    sent = 0
    while not connection.is_slow:
        connection.core.deliver(OutgoingMessage("t", b"%08d" % sent + bytes(100_000)), 0)
        connection.flush()
        sent += 1
        assert sent < 1_000
    return sent


def unsent(connection: Connection) -> int:
    """Bytes that wait for its socket."""
    assert connection._transport is not None
    return connection._transport.get_write_buffer_size()
