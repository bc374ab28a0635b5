"""Sessions that go on, and connections that are given up, with a server that says what it is told to say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from admin.demo.client import Client, new_session
from admin.stack.ports import LOOPBACK
from edge.mqtt.packets import ConnAck, Connect, PubAck, Publish
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.writing import write_packet
from tests.live.raw import Raw

V4 = ProtocolVersion.V3_1_1
PERSISTENT = Connect("c", V4, clean_start=False)
BOUND = 10.0

Serve = Callable[[Raw], Awaitable[None]]


@asynccontextmanager
async def serving(*turns: Serve) -> AsyncIterator[int]:
    """A server whose n-th connection is served by the n-th turn, and then closed; gives its port."""
    waiting = list(turns)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raw = Raw(reader, writer, V4)
        assert (await raw.packet())[:1] == b"\x10"
        await waiting.pop(0)(raw)
        writer.close()

    server = await asyncio.start_server(serve, LOOPBACK, 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_what_was_not_acknowledged_goes_out_again_and_its_future_waits() -> None:
    frames: list[bytes] = []

    async def first(raw: Raw) -> None:
        raw.send(ConnAck())
        frames.append(await raw.packet())

    async def second(raw: Raw) -> None:
        raw.send(ConnAck(session_present=True))
        frames.append(await raw.packet())
        raw.send(PubAck(1))
        await raw.until_end()

    async with serving(first, second) as port:
        client = await Client.connect(LOOPBACK, port, PERSISTENT, session=new_session())
        done = client.publish("t", b"once", 1)
        await asyncio.wait_for(client.ended, BOUND)
        assert not done.done()
        again = await Client.connect(LOOPBACK, port, PERSISTENT, session=client.session)
        assert await asyncio.wait_for(done, BOUND) == 0
        again.drop()
        await again.ended
    assert frames == [
        write_packet(Publish("t", b"once", 1, packet_id=1, dup=dup), V4) for dup in (False, True)
    ]


async def test_a_connection_that_is_ignored_brings_nothing_but_its_end() -> None:
    came: list[Publish] = []
    ignoring = asyncio.Event()

    async def serve(raw: Raw) -> None:
        raw.send(ConnAck())
        await ignoring.wait()
        raw.send(Publish("t", b"for nobody", 1, packet_id=1))

    async with serving(serve) as port:
        client = await Client.connect(LOOPBACK, port, PERSISTENT, came.append, new_session())
        client.ignore()
        ignoring.set()
        await asyncio.wait_for(client.ended, BOUND)
    assert came == []
    assert len(client.session.inbound) == 0


async def test_who_gives_up_waiting_leaves_no_connection_behind() -> None:
    ended = asyncio.Event()

    async def serve(raw: Raw) -> None:
        assert await raw.until_end() == b""
        ended.set()

    async with serving(serve) as port:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(Client.connect(LOOPBACK, port, PERSISTENT), 0.05)
        await asyncio.wait_for(ended.wait(), BOUND)
