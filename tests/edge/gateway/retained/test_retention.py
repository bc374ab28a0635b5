"""SUBSCRIBEs from the barrier to the copies, with the barrier and the log in the test's hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import pytest
from confluent_kafka import Message

from contracts.kafka_topics import KafkaTopics
from contracts.publish_record import PublishRecord
from contracts.retained_record import RetainedRecord
from edge.gateway.appender import Appender
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.local_subscriptions import LocalSubscriptions, Subscription
from edge.gateway.retained import retention as retention_module
from edge.gateway.retained.reading import Wish
from edge.gateway.retained.retention import Retention, Turn
from edge.mqtt import packets
from tests.edge.gateway.retained.test_copies import Client, PlayedAppender

FAILED = 0x80


@dataclass
class Placed:
    """A record of the subscription log that is durable."""

    at_offset: int

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self.at_offset


class PlayedBarrier:
    """Lets through what the test says."""

    def __init__(self, release: Callable[[list[Turn]], None]) -> None:
        self.held: list[Turn] = []
        self.release = release

    def enter(self, turn: Turn) -> None:
        self.held.append(turn)

    def open(self) -> None:
        held, self.held = self.held, []
        self.release(held)


class PlayedTail:
    """Brings what the test says."""

    def __init__(self, applied: Callable[[RetainedRecord], None]) -> None:
        self.applied = applied


class Setting:
    """A gateway's retained messages, and one client."""

    def __init__(self) -> None:
        self.client = Client()
        self.local: LocalSubscriptions[Connection] = LocalSubscriptions()
        self.appender = PlayedAppender()
        self.retention = Retention(
            "", KafkaTopics(), 1, "gw1", cast(Appender, self.appender), self.local, Counters(), dict
        )
        self.acknowledged: list[str] = []

    @property
    def connection(self) -> Connection:
        return cast(Connection, self.client)

    @property
    def barrier(self) -> PlayedBarrier:
        return cast(PlayedBarrier, self.retention._barrier)

    def retain(
        self, topic: str, offset: int, payload: bytes = b"", read: tuple[int, ...] = (1 << 30,)
    ) -> None:
        """The tail brings a record."""
        value = payload or b"%d" % offset
        record = RetainedRecord(PublishRecord(topic, value, "p", qos=1), 0, offset, read)
        self.retention.view.take(record, 0)
        cast(PlayedTail, self.retention.tail).applied(record)

    def subscribe(self, *filters: str, handling: int = 0) -> tuple[Turn, list[Wish | None]]:
        turn = self.retention.begin(self.connection)
        wishes = []
        for position, filter in enumerate(filters):
            is_new = not self.local.holds(self.connection, filter)
            wanted = packets.Subscription(filter, 1, retain_handling=handling)
            wishes.append(self.retention.wish(turn, position, wanted, is_new=is_new))
            self.local.add(self.connection, filter, Subscription(1))
        self.retention.asked(turn)
        return turn, wishes

    def durable(self, turn: Turn, name: str, *reasons: int) -> None:
        given = list(reasons) or [1] * 10
        self.retention.durable(turn, given, lambda: self.acknowledged.append(name))

    def subscribed(self, *filters: str, handling: int = 0) -> list[int]:
        """Subscribe, and tell what comes."""
        self.durable(self.subscribe(*filters, handling=handling)[0], "whatever")
        self.barrier.open()
        return self.client.taken()


@pytest.fixture
async def setting(monkeypatch: pytest.MonkeyPatch) -> Setting:
    monkeypatch.setattr(retention_module, "LogBarrier", lambda *given: PlayedBarrier(given[-1]))
    monkeypatch.setattr(retention_module, "RetainedTail", lambda *given: PlayedTail(given[-1]))
    return Setting()


async def test_what_is_there_when_the_barrier_opens_comes_behind_the_suback(setting: Setting) -> None:
    turn, _ = setting.subscribe("t")
    setting.durable(turn, "first")
    assert setting.acknowledged == []
    setting.retain("t", 5)
    setting.barrier.open()
    assert setting.acknowledged == ["first"]
    assert setting.client.taken() == [5]


async def test_both_the_barrier_and_the_records_are_waited_for(setting: Setting) -> None:
    turn, _ = setting.subscribe("t")
    setting.barrier.open()
    setting.retain("t", 5)
    assert setting.acknowledged == []
    setting.durable(turn, "it")
    assert setting.acknowledged == ["it"]
    assert setting.client.taken() == [5]


