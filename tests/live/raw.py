"""A bare TCP connection to a gateway: bytes out, packets in, for what no decent client would send."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import Connect, Packet
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.writing import write_packet

PATIENCE = 120.0
"""Seconds for what must come; a bound for failures only, so generous."""
_numbers = itertools.count(1)
_PINGREQ, _PINGRESP = bytes.fromhex("C000"), bytes.fromhex("D000")


class Raw:
    """An open connection."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, version: ProtocolVersion
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.version = version
        self.connack = b""
        """The answer to the CONNECT, if one was sent."""

    def send(self, what: bytes | str | Packet) -> None:
        """Send bytes, hexadecimal digits, or a packet in the connection's version."""
        if isinstance(what, str):
            what = bytes.fromhex(what)
        self.writer.write(what if isinstance(what, bytes) else write_packet(what, self.version))

    async def packet(self, seconds: float = PATIENCE) -> bytes:
        """The next packet, whole; empty when the connection has ended."""
        async with asyncio.timeout(seconds):
            try:
                first = await self.reader.readexactly(1)
                length = shift = 0
                head = first
                while True:
                    byte = await self.reader.readexactly(1)
                    head += byte
                    length |= (byte[0] & 0x7F) << shift
                    shift += 7
                    if byte[0] < 0x80:
                        return head + await self.reader.readexactly(length)
            except (asyncio.IncompleteReadError, ConnectionError):
                return b""

    async def until_end(self, seconds: float = PATIENCE) -> bytes:
        """All that comes until the gateway ends the connection."""
        async with asyncio.timeout(seconds):
            return b"".join([packet async for packet in self._packets(seconds)])

    async def until_pong(self) -> bytes:
        """All that comes until the answer to a ping, which shows that the connection is up."""
        self.send(_PINGREQ)
        came = b""
        while True:
            packet = await self.packet()
            assert packet, f"the gateway ended the connection after {came.hex()}"
            if packet == _PINGRESP:
                return came
            came += packet

    def cut(self) -> None:
        """End the connection without a word, as a client does that dies."""
        self.writer.transport.abort()

    async def _packets(self, seconds: float) -> AsyncIterator[bytes]:
        while packet := await self.packet(seconds):
            yield packet


@asynccontextmanager
async def raw_connection(
    address: MqttAddress, version: int | None = None, client_id: str | None = None, **fields: Any
) -> AsyncIterator[Raw]:
    """Open a connection; with a version, as a client that has been let in.

    Args:
        address: The gateway.
        version: 3, 4 or 5; None to send no CONNECT.
        client_id: A unique one by default.
        fields: More of `edge.mqtt.packets.Connect`.
    """
    reader, writer = await asyncio.open_connection(address.host, address.port)
    raw = Raw(reader, writer, ProtocolVersion(version or 4))
    try:
        if version is not None:
            name = f"raw{os.getpid()}-{next(_numbers)}" if client_id is None else client_id
            raw.send(Connect(name, raw.version, **fields))
            raw.connack = await raw.packet()
            assert raw.connack[:1] == b"\x20", raw.connack
            assert raw.connack[3] == 0, raw.connack
        yield raw
    finally:
        writer.close()
        try:
            await writer.wait_closed()
        except ConnectionError:
            pass  # the gateway closed first, with bytes of ours unread


async def let_time_pass(address: MqttAddress) -> None:
    """Return when more than a second has passed for the gateway: one and a half times a keep alive of one."""
    async with raw_connection(address, 4, keep_alive=1) as silent:
        assert await silent.until_end() == b""
