"""A raw MQTT client: it writes bytes that were prepared, and counts those that come back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from edge.mqtt.packets import Connect, Disconnect, Publish, Subscribe, Subscription
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.writing import write_packet

V4 = ProtocolVersion.V3_1_1
CONNACK_BYTES = 4
PUBACK_BYTES = 4
KEEP_ALIVE = 1_200
"""Seconds; longer than any bench, so no generator has to ping."""


def connect_bytes(
    client_id: str, clean: bool = True, user_name: str | None = None, password: str | None = None
) -> bytes:
    """A CONNECT, with a clean session or one that outlives the connection, and who the client says that it is."""
    secret = None if password is None else password.encode()
    packet = Connect(
        client_id, V4, clean_start=clean, keep_alive=KEEP_ALIVE, user_name=user_name, password=secret
    )
    return write_packet(packet, V4)


def is_accepted(connack: bytes) -> bool:
    """Whether a CONNACK lets the client in, with or without a session present."""
    return len(connack) >= CONNACK_BYTES and connack[:2] == b"\x20\x02" and connack[3] == 0


def subscribe_bytes(filter: str, qos: int, packet_id: int = 1) -> bytes:
    """A SUBSCRIBE to one filter."""
    return write_packet(Subscribe(packet_id, (Subscription(filter, qos),)), V4)


def publish_bytes(topic: str, payload: bytes, qos: int = 0, packet_id: int = 0) -> bytes:
    """A PUBLISH."""
    return write_packet(Publish(topic, payload, qos, packet_id=packet_id), V4)


DISCONNECT_BYTES = write_packet(Disconnect(), V4)


class RawClient(asyncio.BufferedProtocol):
    """One connection. All clients of a process share one buffer, since nobody keeps what was read."""

    _buffer = bytearray(256 << 10)
    _view = memoryview(_buffer)

    def __init__(self, on_bytes: Callable[[memoryview], None] | None = None) -> None:
        """Make one.

        Args:
            on_bytes: Called with each read once `hand_over` was called; the memory is used again afterwards.
        """
        self.received = 0
        """Bytes read so far."""
        self._on_bytes = on_bytes
        self._transport: asyncio.Transport | None = None
        self._waiting: tuple[int, asyncio.Future[None]] | None = None
        self._is_handed_over = False
        self._head = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> bytearray:  # noqa: ARG002 - asyncio's signature
        """Where to read to."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes came."""
        self.received += nbytes
        if self._is_handed_over and self._on_bytes is not None:
            self._on_bytes(self._view[:nbytes])
            return
        if len(self._head) < CONNACK_BYTES:
            self._head += self._view[:nbytes]
        if self._waiting is not None and self.received >= self._waiting[0]:
            waiting, self._waiting = self._waiting[1], None
            if not waiting.done():
                waiting.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """The broker ended it: fail who waits."""
        self._transport = None
        if self._waiting is not None and not self._waiting[1].done():
            self._waiting[1].set_exception(exc or ConnectionResetError("the broker closed the connection"))

    def write(self, data: bytes) -> None:
        """Send prepared bytes."""
        if self._transport is None:
            raise ConnectionResetError("the broker closed the connection")
        self._transport.write(data)

    async def received_bytes(self, total: int, seconds: float = 30.0) -> None:
        """Wait until so many bytes have come since the connection was made."""
        if self.received < total:
            future = asyncio.get_running_loop().create_future()
            self._waiting = (total, future)
            await asyncio.wait_for(future, seconds)

    async def connected(self, client_id: str, clean: bool = True) -> None:
        """Send CONNECT and wait for a CONNACK that accepts it."""
        await self.let_in(connect_bytes(client_id, clean))

    async def let_in(self, connect: bytes, seconds: float = 30.0) -> None:
        """The same with a CONNECT that was prepared, and so many seconds for its CONNACK."""
        self.write(connect)
        await self.received_bytes(CONNACK_BYTES, seconds)
        if not is_accepted(bytes(self._head)):
            raise ConnectionRefusedError(f"the broker refused a client: {self._head.hex()}")

    async def subscribed(self, filter: str, qos: int, packet_id: int = 1) -> None:
        """Send SUBSCRIBE and wait for SUBACK, while nothing else comes."""
        wanted = self.received + 5  # fixed header, packet identifier, one return code
        self.write(subscribe_bytes(filter, qos, packet_id))
        await self.received_bytes(wanted)

    def hand_over(self) -> None:
        """From now on, what comes goes to `on_bytes`."""
        self._is_handed_over = True

    def close(self) -> None:
        """Say DISCONNECT and close."""
        if self._transport is not None:
            self._transport.write(DISCONNECT_BYTES)
            self._transport.close()


async def open_client(
    host: str,
    port: int,
    client_id: str,
    on_bytes: Callable[[memoryview], None] | None = None,
    clean: bool = True,
) -> RawClient:
    """Connect a client."""
    loop = asyncio.get_running_loop()
    _, client = await loop.create_connection(lambda: RawClient(on_bytes), host, port)
    await client.connected(client_id, clean)
    return client


async def forget_session(host: str, port: int, client_id: str) -> None:
    """End a session that has outlived its connection, so that nothing is kept for it any more."""
    client = await open_client(host, port, client_id)
    client.close()
