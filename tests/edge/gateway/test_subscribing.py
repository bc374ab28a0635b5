"""When a client's records are in the subscription log, and what waits for that."""

from __future__ import annotations

from typing import Any, cast

import pytest

from contracts.session_event import Granted, Subscription
from edge.gateway.connection import Connection
from tests.edge.gateway.subscribing_house import House, PlayedClient

KEPT = (Subscription("a/b", 0), Subscription("a/#", 2))


def resume(house: House, client: PlayedClient, **fields: Any) -> list[str]:
    """A session goes on; what is returned fills when its subscriptions lead here."""
    done: list[str] = []
    granted = Granted("c", "seat", session_present=True, expiry=60, subscriptions=KEPT, **fields)
    house.subscribing.resume(cast(Connection, client), granted, lambda: done.append("resumed"))
    return done


def leave(house: House, client: PlayedClient, *, is_kept: bool) -> list[str]:
    """A connection ends; what is returned fills when the session's owner may be told."""
    done: list[str] = []
    house.subscribing.leave(cast(Connection, client), is_kept, lambda: done.append("left"))
    return done


@pytest.mark.parametrize(
    ("moved", "is_persistent"), [(True, True), (False, False)], ids=["moved", "ends with the connection"]
)
async def test_a_session_goes_on_when_the_log_says_that_it_is_here(moved: bool, is_persistent: bool) -> None:
    """Else a message of QoS 0, published right after CONNACK, would go where the client was before."""
    house, client = House(), PlayedClient(".*", is_persistent=is_persistent)
    house.log.is_held = True
    done = resume(house, client, moved=moved)
    assert house.log.records == [("a/b", True), ("a/#", True)]
    assert sorted(house.local.filters(cast(Connection, client))) == ["a/#", "a/b"], "served from the start"
    house.log.let_go(1)
    assert done == []
    house.log.let_go(1)
    assert done == ["resumed"]


async def test_a_session_that_was_here_waits_for_nothing() -> None:
    house = House()
    house.log.is_held = True
    assert resume(house, PlayedClient(".*")) == ["resumed"]
    assert house.log.records == []


async def test_what_the_rules_allow_no_more_is_over_when_it_goes_on() -> None:
    house, client = House(), PlayedClient("a/b")
    house.log.is_held = True
    done = resume(house, client)
    assert house.log.records == [("a/#", False)]
    assert done == []
    house.log.let_go(1)
    assert done == ["resumed"]


@pytest.mark.parametrize("is_kept", [True, False])
async def test_nothing_of_a_connection_comes_after_its_end(is_kept: bool) -> None:
    """A record that was still under way could stand behind that of the gateway where the client is by then."""
    house, client = House(), PlayedClient(".*")
    house.log.is_held = True
    resume(house, client, moved=True)
    done = leave(house, client, is_kept=is_kept)
    tombstones = [] if is_kept else [("a/b", False), ("a/#", False)]
    assert sorted(house.log.records[2:]) == sorted(tombstones)
    for _ in range(1 + len(tombstones)):
        house.log.let_go(1)
        assert done == []
    house.log.let_go(1)
    assert done == ["left"]


async def test_nor_of_what_it_subscribed_to_a_moment_before() -> None:
    house, client = House(), PlayedClient(".*")
    house.log.is_held = True
    house.ask(client, "a")
    done = leave(house, client, is_kept=True)
    assert done == []
    house.log.let_go(1)
    assert done == ["left"]


async def test_nor_of_what_it_has_unsubscribed_from() -> None:
    house, client = House(), PlayedClient(".*")
    house.subscribe(client, "a")
    house.log.is_held = True
    client.allow()
    house.subscribing.drop_unauthorized(cast(Connection, client))
    assert house.local.filters(cast(Connection, client)) == []
    done = leave(house, client, is_kept=True)
    assert done == []
    house.log.let_go(1)
    assert done == ["left"]
