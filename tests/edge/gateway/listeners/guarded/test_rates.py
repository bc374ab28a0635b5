"""How many connections may come in a time: who opens too many is turned away, who comes with many others waits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from edge.mqtt.packets import Publish
from edge.mqtt.writing import write_packet
from tests.edge.gateway.listeners.doorman import open_listeners, within
from tests.edge.gateway.listeners.guarded.authority import Authority
from tests.edge.gateway.listeners.guarded.test_proxied import LINE, connected
from tests.edge.gateway.listeners.guarded.tls_clients import V5, client_context, connect_packet, tls_client

PACKETS = connect_packet("c") + write_packet(Publish("t", b""), V5)


async def is_turned_away(address: tuple[str, int], *sent: bytes) -> bool:
    """Whether a connection is closed and not a byte said."""
    reader, writer = await connected(address)
    try:
        for data in sent:
            writer.write(data)
        return await within(reader.read()) == b""
    except ConnectionResetError:
        return True
    finally:
        writer.close()


async def test_an_address_that_opens_too_many() -> None:
    """Nobody but itself is concerned, whatever it does."""
    async with open_listeners(address_rate="2:3600") as (doorman, listeners):
        writers = [(await connected(listeners.tcp))[1] for _ in range(2)]
        for writer in writers:
            writer.write(PACKETS)
            await within(doorman.published.get())
        for _ in range(3):
            assert await is_turned_away(listeners.tcp)
        assert (doorman.counters.connections_over_rate, doorman.counters.connections) == (3, 2)
        for writer in writers:
            writer.close()
            await within(doorman.ends.get())


async def test_behind_a_proxy_it_is_the_clients_address() -> None:
    async with open_listeners(address_rate="1:3600", proxied=True) as (doorman, listeners):
        _, writer = await connected(listeners.tcp)
        writer.write(LINE + PACKETS)
        await within(doorman.published.get())
        assert await is_turned_away(listeners.tcp, LINE)
        _, other = await connected(listeners.tcp)
        other.write(LINE.replace(b"192.0.2.7", b"192.0.2.8") + PACKETS)
        await within(doorman.published.get())
        assert (doorman.counters.connections_over_rate, doorman.counters.failed_handshakes) == (1, 0)
        for each in (writer, other):
            each.close()
            await within(doorman.ends.get())


async def test_no_handshake_is_made_with_it(authority: Authority, settings: dict[str, Any]) -> None:
    context = client_context(authority)
    async with (
        open_listeners(**settings, address_rate="1:3600") as (doorman, listeners),
        tls_client(listeners.tls, context),
    ):
        with pytest.raises(OSError):
            async with tls_client(listeners.tls, context):
                pass
        assert (doorman.counters.connections_over_rate, doorman.counters.failed_handshakes) == (1, 0)


async def test_many_at_once_wait_for_their_turn() -> None:
    """No connection is lost; the last of six comes when four of ten a second have come back."""
    async with open_listeners(connection_rate="2:1", ws_enabled=True) as (doorman, listeners):
        loop = asyncio.get_running_loop()
        began_at = loop.time()
        writers = [(await connected(listeners.tcp))[1] for _ in range(6)]
        for writer in writers:
            writer.write(PACKETS)
        for _ in writers:
            await within(doorman.published.get())
        assert loop.time() - began_at >= 1.9  # no quicker, whatever the machine
        assert doorman.counters.connections == 6
        for writer in writers:
            writer.close()
            await within(doorman.ends.get())
