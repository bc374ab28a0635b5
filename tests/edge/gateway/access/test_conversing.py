"""Enhanced authentication through the core: a real provider of SCRAM, and a client that speaks it."""

from __future__ import annotations

import asyncio

import pytest
from scramp import ScramClient

from edge.gateway.connection import Connection
from edge.mqtt.packets import Auth, ConnAck, Disconnect, Packet
from edge.mqtt.properties import Properties
from edge.mqtt.reason_codes import ReasonCode
from edge.mqtt.states import State
from edge.mqtt.writing import write_packet
from identity.answers import ClientType, Rules
from identity.credentials import ScramCredentials
from identity.passwords import scram_verifiers
from identity.providers.scram import ScramProvider
from tests.edge.gateway.access.house import V5, Guarded, until

METHOD = "SCRAM-SHA-256"
VERIFIERS = scram_verifiers("pencil")


class Known:
    """The credentials of one user."""

    rules = Rules(publish=("up/${username}/.*",))

    def scram(self, username: str) -> ScramCredentials | None:
        if username != "ann":
            return None
        return ScramCredentials(
            name="ann",
            username="ann",
            verifiers=VERIFIERS,
            client_type=ClientType.APPLICATION,
            rules=self.rules,
        )


def ann() -> ScramClient:
    """The user's side."""
    return ScramClient([METHOD], "ann", "pencil")


class Speaker:
    """A client that speaks SCRAM."""

    def __init__(self, house: Guarded, client: ScramClient) -> None:
        self.house = house
        self.client = client
        self.connection: Connection | None = None

    def connect(self) -> Connection:
        """CONNECT with the first message."""
        properties = _properties(self.client.get_client_first())
        self.connection = self.house.connect(properties=properties)
        return self.connection

    def send(self, reason: int, message: str | None) -> None:
        """AUTH."""
        assert self.connection is not None
        self.connection.data_received(write_packet(Auth(reason, _properties(message)), V5))

    async def packet(self) -> Packet:
        """The next packet that comes."""
        assert self.connection is not None
        return await self.house.packet(self.connection)

    async def go_on(self) -> None:
        """Answer the challenge."""
        challenge = await self.packet()
        assert isinstance(challenge, Auth)
        assert challenge.reason_code == ReasonCode.CONTINUE_AUTHENTICATION
        assert challenge.properties.authentication_method == METHOD
        data = challenge.properties.authentication_data
        assert data is not None
        self.client.set_server_first(data.decode())
        self.send(ReasonCode.CONTINUE_AUTHENTICATION, self.client.get_client_final())

    def check(self, properties: Properties) -> None:
        """The server has proven itself."""
        assert properties.authentication_method == METHOD
        data = properties.authentication_data
        assert data is not None
        self.client.set_server_final(data.decode())


def _properties(message: str | None) -> Properties:
    data = None if message is None else message.encode()
    return Properties(authentication_method=METHOD, authentication_data=data)


def scram_house() -> Guarded:
    """Clients that are let in by SCRAM alone."""
    return Guarded(ScramProvider(Known(), b"a secret of some length"))


async def inside(house: Guarded) -> Speaker:
    """A client that is let in."""
    speaker = Speaker(house, ann())
    speaker.connect()
    await speaker.go_on()
    await until(lambda: house.words() == ["ConnectRequested"])
    house.grant()
    connack = await speaker.packet()
    assert isinstance(connack, ConnAck)
    speaker.check(connack.properties)
    return speaker


@pytest.mark.mqtt(v5="4.12.0-2 4.12.0-5")
async def test_both_prove_themselves() -> None:
    house = scram_house()
    speaker = await inside(house)
    connection = speaker.connection
    assert connection is not None
    assert connection.client_type == "APPLICATION"
    assert connection.permissions is not None
    assert connection.permissions.publish("up/ann/1") is not None  # the proven name: CONNECT had none
    assert connection.permissions.publish("up/bob/1") is None


@pytest.mark.mqtt(v5="4.12.0-4")
@pytest.mark.parametrize(("username", "password"), [("ann", "wrong"), ("bob", "pencil")])
async def test_who_proves_nothing_is_turned_away(username: str, password: str) -> None:
    house = scram_house()
    speaker = Speaker(house, ScramClient([METHOD], username, password))
    connection = speaker.connect()
    await speaker.go_on()
    await until(lambda: house.state(connection) is State.CLOSED)
    assert await house.code(connection) == ReasonCode.NOT_AUTHORIZED
    assert house.said == []


async def test_an_unknown_method() -> None:
    house = scram_house()
    connection = house.connect(properties=Properties(authentication_method="nobody knows it"))
    await until(lambda: house.state(connection) is State.CLOSED)
    assert await house.code(connection) == ReasonCode.BAD_AUTHENTICATION_METHOD


async def test_data_that_nobody_waits_for() -> None:
    house = scram_house()
    speaker = await inside(house)
    speaker.send(ReasonCode.CONTINUE_AUTHENTICATION, "c=biws")
    ended = await speaker.packet()
    assert isinstance(ended, Disconnect)
    assert ended.reason_code == ReasonCode.PROTOCOL_ERROR


async def test_who_leaves_in_the_middle_leaves_nothing() -> None:
    house = scram_house()
    speaker = Speaker(house, ann())
    connection = speaker.connect()
    await speaker.packet()
    connection.eof_received()
    await house.access.close()
    assert house.said == []
    assert len(asyncio.all_tasks()) == 1


async def test_once_more_on_the_open_connection() -> None:
    house = scram_house()
    speaker = await inside(house)
    assert speaker.connection is not None
    Known.rules, before = Rules(publish=()), Known.rules
    try:
        speaker.client = ann()
        speaker.send(ReasonCode.RE_AUTHENTICATE, speaker.client.get_client_first())
        await speaker.go_on()
        done = await speaker.packet()
    finally:
        Known.rules = before
    assert isinstance(done, Auth)
    assert done.reason_code == ReasonCode.SUCCESS
    speaker.check(done.properties)
    assert speaker.connection.permissions is not None
    assert speaker.connection.permissions.publish("up/ann/1") is None
    assert house.dropped == [speaker.connection]


@pytest.mark.mqtt(v5="4.12.1-2")
@pytest.mark.parametrize(("username", "password"), [("ann", "wrong"), ("bob", "pencil")])
async def test_who_fails_then_is_sent_away(username: str, password: str) -> None:
    house = scram_house()
    speaker = await inside(house)
    speaker.client = ScramClient([METHOD], username, password)
    speaker.send(ReasonCode.RE_AUTHENTICATE, speaker.client.get_client_first())
    if username == "ann":
        await speaker.go_on()
    ended = await speaker.packet()
    assert isinstance(ended, Disconnect)
    assert ended.reason_code == ReasonCode.NOT_AUTHORIZED
