"""Clients that do not get as far as MQTT: they block nobody, and nothing of them is left."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.edge.gateway.listeners.doorman import open_listeners, within
from tests.edge.gateway.listeners.guarded.authority import Authority
from tests.edge.gateway.listeners.guarded.tls_clients import (
    client_context,
    client_hello,
    connect_packet,
    heard,
    tls_client,
)
from tests.live.peers import eventually


async def test_junk_and_silence_block_nobody(authority: Authority, settings: dict[str, Any]) -> None:
    """M47: 110 sockets that shake no hands; those who do get in meanwhile, and of the others nothing is left."""
    junk = [b""] * 50 + [connect_packet("plain")] * 50 + [client_hello()] * 10
    brief = {"handshake_timeout": 1.0, "connect_timeout": 1.0}
    async with open_listeners(**settings, **brief) as (doorman, listeners):
        assert listeners.tls is not None
        sockets = [await within(asyncio.open_connection(*listeners.tls)) for _ in junk]
        for (_, writer), sent in zip(sockets, junk, strict=True):
            writer.write(sent)
        for number in range(5):
            async with tls_client(listeners.tls, client_context(authority)) as client:
                await client.enter(f"proper-{number}")
                await client.ping()
        for reader, writer in sockets:
            await heard(reader)
            writer.close()
        await eventually(lambda: doorman.counters.failed_handshakes == len(junk), "all are counted")
        assert len(doorman.inside) == doorman.counters.connections == 5
    # and the fixture looks for tasks and descriptors


async def test_closing_turns_away_who_is_in_a_handshake_and_leaves_who_is_in(
    authority: Authority, settings: dict[str, Any]
) -> None:
    async with (
        open_listeners(**settings) as (_, listeners),
        tls_client(listeners.tls, client_context(authority)) as client,
    ):
        await client.enter()
        assert listeners.tls is not None
        reader, writer = await asyncio.open_connection(*listeners.tls)
        writer.write(client_hello())
        assert await within(reader.read(1)) == b"\x16"
        listeners.close()
        await heard(reader)
        writer.close()
        await client.ping()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(*listeners.tls)


async def test_no_more_than_there_may_be(authority: Authority, settings: dict[str, Any]) -> None:
    """Those at their handshake count, too; a place is free when its socket is gone."""
    async with open_listeners(**settings, tls_max_connections=2) as (doorman, listeners):
        assert listeners.tls is not None
        context = client_context(authority)
        async with tls_client(listeners.tls, context) as first:
            await first.enter("first")
            silent = await asyncio.open_connection(*listeners.tls)
            with pytest.raises((OSError, asyncio.IncompleteReadError)):
                async with tls_client(listeners.tls, context) as third:
                    await third.enter("third")
            assert doorman.counters.connections_over_limit == 1
            silent[1].close()
            await eventually(lambda: doorman.counters.failed_handshakes == 1, "it is counted")
            async with tls_client(listeners.tls, context) as second:
                await second.enter("second")
        for _ in range(2):
            await within(doorman.ends.get())
        async with tls_client(listeners.tls, context) as next_one, tls_client(listeners.tls, context) as last:
            await next_one.enter("next")
            await last.enter("last")
