"""Copies to one connection: as its window and its socket take them, never more than a portion a turn of the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import pytest
from confluent_kafka import KafkaError

from contracts import retained_record
from contracts.headers import Headers
from contracts.kafka_topics import KafkaTopics
from contracts.publish_record import MessageProperties, PublishRecord
from contracts.retained_record import COPIES, RetainedRecord
from edge.gateway.appender import Appender
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.limits.outflow import Outflow
from edge.gateway.limits.rate import Rate, Window
from edge.gateway.local_subscriptions import LocalSubscriptions, Subscription
from edge.gateway.retained import copies as copies_module
from edge.gateway.retained import keeping as keeping_module
from edge.gateway.retained.copies import Copies
from edge.gateway.retained.keeping import Keeping
from edge.gateway.retained.order import Kind, LiveOrder
from edge.gateway.retained.reading import Reading, read
from edge.gateway.retained.view import RetainedView
from edge.mqtt.packets import PubAck, Publish
from edge.mqtt.reason_codes import ReasonCode
from tests.edge.gateway.persistence.client import PlayedConnection

COUNT = 1_000


class Client(PlayedConnection):
    """A connection as copies see it."""

    def __init__(self, receive_maximum: int = 10) -> None:
        super().__init__(receive_maximum=receive_maximum)
        self.is_slow = self.is_kept = False
        self.seat = None
        self.outflow: Outflow | None = None
        self.wants_more: Callable[[], None] | None = None

    def taken(self) -> list[int]:
        """Payloads of what has come, acknowledged; all of it has RETAIN=1."""
        packets = [packet for packet in self.packets() if isinstance(packet, Publish)]
        assert all(packet.retain for packet in packets)
        for packet in packets:
            if packet.qos:
                list(self.answer(PubAck(packet.packet_id)))
                if self.wants_more:
                    self.wants_more()
        return [int(packet.payload) for packet in packets]


class Setting:
    """A view with `COUNT` messages at QoS 1, and a client that holds `t/+`."""

    def __init__(self, qos: int = 1, receive_maximum: int = 10, no_local: bool = False) -> None:
        self.client = Client(receive_maximum)
        self.view = RetainedView()
        for number in range(COUNT):
            self.retain(number, number)
        self.local: LocalSubscriptions[Connection] = LocalSubscriptions()
        self.local.add(self.connection, "t/+", Subscription(qos, no_local=no_local))
        self.order: LiveOrder[Connection] = LiveOrder(self.view.__len__)
        self.counters = Counters()
        self.hurried = 0
        self.copies = Copies(self.connection, self.order, self.local, self.counters, self.hurry)

    @property
    def connection(self) -> Connection:
        return cast(Connection, self.client)

    def hurry(self) -> None:
        self.hurried += 1

    def retain(self, number: int, offset: int, payload: bytes | None = None) -> None:
        value = b"%d" % number if payload is None else payload
        self.view.take(RetainedRecord(PublishRecord(f"t/{number}", value, "p", qos=1), 0, offset), 0)

    def reading(self, kind: Kind = Kind.NEW) -> Reading:
        return Reading("t/+", kind, self.order.now(), read(self.view, "t/+"))

    def begin(self, kind: Kind = Kind.NEW) -> None:
        self.copies.add(self.reading(kind))

    async def rest(self) -> list[int]:
        """All that comes, turn by turn, until nothing is under way."""
        came: list[int] = []
        while self.client.wants_more is not None:
            came += self.client.taken()
            await asyncio.sleep(0)
        return came + self.client.taken()


async def test_at_qos_1_the_window_paces() -> None:
    here = Setting(receive_maximum=10)
    here.begin()
    assert here.client.core.in_flight == 10
    assert here.client.core.queued == 0
    assert sorted(await here.rest()) == list(range(COUNT))
    assert here.counters.retained_copies == COUNT


async def test_at_qos_0_the_socket_paces_and_no_turn_takes_long() -> None:
    here = Setting(qos=0)
    here.begin()
    first = here.client.taken()
    assert len(first) == copies_module._PORTION
    here.client.is_slow = True
    for _ in range(20):
        await asyncio.sleep(0)
    assert here.client.taken() == []
    here.client.is_slow = False
    assert here.client.wants_more is not None
    here.client.wants_more()
    assert sorted(first + await here.rest()) == list(range(COUNT))


async def test_what_changes_meanwhile_comes_live() -> None:
    here = Setting()
    here.begin()
    first = here.client.taken()
    last = 99
    assert last not in first  # it was looked up at once, and waits for the window
    here.retain(last, 5_000, b"")
    here.retain(500, 6_000, b"9999")
    here.retain(501, 6_001, b"")
    assert sorted(first + await here.rest()) == [n for n in range(COUNT) if n not in (500, 501)]


@pytest.mark.parametrize("end", ["unsubscribed", "dropped", "closed"])
async def test_what_ends_them(end: str) -> None:
    here = Setting()
    here.begin()
    if end == "unsubscribed":
        here.local.remove(here.connection, "t/+")
        here.copies.drop("t/+")
    elif end == "dropped":
        here.copies.drop()
    else:
        here.client.core.disconnect(ReasonCode.SUCCESS)
    here.copies.pump()
    assert len(here.client.taken()) == 10
    assert here.client.wants_more is None


async def test_one_after_the_other_and_only_those_of_a_filter_are_dropped() -> None:
    here = Setting()
    here.local.add(here.connection, "#", Subscription(1))
    here.begin()
    here.copies.add(Reading("#", Kind.NEW, 0, read(here.view, "t/7")))
    here.copies.drop("t/+")
    here.copies.pump()
    assert 7 in await here.rest()


async def test_what_waits_for_the_downlink_asks_for_a_sign_of_it() -> None:
    here = Setting()
    here.begin(Kind.AGAIN)
    assert here.client.taken() == []
    assert here.hurried == 1
    here.order.reached(0, COUNT)
    assert sorted(await here.rest()) == list(range(COUNT))


async def test_behind_a_copy_what_is_not_newer_is_not_for_the_subscriber() -> None:
    here = Setting(receive_maximum=10)
    here.begin()
    number = here.client.taken()[0]
    holders = {here.connection: None}
    assert not here.order.admit(0, number, "t/+", f"t/{number}", True, holders)
    assert here.order.admit(0, number + 1, "t/+", f"t/{number}", True, holders)


async def test_no_local() -> None:
    here = Setting(no_local=True)
    here.client.client_id = "p"
    here.begin()
    assert await here.rest() == []


class PlayedAppender:
    """Notes what is appended; it is durable when the test says so."""

    def __init__(self) -> None:
        self.appended: list[tuple[str, bytes, Headers]] = []
        self.durable: list[Callable[[KafkaError | None, None], None]] = []
        self.room = 1 << 30
        self.waiting: list[Callable[[], None]] = []

    def append(
        self, topic: str, value: bytes, key: bytes, headers: Headers, durable: Callable[..., None]
    ) -> None:
        assert key
        if not self.room:
            raise BufferError
        self.room -= 1
        self.appended.append((topic, value, headers))
        self.durable.append(durable)

    def when_room(self, resume: Callable[[], None]) -> None:
        self.waiting.append(resume)

    def acknowledge(self) -> None:
        durable, self.durable = self.durable, []
        for one in durable:
            one(None, None)


class KeptSetting(Setting):
    """The same for a session that outlives its connection."""

    def __init__(self) -> None:
        super().__init__()
        self.client.is_kept = True
        self.appender = PlayedAppender()
        appender = cast(Appender, self.appender)
        self.keeping = Keeping(KafkaTopics(), appender, self.local, self.counters)
        self.done = 0

    def keep(self) -> None:
        self.keeping.keep(self.connection, [self.reading()], self.count)

    def count(self) -> None:
        self.done += 1

    async def turns(self) -> None:
        for _ in range(50):
            await asyncio.sleep(0)


async def test_a_lasting_session_has_them_in_its_log_and_not_from_here() -> None:
    here = KeptSetting()
    here.begin()
    assert await here.rest() == []
    here.keep()
    await here.turns()
    assert here.done == 0
    here.appender.acknowledge()
    await here.turns()
    assert here.done == 1
    assert {topic for topic, _, _ in here.appender.appended} == {"tbmq.msg.persisted"}
    assert sorted(int(value) for _, value, _ in here.appender.appended) == list(range(COUNT))
    assert all(
        retained_record.is_copy(int(headers[-2][1].split(b":")[0])) for *_, headers in here.appender.appended
    )
    assert str(COPIES) in here.appender.appended[0][2][-2][1].decode()


async def test_few_of_them_are_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping_module, "_UNDER_WAY", 100)
    here = KeptSetting()
    here.keep()
    rounds = 0
    while not here.done:
        await here.turns()
        assert len(here.appender.durable) <= 100
        here.appender.acknowledge()
        rounds += 1
    assert rounds >= COUNT // 100
    assert len(here.appender.appended) == COUNT


async def test_a_full_producer_is_waited_for() -> None:
    here = KeptSetting()
    here.appender.room = 7
    here.keep()
    await here.turns()
    here.appender.room = 1 << 30
    [resume] = here.appender.waiting
    resume()
    await here.turns()
    here.appender.acknowledge()
    await here.turns()
    assert here.done == 1
    assert len(here.appender.appended) == COUNT


async def test_a_connection_that_ends_is_kept_nothing_more_for() -> None:
    here = KeptSetting()
    here.keep()
    here.client.core.disconnect(ReasonCode.SUCCESS)
    await here.turns()
    here.appender.acknowledge()
    assert here.done == 1
    assert len(here.appender.appended) <= 200


async def test_what_has_expired_is_not_kept() -> None:
    here = KeptSetting()
    said = MessageProperties(message_expiry=1, published_at_ms=1_000)
    here.view.take(RetainedRecord(PublishRecord("t/0", b"0", qos=1, properties=said), 0, 9_000), 2_000)
    here.keep()
    await here.turns()
    assert 0 not in {int(value) for _, value, _ in here.appender.appended}


@pytest.mark.parametrize("qos", [0, 1])
async def test_a_rate_paces_and_nothing_is_dropped(qos: int) -> None:
    here = Setting(qos, receive_maximum=1_000)
    rate = Rate([Window(10, 3_600)])
    outflow = here.client.outflow = Outflow(here.connection, [rate], [rate], None, lambda _: None)
    here.client.core.pace(outflow)
    here.begin()
    first = here.client.taken()
    assert (len(first), here.counters.retained_copies) == (10, 10)
    here.client.outflow = None
    here.client.core.pace(Open())
    outflow.close()
    here.copies.pump()
    assert sorted(first + await here.rest()) == list(range(COUNT))


class Open:
    """A gate that holds nobody back."""

    is_open = True

    def passed(self) -> None: ...
