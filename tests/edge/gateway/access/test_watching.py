"""Changes in a database reach connections that are open; who is turned away is on its list."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from edge.gateway.access.access import Access
from edge.gateway.connection import Connection
from edge.mqtt.packets import Will
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode
from edge.mqtt.states import State
from identity.answers import ClientType, Rules, Success
from identity.attempt import ConnectAttempt
from identity.block_list import Block, Subject
from identity.blocked import BlockedClients
from identity.credentials import BasicCredentials
from identity.database import Database, open_database
from identity.errors import DatabaseUnavailableError
from identity.rules import Permissions
from identity.stored_credentials import StoredCredentials
from identity.unauthorized import UnauthorizedClients
from tests.edge.gateway.access.house import V3_1_1, V5, Guarded, Quick, until

UP = Rules(publish=("up/.*",), subscribe=("down/.*",))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """An empty database."""
    database = open_database(f"sqlite:///{tmp_path}/identity.db")
    yield database
    database.close()


class Watched(Guarded):
    """Clients that are let in by stored credentials, whatever they show."""

    def __init__(self, database: Database) -> None:
        self.stored = StoredCredentials(database)
        self.stored.add(BasicCredentials(name="all", username="ann", rules=UP))

        def answer(_: ConnectAttempt) -> Success:
            credentials = self.stored.get("all")
            return Success(ClientType.DEVICE, credentials.rules, "all", credentials.id)

        super().__init__(Quick(answer), database=database)
        self.blocks = BlockedClients(database)
        self.unauthorized = UnauthorizedClients(database)

    async def started(self) -> Access:
        """Ready, and not looking by itself: the test says when."""
        await self.access.start()
        return self.access


async def look(house: Watched) -> None:
    """Look for changes once."""
    watching = house.access._watching
    assert watching is not None
    await watching.look()


def _permissions(connection: Connection) -> Permissions | None:
    return connection.permissions  # read anew: it may have changed


async def test_changed_rules_hold_on_open_connections(database: Database) -> None:
    house = Watched(database)
    await house.started()
    connection = await house.let_in(will=Will("up/gone", b""))
    assert connection.permissions is not None
    assert connection.permissions.publish("up/1") is not None
    house.stored.change_rules({"all": lambda rules: replace(rules, publish=("else/.*",))})
    await look(house)
    assert connection.permissions.publish("up/1") is None
    assert connection.permissions.publish("else/1") is not None
    assert connection.will is None
    assert house.dropped == [connection]
    house.stored.change_rules({"all": lambda _: Rules()})
    await look(house)
    assert _permissions(connection) is None
    assert house.dropped == [connection]
    await house.access.close()


async def test_without_credentials_nobody_stays(database: Database) -> None:
    house = Watched(database)
    await house.started()
    connection = await house.let_in()
    house.stored.remove("all")
    await look(house)
    assert await house.farewell(connection) == ReasonCode.NOT_AUTHORIZED
    await house.access.close()


@pytest.mark.parametrize(("version", "code"), [(V5, 0x8A), (V3_1_1, 5)])
@pytest.mark.parametrize(
    "block",
    [Block(Subject.CLIENT_ID, "bad"), Block(Subject.CLIENT_ID, "b.*", True), Block(Subject.USERNAME, "eve")],
)
async def test_the_blocked_are_sent_away_and_kept_out(
    database: Database, block: Block, version: ProtocolVersion, code: int
) -> None:
    house = Watched(database)
    await house.started()
    good = await house.let_in("good")
    bad = await house.let_in("bad", user_name="eve")
    house.blocks.put([block])
    await look(house)
    assert await house.farewell(bad) == ReasonCode.ADMINISTRATIVE_ACTION
    assert house.state(good) is State.CONNECTED
    again = house.connect("bad", version, user_name="eve")
    assert await house.code(again) == code
    house.blocks.remove(block)
    await look(house)
    await house.let_in("bad", user_name="eve")
    await house.access.close()


async def test_while_the_database_does_not_answer_what_is_known_holds(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is in stays in with its rules, who is blocked stays out; changes are taken up when it is back."""
    house = Watched(database)
    await house.started()
    good = await house.let_in("good")
    house.blocks.put([Block(Subject.CLIENT_ID, "bad")])
    await look(house)
    house.stored.change_rules({"all": lambda rules: replace(rules, publish=("else/.*",))})

    def away(_: Database) -> None:
        raise DatabaseUnavailableError("sqlite://", "it is away")

    with monkeypatch.context() as inside:
        inside.setattr(Database, "asking", away)
        await look(house)
        assert house.state(good) is State.CONNECTED
        assert good.permissions is not None
        assert good.permissions.publish("up/1") is not None
        assert await house.code(house.connect("bad", V5)) == 0x8A
    await look(house)
    assert _permissions(good).publish("up/1") is None  # type: ignore[union-attr]
    await house.access.close()


async def test_who_is_judged_while_rules_change_gets_them_too(database: Database) -> None:
    house = Watched(database)
    await house.started()
    waits = asyncio.Event()
    stale = house.stored.get("all")

    class Slow(Quick):
        async def authenticate(self, attempt: ConnectAttempt) -> Success:  # noqa: ARG002
            await waits.wait()
            return Success(ClientType.DEVICE, stale.rules, "all", stale.id)

    house.access._entrance._chain._providers = (Slow(lambda _: Success(ClientType.DEVICE, Rules(), "")),)
    connection = house.connect()
    await until(lambda: len(house.access._entrance._judging) == 1)
    house.stored.change_rules({"all": lambda rules: replace(rules, publish=())})
    await look(house)
    waits.set()
    await until(lambda: house.words() == ["ConnectRequested"])
    house.grant()
    assert connection.permissions is not None
    assert connection.permissions.publish("up/1") is not None  # as it was read
    await look(house)
    assert connection.permissions.publish("up/1") is None
    await house.access.close()


async def test_who_was_turned_away_is_on_the_list(database: Database) -> None:
    house = Watched(database)
    house.blocks.put([Block(Subject.CLIENT_ID, "bad")])
    await house.started()
    for _ in range(3):
        house.connect("bad", user_name="eve", password=b"secret")
    await house.access.close()
    reopened = UnauthorizedClients(database)
    [line] = reopened.list()
    assert (line.client_id, line.username, line.attempts) == ("bad", "eve", 3)
    assert "secret" not in repr(line)
