"""The end of a connection, on real sockets: the client can read what was said last, whatever it still sends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from edge.mqtt.limits import ServerLimits
from edge.mqtt.packets import Connect, Disconnect
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.writing import write_packet
from tests.edge.gateway.listeners.doorman import open_door, within
from tests.edge.mqtt.test_reading import read_all

V5 = ProtocolVersion.V5
CONNECT = write_packet(Connect("c", V5), V5)
BAD = bytes.fromhex("F1 00")
"""AUTH with flags that it must not have."""


async def until_end(reader: asyncio.StreamReader) -> list[Any]:
    return read_all([await within(reader.read())], V5)


@pytest.mark.parametrize(("behind", "later"), [(0, 0), (1, 0), (1_000, 3_000_000)])
async def test_a_disconnect_is_not_lost_by_what_is_not_read(behind: int, later: int) -> None:
    """Closed with bytes unread, TCP would reset the connection, and with it what the client has not read yet."""
    async with open_door(ServerLimits(), websocket=False) as doorman:
        reader, writer = await asyncio.open_connection("127.0.0.1", doorman.port, limit=1 << 24)
        writer.write(CONNECT + BAD + bytes(behind))
        await within(doorman.ends.get())
        writer.write(bytes(later))  # it has not heard of it yet
        await within(writer.drain())
        _, last = await until_end(reader)
        assert last == Disconnect(0x81, last.properties)
        writer.close()
        await within(doorman.closed.get())


async def test_who_says_goodbye_is_not_waited_for() -> None:
    async with open_door(ServerLimits(), websocket=False) as doorman:
        reader, writer = await asyncio.open_connection("127.0.0.1", doorman.port)
        writer.write(CONNECT + write_packet(Disconnect(), V5))
        assert len(await until_end(reader)) == 1
        await within(doorman.closed.get())  # though it has not closed its side
        writer.close()


async def test_who_never_closes_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edge.gateway.connection._FAREWELL", 0.01)
    async with open_door(ServerLimits(), websocket=False) as doorman:
        reader, writer = await asyncio.open_connection("127.0.0.1", doorman.port)
        writer.write(CONNECT + BAD)
        assert len(await until_end(reader)) == 2
        await within(doorman.closed.get())
        writer.close()