async def test_subscribes_of_a_connection_are_answered_in_their_order(setting: Setting) -> None:
    setting.retain("a", 1)
    setting.retain("b", 2)
    first, _ = setting.subscribe("a")
    none, _ = setting.subscribe("c", handling=2)
    last, _ = setting.subscribe("b")
    setting.durable(none, "none")  # has nothing to wait for but those before
    setting.durable(last, "last")
    setting.barrier.open()
    assert setting.acknowledged == []
    setting.durable(first, "first")
    assert setting.acknowledged == ["first", "none", "last"]
    assert setting.client.taken() == [1, 2]
    assert not setting.retention._turns


async def test_retain_handling(setting: Setting) -> None:  # M17
    setting.retain("t", 5)
    setting.retention.order.reached(0, 6)
    assert setting.subscribed("t") == [5]
    assert setting.subscribed("t") == [5]
    assert setting.subscribed("t", handling=1) == []
    assert setting.subscribed("t", handling=2) == []
    assert setting.subscribed("+", handling=1) == [5]
    assert setting.subscribed("#", handling=2) == []


async def test_each_filter_counts_and_a_failed_one_does_not(setting: Setting) -> None:  # M13
    setting.retain("t", 5)
    assert setting.subscribed("t", "+") == [5, 5]
    turn, _ = setting.subscribe("#", "t/#")
    setting.durable(turn, "half", FAILED, 1)
    setting.barrier.open()
    assert setting.client.taken() == [5]


async def test_share_groups_get_none(setting: Setting) -> None:
    setting.retain("t", 5)
    assert setting.subscribed("$share/g/t") == []


async def test_a_publish_that_passed_the_subscription_by_comes_from_the_log(setting: Setting) -> None:  # P03
    setting.retain("t", 5, b"5")
    turn, [wish] = setting.subscribe("t")
    assert wish is not None
    setting.retention.placed(wish, cast(Message, Placed(7)))
    setting.durable(turn, "it")
    setting.barrier.open()
    assert setting.client.taken() == [5]
    setting.retain("t", 6, read=(7,))  # its gateway had read what stands before 7
    assert setting.client.taken() == []  # the router may bring it yet
    setting.retention.order.reached(0, 7)
    assert setting.client.taken() == [6]
    setting.retain("t", 8, read=(8,))
    setting.retention.order.reached(0, 9)
    assert setting.client.taken() == []  # that one it gets live, by construction (I2)


async def test_what_came_live_does_not_come_from_the_log_as_well(setting: Setting) -> None:
    setting.subscribed("t")
    setting.retention.order.admit(0, 6, "t", "t", True, {setting.connection: None})
    setting.retain("t", 6, read=(0,))
    setting.retention.order.reached(0, 7)
    assert setting.client.taken() == []


async def test_nothing_comes_for_a_subscription_that_has_ended(setting: Setting) -> None:
    setting.subscribed("t")
    setting.local.remove(setting.connection, "t")
    setting.retention.ended(setting.connection, "t")
    setting.retain("t", 6, read=(0,))
    setting.retention.order.reached(0, 7)
    assert setting.client.taken() == []


async def test_a_connection_that_leaves_leaves_nothing_behind(setting: Setting) -> None:
    setting.retain("t", 5)
    turn, _ = setting.subscribe("t")
    setting.subscribed("+")
    setting.retention.ended(setting.connection, "t")
    setting.retention.ended(setting.connection, "+")
    setting.retention.left(setting.connection)
    setting.durable(turn, "late")
    setting.barrier.open()
    retention = setting.retention
    assert not retention._turns
    assert not retention._copies
    assert not retention._newcomers._of
    assert retention.order.floors == 0


async def test_a_lasting_session_has_its_copies_in_the_log_before_the_suback(setting: Setting) -> None:
    setting.client.is_kept = True
    setting.retain("t", 5)
    turn, _ = setting.subscribe("t")
    setting.durable(turn, "it")
    later, _ = setting.subscribe("t")
    setting.durable(later, "later")
    setting.barrier.open()
    assert [value for _, value, _ in setting.appender.appended] == [b"5"]
    assert setting.acknowledged == []
    setting.appender.acknowledge()
    assert setting.acknowledged == ["it"]
    setting.appender.acknowledge()
    assert setting.acknowledged == ["it", "later"]
    assert setting.client.taken() == []


async def test_what_passed_a_lasting_session_by_is_appended_for_it(setting: Setting) -> None:
    setting.client.is_kept = True
    setting.subscribed("t")
    setting.retain("t", 6, read=(0,))
    assert [value for _, value, _ in setting.appender.appended] == [b"6"]
    assert setting.client.taken() == []
