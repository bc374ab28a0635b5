"""Filters that a client's rules do not allow: refused, and ended when the rules change; nothing of them is left."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import Message

from contracts import subscription_record
from contracts.session_event import Granted, SessionEvent, Subscribed, Subscription, Unsubscribed
from edge.gateway.application_shares.turns import Turns
from edge.gateway.connection import Connection
from edge.gateway.denied_filters import DeniedFilters
from edge.gateway.exclusive.claims import ExclusiveClaims
from edge.gateway.local_subscriptions import LocalSubscriptions
from edge.gateway.source_marks import SourceMarks
from edge.gateway.subscribing import Subscribing
from edge.mqtt import packets
from edge.mqtt.events import SubscribeReceived
from edge.mqtt.states import State
from identity.answers import Rules
from identity.rules import Permissions


class PlayedClient:
    """A client with a lasting session, as far as subscribing sees it."""

    def __init__(self, *patterns: str) -> None:
        self.client_id = "c"
        self.seat = SimpleNamespace(id="seat", client_id="c", client_type="DEVICE", is_persistent=True)
        self.answers: list[list[int]] = []
        self.core = SimpleNamespace(
            state=State.CONNECTED, confirm_subscribe=lambda _, reasons: self.answers.append(reasons)
        )
        self.allow(*patterns)

    def allow(self, *patterns: str) -> None:
        self.permissions = Permissions(Rules(subscribe=patterns), "c", None)

    def changed(self) -> None:
        pass


class PlayedRetention:
    """Nothing is retained."""

    def begin(self, _connection: Connection) -> None:
        pass

    def wish(self, *_: object, is_new: bool) -> None:
        pass

    def asked(self, _turn: object) -> None:
        pass

    def durable(self, _turn: object, _reasons: list[int], acknowledge: Callable[[], None]) -> None:
        acknowledge()

    def ended(self, _connection: Connection, _filter: str) -> None:
        pass


class PlayedLog:
    """The subscription log, durable at once."""

    def __init__(self) -> None:
        self.records: list[tuple[str, bool]] = []

    def append(
        self, _topic: str, value: bytes | None, key: bytes, _headers: object,
        durable: Callable[[None, Message], None], _partition: int,
    ) -> None:  # fmt: skip
        _, filter = subscription_record.decode_key(key)
        self.records.append((filter, value is not None))
        durable(None, cast(Message, None))


class House:
    """Subscribing, with all around it played."""

    def __init__(self) -> None:
        self.log = PlayedLog()
        self.told: list[SessionEvent] = []
        self.local: LocalSubscriptions[Connection] = LocalSubscriptions()

        async def found(_groups: object) -> dict[str, int]:
            return {}

        parts: dict[str, Any] = {
            "appender": self.log,
            "shares": SimpleNamespace(turns=Turns(found)),
            "retention": PlayedRetention(),
        }
        self.subscribing = Subscribing(
            "subscriptions", 3, "gw1", marks=SourceMarks(), local=self.local, tell=self.tell,
            denied=DeniedFilters("nobody"), claims=ExclusiveClaims(), **parts,
        )  # fmt: skip

    def tell(self, _client_id: str, event: SessionEvent, durable: Callable[..., None]) -> None:
        self.told.append(event)
        durable(None, None)

    def subscribe(self, client: PlayedClient, *filters: str) -> list[int]:
        wanted = tuple(packets.Subscription(filter, 1) for filter in filters)
        self.subscribing.subscribe(cast(Connection, client), SubscribeReceived(packets.Subscribe(7, wanted)))
        return client.answers.pop()


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
    house.subscribing.resume(
        cast(Connection, client), Granted("c", "seat", session_present=True, expiry=60, subscriptions=kept)
    )
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
    granted = Granted("c", "seat", session_present=True, expiry=60, subscriptions=kept)
    other.subscribing.resume(cast(Connection, back), granted)
    assert sorted(other.local.filters(cast(Connection, back))) == ["b", "nobody"]
    assert house.subscribe(client, "b") == [0x87]
    client.allow("b")
    assert house.subscribe(client, "b") == [1]
    client.allow("a")
    house.subscribing.drop_unauthorized(connection)
    assert house.local.filters(connection) == ["nobody"]
