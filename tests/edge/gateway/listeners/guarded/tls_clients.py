"""Clients of listeners with TLS: Python's own, as packets, and what is no proper client."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from edge.mqtt.packets import Connect
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.writing import write_packet
from tests.edge.gateway.listeners.doorman import within
from tests.edge.gateway.listeners.guarded.authority import Authority, Issued

V5 = ProtocolVersion.V5
PINGREQ, PINGRESP = bytes.fromhex("C000"), bytes.fromhex("D000")


def connect_packet(client_id: str) -> bytes:
    """A CONNECT."""
    return write_packet(Connect(client_id, V5), V5)


def client_context(authority: Authority, own: Issued | None = None) -> ssl.SSLContext:
    """That of a client who trusts the authority, with a certificate of its own or without."""
    context = ssl.create_default_context(cafile=str(authority.root))
    if own is not None:
        context.load_cert_chain(own.certificate, own.key)
    return context


def client_hello() -> bytes:
    """The first thing that a client says."""
    outgoing = ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    hello = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    try:
        hello.do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()
    raise AssertionError("it shook hands with nobody")


@dataclass
class TlsClient:
    """A client, let in or not."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def enter(self, client_id: str = "c") -> None:
        """Be let in."""
        self.writer.write(connect_packet(client_id))
        head = await within(self.reader.readexactly(2))
        assert head[0] == 0x20
        assert (await within(self.reader.readexactly(head[1])))[1] == 0

    async def ping(self) -> None:
        """See that the connection is there."""
        self.writer.write(PINGREQ)
        assert await within(self.reader.readexactly(2)) == PINGRESP

    @property
    def server_certificate(self) -> bytes | None:
        """What the server has shown."""
        found: ssl.SSLObject = self.writer.get_extra_info("ssl_object")
        return found.getpeercert(binary_form=True)


@asynccontextmanager
async def tls_client(
    address: tuple[str, int] | None, context: ssl.SSLContext | None
) -> AsyncIterator[TlsClient]:
    """A client with its connection; without a context, one over TCP."""
    assert address is not None
    reader, writer = await within(asyncio.open_connection(*address, ssl=context))
    try:
        yield TlsClient(reader, writer)
    finally:
        writer.close()
        try:
            await within(writer.wait_closed())
        except OSError:
            pass


async def heard(reader: asyncio.StreamReader) -> bytes:
    """What comes until the other side has closed; it resets where it had not read all."""
    came = b""
    try:
        while chunk := await within(reader.read(65_536)):
            came += chunk
    except ConnectionResetError:
        pass
    return came


def descriptors() -> int:
    """How many the process has open."""
    return len(list(Path("/dev/fd").iterdir()))
