"""Listeners behind proxies, and those with a limit, without TLS and with it: on real sockets."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import struct
from ipaddress import IPv4Address
from typing import Any

import pytest
from websockets.frames import Frame, Opcode

from edge.gateway.listeners import guarded_port
from edge.mqtt.packets import Publish
from edge.mqtt.writing import write_packet
from tests.edge.gateway.listeners.doorman import Doorman, open_listeners, within
from tests.edge.gateway.listeners.guarded.authority import Authority
from tests.edge.gateway.listeners.guarded.tls_clients import (
    V5,
    client_context,
    connect_packet,
    heard,
    tls_client,
)
from tests.edge.gateway.listeners.test_websocket import request
from tests.live.peers import eventually

LINE = b"PROXY TCP4 192.0.2.7 10.0.0.1 56324 8883\r\n"
BINARY = b"\r\n\r\n\0\r\nQUIT\n" + struct.pack(
    "!BBH4s4sHH", 0x21, 0x11, 12 + 5_000, IPv4Address("192.0.2.7").packed, IPv4Address("10.0.0.1").packed, 56_324, 1883
) + bytes(5_000)  # fmt: skip
LOCAL = b"\r\n\r\n\0\r\nQUIT\n" + struct.pack("!BBH", 0x20, 0, 0)
PROXY_SAYS = "('192.0.2.7', 56324)"


async def connected(address: tuple[str, int] | None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    assert address is not None
    return await within(asyncio.open_connection(*address))


async def entered(doorman: Doorman, sent: bytes, address: tuple[str, int] | None) -> tuple[str, str]:
    """What is known of where a client comes from, that sends this and is let in."""
    _, writer = await connected(address)
    writer.write(sent)
    await within(doorman.published.get())
    connection = doorman.inside[-1]
    known = connection.peer, connection.host
    writer.close()
    await within(doorman.ends.get())
    return known


@pytest.mark.parametrize("header", [LINE, BINARY])
async def test_the_proxys_word_counts_over_tcp_and_websocket(header: bytes) -> None:
    """What follows the header in the same segment is not lost."""
    packets = connect_packet("c") + write_packet(Publish("t", b""), V5)
    async with open_listeners(proxied=True, ws_enabled=True) as (doorman, listeners):
        assert await entered(doorman, header + packets, listeners.tcp) == (PROXY_SAYS, "192.0.2.7")
        reader, writer = await connected(listeners.websocket)
        writer.write(header + request())
        await within(reader.readuntil(b"\r\n\r\n"))
        writer.write(Frame(Opcode.BINARY, packets).serialize(mask=True))
        await within(doorman.published.get())
        assert doorman.inside[-1].peer == PROXY_SAYS
        writer.close()
        await within(doorman.ends.get())


@pytest.mark.parametrize("header", [LINE, BINARY])
async def test_the_header_comes_before_the_handshake(
    authority: Authority, settings: dict[str, Any], header: bytes
) -> None:
    async with open_listeners(**settings, proxied=True) as (doorman, listeners):
        _, writer = await connected(listeners.tls)
        for at in range(0, len(header), 7):
            writer.write(header[at : at + 7])
            await writer.drain()
        await within(writer.start_tls(client_context(authority), server_hostname="127.0.0.1"))
        writer.write(connect_packet("c") + write_packet(Publish("t", b""), V5))
        await within(doorman.published.get())
        assert doorman.inside[-1].peer == PROXY_SAYS
        writer.close()
        await within(doorman.ends.get())

        with pytest.raises((OSError, asyncio.IncompleteReadError)):  # and without it there is none
            async with tls_client(listeners.tls, client_context(authority)) as client:
                await client.enter()


async def test_the_proxys_own_connections_are_told_by_their_socket() -> None:
    async with open_listeners(proxied=True) as (doorman, listeners):
        packets = connect_packet("c") + write_packet(Publish("t", b""), V5)
        for header in (LOCAL, b"PROXY UNKNOWN\r\n"):
            peer, host = await entered(doorman, header + packets, listeners.tcp)
            assert peer.startswith("('127.0.0.1', ")
            assert host == "127.0.0.1"


async def test_nobody_is_believed_where_no_proxy_is_told_of() -> None:
    """One listener may be behind a proxy, and another not."""
    async with open_listeners(ws_enabled=True, ws_proxied=True) as (doorman, listeners):
        reader, writer = await connected(listeners.tcp)
        writer.write(LINE * 3 + connect_packet("c"))
        assert await heard(reader) == b""
        writer.close()
        reader, writer = await connected(listeners.websocket)
        writer.write(request())
        assert await heard(reader) == b""
        writer.close()
        assert doorman.inside == []
        await within(doorman.ends.get())
    async with open_listeners(proxied=True, tcp_proxied=False) as (doorman, listeners):
        packets = connect_packet("c") + write_packet(Publish("t", b""), V5)
        assert (await entered(doorman, packets, listeners.tcp))[1] == "127.0.0.1"


@pytest.mark.parametrize(
    "junk", [b"", b"PROXY ", LINE[:-2], BINARY[:20], connect_packet("c"), b"PROXY TCP4 x\r\n"]
)
@pytest.mark.parametrize("leaves", [False, True])
async def test_junk_and_silence_instead_of_a_header(
    junk: bytes, leaves: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "edge.gateway.listeners")
    async with open_listeners(proxied=True, handshake_timeout=0.5) as (doorman, listeners):
        reader, writer = await connected(listeners.tcp)
        writer.write(junk)
        if leaves:
            writer.write_eof()
        assert await heard(reader) == b""
        writer.close()
        await eventually(lambda: doorman.counters.failed_handshakes == 1, "it is counted")
        assert doorman.counters.connections == 0
        assert "before MQTT" in caplog.text


async def test_no_more_connections_than_there_may_be() -> None:
    async with open_listeners(tcp_max_connections=2, ws_enabled=True) as (doorman, listeners):
        async with tls_client(listeners.tcp, None) as first:
            await first.enter("first")
            silent = await connected(listeners.tcp)
            reader, writer = await connected(listeners.tcp)
            assert await heard(reader) == b""
            writer.close()
            assert doorman.counters.connections_over_limit == 1
            reader, writer = await connected(listeners.websocket)  # which has a limit of its own: none
            writer.write(request())
            await within(reader.readuntil(b"\r\n\r\n"))
            writer.close()
            silent[1].close()
            for _ in range(2):
                await within(doorman.ends.get())
            async with tls_client(listeners.tcp, None) as second:
                await second.enter("second")
                await first.ping()
        assert doorman.counters.connections_over_limit == 1


async def test_a_host_by_its_name_and_one_that_is_elsewhere() -> None:
    async with (
        open_listeners(tcp_max_connections=1, host="localhost") as (_, listeners),
        tls_client(listeners.tcp, None) as client,
    ):
        await client.enter()
    with pytest.raises(OSError, match="assign") as raised:
        async with open_listeners(tcp_max_connections=1, host="192.0.2.1"):
            pass
    assert raised.value.filename == "192.0.2.1:0"


async def test_without_descriptors_it_waits(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It says so once a try, and accepts who has come meanwhile when there are some again."""
    monkeypatch.setattr(guarded_port, "_BREATH", 0.1)
    async with open_listeners(tcp_max_connections=10) as (doorman, listeners):
        client = socket.socket()
        allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (1, allowed[1]))
        try:
            client.connect(listeners.tcp)
            await eventually(lambda: len(caplog.records) == 2, "it has tried twice")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, allowed)
        assert "cannot accept connections: Too many open files" in caplog.text
        _, writer = await asyncio.open_connection(sock=client)
        writer.write(connect_packet("c") + write_packet(Publish("t", b""), V5))
        await within(doorman.published.get())
        writer.close()
        await within(doorman.ends.get())
