"""Visits: every client comes as often as it should, leaves with DISCONNECT, and is counted when it was let in."""

from __future__ import annotations

import asyncio
import ssl
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench.certificates import CLIENT, write_certificates
from bench.load.visits import VisitsLoad, clients_of, connect_of, measure, password_of
from edge.mqtt.events import ConnectReceived
from edge.mqtt.packets import Connect
from edge.mqtt.server import ServerConnection, ServerLimits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LOAD = VisitsLoad("127.0.0.1", 0, "v", clients=10, passes=3, at_once=4)
ACCEPTED = b"\x20\x02\0\0"
"""A CONNACK."""


class Door:
    """A broker that only answers CONNECT; who comes, and who says goodbye."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.visits: Counter[bytes] = Counter()
        self.names: set[str] = set()
        self.goodbyes = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client."""
        head = await reader.readexactly(2)
        connect = await reader.readexactly(head[1])
        self.visits[connect] += 1
        if (shown := writer.get_extra_info("peercert")) is not None:
            self.names.update(part[0][1] for part in shown["subject"])
        writer.write(self.answer)
        said = await reader.read(10)
        self.goodbyes += said == b"\xe0\0"
        writer.close()


@asynccontextmanager
async def opened(door: Door, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    async with await asyncio.start_server(door.serve, "127.0.0.1", 0, ssl=context) as server:
        yield server.sockets[0].getsockname()[1]


def test_all_clients_come_in_each_pass_and_none_in_two_places() -> None:
    places = [list(clients_of(LOAD, place)) for place in range(LOAD.at_once)]
    assert Counter(client for place in places for client in place) == dict.fromkeys(range(10), 3)
    assert sum(len(set(place)) for place in places) == 10


def test_clients_share_users_each_with_a_password_of_its_own() -> None:
    load = replace(LOAD, users=2, first_user=6)
    packets = [read(connect_of(load, client)) for client in range(4)]
    assert [packet.user_name for packet in packets] == ["user-6", "user-7", "user-6", "user-7"]
    assert [packet.password for packet in packets[:2]] == [password_of(6).encode(), password_of(7).encode()]
    assert len({packet.client_id for packet in packets}) == 4


async def test_each_visit_ends_with_a_disconnect() -> None:
    door = Door(ACCEPTED)
    async with opened(door) as port:
        found = await measure(replace(LOAD, port=port))
    assert found["messages"] == door.goodbyes == 30
    assert set(door.visits.values()) == {3}
    assert len(door.visits) == 10
    assert found["p50"] <= found["p99"]


async def test_a_refusal_is_no_visit() -> None:
    async with opened(Door(b"\x20\x02\0\x05")) as port:
        with pytest.raises(ConnectionRefusedError, match="20020005"):
            await measure(replace(LOAD, port=port, clients=1, at_once=1))


async def test_over_tls_the_clients_show_their_certificate(tmp_path: Path) -> None:
    files = write_certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.broker)
    context.load_verify_locations(files.authority)
    context.verify_mode = ssl.CERT_REQUIRED
    door = Door(ACCEPTED)
    async with opened(door, context) as port:
        load = replace(LOAD, port=port, authority=str(files.authority), certificate=str(files.client))
        found = await measure(load)
    assert found["messages"] == 30
    assert door.names == {CLIENT}


def read(data: bytes) -> Connect:
    server = ServerConnection(ServerLimits())
    server.receive_data(data, 0.0)
    (event,) = server.events_received()
    assert isinstance(event, ConnectReceived)
    return event.packet
