"""Access as the environment configures it: real providers in their threads, a real database, its own timer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from edge.gateway.access.access import open_access
from edge.mqtt.reason_codes import ReasonCode
from edge.mqtt.states import State
from identity.answers import ClientType, Rules
from identity.block_list import Block, Subject
from identity.blocked import BlockedClients
from identity.credentials import BasicCredentials
from identity.database import open_database
from identity.errors import DatabaseUrlError, InvalidError
from identity.passwords import hash_password
from identity.stored_credentials import StoredCredentials
from identity.unauthorized import UnauthorizedClients
from tests.edge.gateway.access.house import V3_1_1, V5, Guarded
from tests.live.peers import eventually


async def test_passwords_rules_and_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICEMQ_AUTH_PROVIDERS", "basic")
    url = f"sqlite:///{tmp_path}/identity.db"
    database = open_database(url)
    stored = StoredCredentials(database)
    stored.add(
        BasicCredentials(
            name="ann",
            username="ann",
            password_hash=hash_password(b"right"),
            client_type=ClientType.APPLICATION,
        )
    )
    house = Guarded()
    house.access = open_access(url, house.counters, 30, house.clients.connect, house.dropped.append)
    await house.access.start()
    for version, wrong, none in ((V5, 0x86, 0x87), (V3_1_1, 4, 5)):
        for password in (b"wrong", b"", None):
            assert await house.code(house.connect("c", version, user_name="ann", password=password)) == wrong
        assert await house.code(house.connect("c", version)) == none
    ann = await house.let_in("c", user_name="ann", password=b"right")
    assert (ann.client_type, ann.permissions) == ("APPLICATION", None)
    stored.change_rules({"ann": lambda rules: replace(rules, subscribe=("a",))})
    await eventually(lambda: house.dropped == [ann], "the rules have changed")
    assert ann.permissions is not None
    assert ann.permissions.publish("anything") is not None
    BlockedClients(database).put([Block(Subject.USERNAME, "ann")])
    await eventually(lambda: house.state(ann) is State.CLOSED, "ann is blocked")
    assert await house.farewell(ann) == ReasonCode.ADMINISTRATIVE_ACTION
    await house.access.close()
    [line] = UnauthorizedClients(database).list()
    assert (line.client_id, line.attempts) == ("c", 8)
    database.close()


async def test_blocks_without_providers(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/identity.db"
    database = open_database(url)
    BlockedClients(database).put([Block(Subject.CLIENT_ID, "bad")])
    house = Guarded()
    house.access = open_access(url, house.counters, 30, house.clients.connect, house.dropped.append)
    await house.access.start()
    assert await house.code(house.connect("bad")) == ReasonCode.BANNED
    good = await house.let_in("good")
    assert (good.client_type, good.permissions) == (None, None)
    StoredCredentials(database).add(BasicCredentials(name="x", username="x", rules=Rules((), ())))
    BlockedClients(database).put([Block(Subject.CLIENT_ID, "g.*", True)])
    await eventually(lambda: house.state(good) is State.CLOSED, "it is blocked, too")
    await house.access.close()
    database.close()


@pytest.mark.parametrize(
    ("providers", "url", "error"),
    [("basic", None, InvalidError), ("basics", None, InvalidError), ("", "mysql://x", DatabaseUrlError)],
)
async def test_what_cannot_be_is_told(
    monkeypatch: pytest.MonkeyPatch, providers: str, url: str | None, error: type[Exception]
) -> None:
    monkeypatch.setenv("SLUICEMQ_AUTH_PROVIDERS", providers)
    house = Guarded()
    with pytest.raises(error):
        open_access(url, house.counters, 30, house.clients.connect, house.dropped.append)
