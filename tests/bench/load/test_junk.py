"""The junk: all kinds of it, the same for the same seed; and the generator tells who ended its connections."""

from __future__ import annotations

import asyncio
import random

import pytest

from bench.load.client import connect_bytes
from bench.load.junk import JunkLoad, junk_of, measure
from edge.mqtt.server import ServerConnection, ServerLimits
from edge.mqtt.states import State


def test_it_can_be_repeated() -> None:
    assert [junk_of(random.Random(7), "c") for _ in range(3)] == [junk_of(random.Random(7), "c")] * 3


def test_half_of_it_comes_behind_a_good_connect_and_some_waits_for_its_rest() -> None:
    noise, let_in, ended = random.Random(1), 0, 0
    for _ in range(600):
        chunks = junk_of(noise, "c")
        let_in += chunks[0] == connect_bytes("c")
        server = ServerConnection(ServerLimits())
        for chunk in chunks:
            server.receive_data(chunk, 0.0)
            if server.state is State.AWAITING_ACCEPT:
                server.accept()
        ended += server.close_wanted
    assert 200 < let_in < 400
    assert 200 < ended < 500


@pytest.mark.parametrize("is_patient", [False, True])
async def test_who_ended_a_connection(is_patient: bool) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(100) and is_patient:
            writer.write(b"\x20\x02\0\0")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        found = await measure(JunkLoad("127.0.0.1", port, 1.0, connections=10))
    assert found["opened"] == 10
    assert found["ended_by_broker"] + found["refused"] == (0 if is_patient else 10)
