"""Other providers in the database judge whoever comes next; those who are in stay in."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from contracts.state_record import Authentication
from edge.gateway.access.access import open_access
from edge.mqtt.states import State
from identity.answers import NO_RULES, ClientType, Failure, Success
from identity.chain import Chain
from identity.credentials import BasicCredentials
from identity.database import Database, open_database
from identity.passwords import hash_password
from identity.stored_credentials import StoredCredentials
from identity.stored_providers import StoredProviders
from tests.edge.gateway.access.house import Guarded, PlayedProvider, Quick

BAD_USER_NAME_OR_PASSWORD, NOT_AUTHORIZED = 0x86, 0x87


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty database's."""
    monkeypatch.delenv("SLUICEMQ_AUTH_PROVIDERS", raising=False)
    return f"sqlite:///{tmp_path}/identity.db"


async def opened(url: str) -> tuple[Guarded, Database]:
    """A gateway's clients behind its entrance, and the database as the administration has it."""
    database = open_database(url)
    StoredCredentials(database).add(
        BasicCredentials(
            name="ann", username="ann", password_hash=hash_password(b"right"), client_type=ClientType.DEVICE
        )
    )
    house = Guarded()
    house.access = open_access(url, house.counters, 30, house.clients.connect, house.dropped.append)
    await house.access.start()
    return house, database


async def look(house: Guarded) -> None:
    """As happens each second."""
    assert house.access._watching is not None
    await house.access._watching.look()


async def test_a_provider_is_switched_on_and_off(url: str) -> None:
    house, database = await opened(url)
    stored = StoredProviders(database)
    early = await house.let_in("early")
    assert house.access.in_force == Authentication((), "none")
    await asyncio.to_thread(stored.put_order, ["basic"])
    await look(house)
    assert house.access.in_force == Authentication(("basic",), "database")
    assert await house.code(house.connect("stranger")) == NOT_AUTHORIZED
    assert (
        await house.code(house.connect("ann", user_name="ann", password=b"wrong"))
        == BAD_USER_NAME_OR_PASSWORD
    )
    await house.let_in("ann", user_name="ann", password=b"right")
    assert house.state(early) is State.CONNECTED
    await asyncio.to_thread(stored.put_order, [])
    await look(house)
    await house.let_in("stranger")
    await house.access.close()
    database.close()


async def test_what_cannot_work_here_leaves_the_former_ones_in_force(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, database = await opened(url)
    stored = StoredProviders(database)
    await asyncio.to_thread(stored.put_order, ["basic"])
    await look(house)
    # This gateway's own machine names a file that is not there.
    monkeypatch.setenv("SLUICEMQ_AUTH_JWT_SECRET_FILE", "/nowhere/secret")
    await asyncio.to_thread(stored.put_settings, "jwt", {"jwks_url": "https://keys.example/jwks"})
    await asyncio.to_thread(stored.put_order, ["jwt"])
    await look(house)
    in_force = house.access.in_force
    assert (in_force.providers, in_force.source) == (("basic",), "database")
    assert "one of secret" in (in_force.error or "")
    assert await house.code(house.connect("stranger")) == NOT_AUTHORIZED
    await asyncio.to_thread(stored.put_order, ["basic"])
    await look(house)
    assert house.access.in_force == Authentication(("basic",), "database")
    await house.access.close()
    database.close()


async def test_what_is_stored_is_in_force_from_the_start(url: str) -> None:
    database = open_database(url)
    await asyncio.to_thread(StoredProviders(database).put_order, ["basic"])
    database.close()
    house, database = await opened(url)
    assert house.access.in_force == Authentication(("basic",), "database")
    assert await house.code(house.connect("stranger")) == NOT_AUTHORIZED
    await house.access.close()
    database.close()


async def test_who_is_being_judged_is_judged_to_the_end_by_the_former_chain() -> None:
    class Closable(PlayedProvider):
        is_closed = asyncio.Event()

        async def close(self) -> None:
            self.is_closed.set()

    former = Closable()
    house = Guarded(former)
    waiting = house.connect("early", user_name="ann", password=b"x")
    await former.until_asked(1)
    house.access._entrance.replace(Chain([Quick(lambda _: Failure("nobody comes in"))]))
    assert (
        await house.code(house.connect("late", user_name="ann", password=b"x")) == BAD_USER_NAME_OR_PASSWORD
    )
    assert not former.is_closed.is_set()
    former.answers[0].set_result(Success(ClientType.DEVICE, NO_RULES, "played"))
    await former.is_closed.wait()
    house.grant()
    assert await house.code(waiting) == 0
    await house.access.close()
