"""A gateway on a real Kafka that asks who its clients are: in both versions, and while they are connected."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from scramp import ScramClient

from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import Auth, ConnAck, Connect, Packet, Publish, Subscribe, Subscription, Will
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode
from identity.answers import ClientType, Rules
from identity.block_list import Block, Subject
from identity.blocked import BlockedClients
from identity.credentials import BasicCredentials, ScramCredentials
from identity.database import Database, open_database
from identity.passwords import hash_password, scram_verifiers
from identity.stored_credentials import StoredCredentials
from identity.unauthorized import UnauthorizedClients
from tests.edge.gateway.conftest import Starting
from tests.edge.mqtt.test_reading import read_all
from tests.live.peers import V3_1_1, V5, Peer, eventually, within
from tests.live.raw import Raw, raw_connection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.live

ANN: dict[str, Any] = {"user_name": "ann", "password": b"right"}
RULES = Rules(publish=("up/${username}/.*",), subscribe=("down/.*",))
METHOD = "SCRAM-SHA-512"


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database's, and the environment that has gateways ask it."""
    monkeypatch.setenv("SLUICEMQ_AUTH_PROVIDERS", "scram,basic")
    monkeypatch.setenv("SLUICEMQ_AUTH_SCRAM_SECRET", "a secret of some length")
    return f"sqlite:///{tmp_path}/identity.db"


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    """The database as the administration has it open."""
    database = open_database(url)
    stored = StoredCredentials(database)
    stored.add(
        BasicCredentials(name="ann", username="ann", password_hash=hash_password(b"right"), rules=RULES)
    )
    verifiers = scram_verifiers("pencil")
    stored.add(
        ScramCredentials(
            name="bob", username="bob", verifiers=verifiers, rules=RULES, client_type=ClientType.APPLICATION
        )
    )
    yield database
    database.close()


@asynccontextmanager
async def asking(address: MqttAddress, version: ProtocolVersion, **fields: Any) -> AsyncIterator[Raw]:
    """A connection whose CONNECT is sent, whatever comes of it."""
    async with raw_connection(address) as raw:
        raw.version = version
        raw.send(Connect(fields.pop("client_id", "c"), version, **fields))
        yield raw


async def answer(address: MqttAddress, version: ProtocolVersion, **fields: Any) -> int:
    """What CONNACK says."""
    async with asking(address, version, **fields) as raw:
        connack = await raw.packet()
        assert connack[:1] == b"\x20"
        return connack[3]


async def test_who_gets_in_and_what_it_may_do(start: Starting, url: str, database: Database) -> None:
    _, gw1 = await start("gw1", database=url)
    for version, wrong, denied in ((V5, 0x86, 0x87), (V3_1_1, 4, 5)):
        assert await answer(gw1, version, **ANN) == 0
        assert await answer(gw1, version, user_name="ann", password=b"wrong") == wrong
        assert await answer(gw1, version, user_name="eve", password=b"right") == wrong
        assert await answer(gw1, version) == denied
        assert await answer(gw1, version, will=Will("up/bob/gone", b""), **ANN) == denied
        assert await answer(gw1, version, will=Will("up/ann/gone", b"", retain=True), **ANN) == 0
    peer = await Peer.connect(gw1, V5, **ANN)
    assert await peer.publish("up/ann/1") in (0, ReasonCode.NO_MATCHING_SUBSCRIBERS)
    assert await peer.publish("up/bob/1", qos=1) == ReasonCode.NOT_AUTHORIZED
    assert await peer.publish("up/bob/1", qos=2, retain=True) == ReasonCode.NOT_AUTHORIZED
    wanted = [Subscription(filter, 1) for filter in ("down/+", "#", "$share/g/down/#", "$share/g/+")]
    assert await within(peer.client.subscribe(*wanted)) == (1, 0x87, 1, 0x87)
    await within(peer.client.disconnect())
    async with asking(gw1, V3_1_1, **ANN) as old:
        await old.packet()
        old.send(Subscribe(1, (Subscription("down/a", 1), Subscription("up/a", 1))))
        assert (await old.packet())[4:] == bytes([1, 0x80])
        old.send(Publish("up/bob/1", b"", 0))
        assert await old.until_end() == b""
    listed = UnauthorizedClients(database)
    await eventually(
        lambda: any(line.client_id == "c" and line.attempts == 6 for line in listed.list()),
        "who was turned away is on the list",
    )


async def test_changes_hold_on_open_connections(start: Starting, url: str, database: Database) -> None:
    stored, blocks = StoredCredentials(database), BlockedClients(database)
    gateway, gw1 = await start("gw1", database=url)
    lasting = Properties(session_expiry_interval=600)
    peer = await Peer.connect(gw1, V5, "c1", properties=lasting, **ANN)
    await peer.subscribe("down/a", "down/b", qos=1)
    assert await peer.publish("up/ann/1") != ReasonCode.NOT_AUTHORIZED
    stored.change_rules({"ann": lambda rules: replace(rules, publish=(), subscribe=("down/a",))})
    connection = gateway.sessions.connected("c1")
    assert connection is not None
    await eventually(
        lambda: gateway._local.filters(connection) == ["down/a"], "what is not allowed is not served"
    )
    assert await peer.publish("up/ann/1") == ReasonCode.NOT_AUTHORIZED
    blocks.put([Block(Subject.USERNAME, "a.*", True)])
    async with asyncio.timeout(30):
        await asyncio.wait([peer.client.ended])
    assert await answer(gw1, V5, **ANN) == ReasonCode.BANNED
    assert await answer(gw1, V3_1_1, **ANN) == 5


async def packet_of(raw: Raw) -> Packet:
    """The next packet, read."""
    [packet] = read_all([await raw.packet()], raw.version)
    return packet


def with_data(message: str) -> Properties:
    return Properties(authentication_method=METHOD, authentication_data=message.encode())


async def test_scram(start: Starting, url: str, database: Database) -> None:
    assert database.revisions()
    gateway, gw1 = await start("gw1", database=url)
    for password, reason in (("wrong", ReasonCode.NOT_AUTHORIZED), ("pencil", 0)):
        client = ScramClient([METHOD], "bob", password)
        async with asking(gw1, V5, client_id="app1", properties=with_data(client.get_client_first())) as raw:
            challenge = await packet_of(raw)
            assert isinstance(challenge, Auth)
            client.set_server_first((challenge.properties.authentication_data or b"").decode())
            raw.send(Auth(ReasonCode.CONTINUE_AUTHENTICATION, with_data(client.get_client_final())))
            connack = await packet_of(raw)
            assert isinstance(connack, ConnAck)
            assert connack.reason_code == reason
            if reason == 0:
                client.set_server_final((connack.properties.authentication_data or b"").decode())
                connection = gateway.sessions.connected("app1")
                assert connection is not None
                assert connection.client_type == "APPLICATION"
