"""Claims of this gateway's clients, with a log that the test plays: what is written, and what is undone."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest
from confluent_kafka import KafkaError

from contracts.session_event import SessionEvent, Subscription
from edge.gateway.appender import Durable
from edge.gateway.connection import Connection
from edge.gateway.exclusive.claims import CLAIMED, HELD, ExclusiveClaims
from edge.gateway.exclusive.exclusive import Exclusive, together, unwrapped
from edge.mqtt.events import SubscribeReceived
from edge.mqtt.packets import Subscribe
from edge.mqtt.packets import Subscription as Wanted
from edge.mqtt.reason_codes import ReasonCode
from edge.mqtt.states import State

FILTER = "$exclusive/a"


class Client:
    """What is looked at of a connection."""

    def __init__(self) -> None:
        self.client_id = "c"
        self.seat = SimpleNamespace(id="seat")
        self.core = SimpleNamespace(state=State.CONNECTED)
        self.reason: ReasonCode | None = None

    def disconnect_soon(self, reason: ReasonCode) -> None:
        self.reason = reason


class House:
    """A gateway whose log is read when the test says so."""

    def __init__(self, *, is_enabled: bool = True) -> None:
        self.claims = ExclusiveClaims()
        self.done: list[str] = []
        self.error: KafkaError | None = None
        self.client = Client()
        self.exclusive = Exclusive(
            self.claims, "gw1", self.write, lambda _, s: self.done.append(f"serve {s.filter}"),
            lambda _, filter: self.done.append(f"end {filter}"),
            lambda _, filter: self.done.append(f"give up {filter}"), self.tell, is_enabled=is_enabled,
        )  # fmt: skip

    @property
    def connection(self) -> Connection:
        return cast(Connection, self.client)

    def write(self, _: Connection, subscription: Subscription, durable: Durable) -> None:
        self.done.append(f"write {subscription.filter} {subscription.qos}")
        durable(self.error, None)  # type: ignore[arg-type] # nobody looks at it

    def tell(self, _: str, event: SessionEvent, durable: Durable) -> None:
        self.done.append(type(event).__name__)
        durable(None, None)  # type: ignore[arg-type]

    async def claim(self, *held: str) -> asyncio.Task[object]:
        task: asyncio.Task[object] = asyncio.ensure_future(
            self.exclusive.refused(self.connection, held, [FILTER, FILTER])
        )
        for _ in range(5):
            await asyncio.sleep(0)
        return task


async def test_who_wins_holds_and_says_so() -> None:
    house = House()
    task = await house.claim()
    assert house.done == ["Subscribed", f"write {FILTER} {CLAIMED}"]  # the owner knows of it first
    assert not task.done()
    house.claims.read("c", FILTER, CLAIMED)
    assert await task == {}
    assert house.done[2:] == [f"serve {FILTER}", f"write {FILTER} {HELD}"]
    house.done.clear()
    assert await (await house.claim(FILTER)) == {}  # renewed
    assert house.done == []


async def test_who_loses_leaves_nothing() -> None:
    house = House()
    house.claims.read("other", FILTER, CLAIMED)
    task = await house.claim()
    house.claims.read("c", FILTER, CLAIMED)
    assert await task == {FILTER: ReasonCode.QUOTA_EXCEEDED}
    assert house.done[2:] == [f"end {FILTER}", "Unsubscribed"]
    assert house.claims.holder(FILTER) == "other"


async def test_nor_does_who_leaves_meanwhile_though_it_has_won() -> None:
    house = House()
    task = await house.claim()
    house.client.core.state = State.CLOSED
    house.claims.read("c", FILTER, CLAIMED)
    await task
    assert house.done[2:] == [f"end {FILTER}", "Unsubscribed"]


async def test_nor_what_kafka_does_not_take() -> None:
    house = House()
    house.error = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)
    assert await (await house.claim()) == {FILTER: ReasonCode.QUOTA_EXCEEDED}
    assert house.done[2:] == [f"end {FILTER}", "Unsubscribed"]


@pytest.mark.parametrize("is_lost", [False, True])
async def test_a_session_that_goes_on_claims_again(is_lost: bool) -> None:
    house = House()
    house.claims.read("other" if is_lost else "c", FILTER, HELD)
    house.exclusive.claim_again(house.connection, FILTER)
    await asyncio.sleep(0)
    assert house.done == [f"write {FILTER} {CLAIMED}"]
    house.claims.read("c", FILTER, CLAIMED)
    for _ in range(3):
        await asyncio.sleep(0)
    assert house.done[1:] == [f"give up {FILTER}" if is_lost else f"write {FILTER} {HELD}"]
    assert house.client.reason == (ReasonCode.QUOTA_EXCEEDED if is_lost else None)


async def test_switched_off_nothing_is_claimed() -> None:
    house = House(is_enabled=False)
    assert await (await house.claim()) == {FILTER: ReasonCode.TOPIC_FILTER_INVALID}
    assert house.done == []


def test_what_was_won_goes_on_under_its_plain_filter() -> None:
    wanted = (Wanted(FILTER, 2), Wanted("a", 1), Wanted("$exclusive/b", 0))
    event = unwrapped(SubscribeReceived(Subscribe(7, wanted)), {"$exclusive/b": 0x97})
    assert [(one.filter, one.qos) for one in event.packet.subscriptions] == [
        ("a", 2), ("a", 1), ("$exclusive/b", 0),
    ]  # fmt: skip
    plain = SubscribeReceived(Subscribe(7, (Wanted("a"),)))
    assert unwrapped(plain, {}) is plain


def test_the_two_end_together() -> None:
    for filter in ("a", FILTER):
        assert together(filter, ["a", FILTER]) == ("a", FILTER)
    assert together("a", ["a"]) == ("a",)
    assert together(FILTER, ["a"]) == (FILTER,)
