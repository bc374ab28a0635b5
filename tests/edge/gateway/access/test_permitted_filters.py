"""Filters that a client's rules do not allow: refused, and ended when the rules change; nothing of them is left."""

from __future__ import annotations

from typing import cast

import pytest

from contracts.session_event import Granted, Subscribed, Subscription, Unsubscribed
from edge.gateway.connection import Connection
from edge.mqtt import packets
from edge.mqtt.events import SubscribeReceived
from tests.edge.gateway.subscribing_house import House, PlayedClient


def resume(house: House, client: PlayedClient, kept: tuple[Subscription, ...]) -> None:
    granted = Granted("c", "seat", session_present=True, expiry=60, subscriptions=kept)
    house.subscribing.resume(cast(Connection, client), granted, lambda: None)


@pytest.mark.parametrize("form", ["{}", "$share/g/{}", "$queue/{}"])
async def test_each_filter_is_allowed_or_refused_alone(form: str) -> None:
    house, client = House(), PlayedClient("a/.*", "nobody")
    asked = [form.format(filter) for filter in ("a/+", "b", "#", "a/#")]
    assert house.subscribe(client, *asked, "nobody") == [1, 0x87, 0x87, 1, 0x87]
    assert set(house.local.filters(cast(Connection, client))) == {asked[0], asked[3]}
    assert [filter for filter, _ in house.log.records] == [asked[0], asked[3]]
    [made] = house.told
    assert isinstance(made, Subscribed)
    assert [one.filter for one in made.subscriptions] == [asked[0], asked[3]]


async def test_what_is_allowed_no_more_is_ended_as_if_the_client_had() -> None:
    house, client = House(), PlayedClient(".*")
    house.subscribe(client, "a", "b", "$share/g/b")
    house.log.records.clear()
    house.told.clear()
    client.allow("a")
    house.subscribing.drop_unauthorized(cast(Connection, client))
    assert house.local.filters(cast(Connection, client)) == ["a"]
    assert sorted(house.log.records) == [("$share/g/b", False), ("b", False)]
    assert [type(event) for event in house.told] == [Unsubscribed]
    assert client.answers == []


async def test_a_session_that_goes_on_has_only_what_is_still_allowed() -> None:
    house, client = House(), PlayedClient("a")
    kept = tuple(Subscription(filter, 1) for filter in ("a", "b"))
    resume(house, client, kept)
    assert house.local.filters(cast(Connection, client)) == ["a"]
    assert house.log.records == [("b", False)]


async def test_an_administrator_is_not_bound_by_the_clients_rules() -> None:
    """Nor does the client lose by them what it was given, until it asks for the same itself."""
    house, client = House(), PlayedClient("a")
    connection = cast(Connection, client)
    told: list[list[int]] = []
    wanted = (packets.Subscription("b", 1), packets.Subscription("nobody", 2))
    house.subscribing.subscribe(connection, SubscribeReceived(packets.Subscribe(0, wanted)), told.append)
    assert told == [[1, 2]]
    house.subscribing.drop_unauthorized(connection)
    assert sorted(house.local.filters(connection)) == ["b", "nobody"]
    [made] = house.told
    assert isinstance(made, Subscribed)
    assert all(one.by_administrator for one in made.subscriptions)
    kept = made.subscriptions
    other, back = House(), PlayedClient("a")
    resume(other, back, kept)
    assert sorted(other.local.filters(cast(Connection, back))) == ["b", "nobody"]
    assert house.subscribe(client, "b") == [0x87]
    client.allow("b")
    assert house.subscribe(client, "b") == [1]
    client.allow("a")
    house.subscribing.drop_unauthorized(connection)
    assert house.local.filters(connection) == ["nobody"]
