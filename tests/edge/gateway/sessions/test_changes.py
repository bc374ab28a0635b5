"""A gateway's part in an administrator's commands: what is done, and what is answered."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

from contracts import command_answer
from contracts.command_answer import DONE, MOVED, CommandAnswer
from contracts.session_event import ChangeWanted, Subscription
from edge.gateway.connection import Connection
from edge.gateway.sessions.changes import Changes
from edge.mqtt.events import SubscribeReceived, UnsubscribeReceived
from edge.mqtt.packets import Subscribe
from edge.mqtt.properties import NO_PROPERTIES
from edge.mqtt.states import State

Answer = Callable[[list[int]], None]


class House:
    """Changes, with the subscribing and Kafka played."""

    def __init__(self, *, takes: bool = True) -> None:
        self.asked: list[tuple[Any, Answer]] = []
        self.answers: list[CommandAnswer] = []
        self._takes = takes
        subscribing: Any = SimpleNamespace(subscribe=self.ask, unsubscribe=self.ask)
        self.changes = Changes("answers", cast(Any, SimpleNamespace(append=self.append)), subscribing)

    def ask(
        self, _connection: Connection, event: SubscribeReceived | UnsubscribeReceived, answer: Answer
    ) -> None:
        self.asked.append((event.packet, answer))

    def append(self, topic: str, value: bytes, key: bytes, *_: object) -> None:
        if not self._takes:
            raise BufferError
        assert topic == "answers"
        self.answers.append(command_answer.decode(key, value))


def connection(state: State = State.CONNECTED) -> Connection:
    return cast(Connection, SimpleNamespace(core=SimpleNamespace(state=state)))


TWO = (Subscription("a", 1, True, True, 2, 7), Subscription("b", 2))


def test_it_is_answered_in_order_when_all_is_durable() -> None:
    house = House()
    house.changes.change(connection(), ChangeWanted("id", "c", "k", TWO, ("x", "y")))
    (first, tell_first), (second, tell_second), (gone, tell_gone) = house.asked
    assert isinstance(first, Subscribe)
    [one] = first.subscriptions
    assert (one.filter, one.qos, one.no_local, one.retain_as_published, one.retain_handling) == (
        "a", 1, True, True, 2,
    )  # fmt: skip
    assert first.properties.subscription_identifiers == (7,)  # a packet's, so each has its own
    assert second.properties is NO_PROPERTIES
    assert gone.filters == ("x", "y")
    tell_gone([0x00, 0x11])
    tell_second([0x97])
    assert house.answers == []
    tell_first([1])
    assert house.answers == [CommandAnswer("k", DONE, (1, 0x97, 0x00, 0x11))]


def test_who_is_not_here_is_to_be_looked_for_again() -> None:
    house = House()
    for absent in (None, connection(State.CLOSED)):
        house.changes.change(absent, ChangeWanted("id", "c", "k", TWO))
    assert house.answers == [CommandAnswer("k", MOVED)] * 2
    assert house.asked == []


def test_where_kafka_is_behind_nothing_breaks() -> None:
    House(takes=False).changes.change(None, ChangeWanted("id", "c", "k", TWO))
