"""The shell of a connection, over loopback sockets: who asks and takes no answers costs bounded memory (I10)."""

from __future__ import annotations

import asyncio

from edge.mqtt.limits import ServerLimits
from edge.mqtt.packets import Connect
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.writing import write_packet
from tests.edge.gateway.listeners.doorman import make_slow, open_door, unsent, within

V5 = ProtocolVersion.V5
PINGS = 2_000_000
"""4 MB: more than sockets hold on the way."""


async def test_who_asks_on_and_takes_no_answers_is_not_read_until_it_does() -> None:
    async with open_door(ServerLimits(), websocket=False) as doorman:
        reader, writer = await asyncio.open_connection("127.0.0.1", doorman.port)
        writer.write(write_packet(Connect("c", V5), V5))
        await within(reader.read(1_000))
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        [connection] = doorman.inside
        sent = make_slow(connection)
        waiting = unsent(connection)
        writer.write(bytes.fromhex("C000") * PINGS)
        assert connection._transport is not None
        while connection._transport.is_reading():
            await within(doorman.read.get())
        # What was heard when enough was heard; a socket is read by 256 KiB.
        assert unsent(connection) - waiting < 65_536 + 2 * 262_144
        writer.transport.resume_reading()  # type: ignore[attr-defined]
        pongs = 0
        while pongs < PINGS:
            chunk = await within(reader.read(1 << 20))
            assert chunk, "the connection has ended"
            pongs += chunk.count(b"\xd0")
        assert sent
        writer.close()


async def test_keep_alive_holds_for_who_is_slow_and_says_nothing() -> None:
    """Not to read is no reason to be waited for."""
    async with open_door(ServerLimits(), websocket=False) as doorman:
        reader, writer = await asyncio.open_connection("127.0.0.1", doorman.port)
        writer.write(write_packet(Connect("c", ProtocolVersion.V3_1_1, keep_alive=1), ProtocolVersion.V3_1_1))
        await within(reader.read(1_000))
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        make_slow(doorman.inside[0])
        assert (await within(doorman.ends.get())).reason_code == 0x8D
        writer.transport.abort()
