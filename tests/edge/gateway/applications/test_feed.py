"""Feeds of applications: what a client is sent, what its owner is told, and when the reading is held."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Any, cast

from confluent_kafka import Message as KafkaMessage

from contracts import probe_record
from contracts.application_progress import Progress
from contracts.headers import FILTER, ID, Headers
from contracts.persisted_record import packet_id
from contracts.session_event import ApplicationProgress, SessionEvent
from contracts.shared_record import SOURCES
from edge.gateway.appender import Durable
from edge.gateway.applications import feed as feeds
from edge.gateway.applications import reporting
from edge.gateway.applications.feed import ApplicationFeed, Bounds, Start
from edge.gateway.applications.reporting import Reporting
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.local_subscriptions import Subscription
from edge.gateway.persistence.sender import Sender
from edge.gateway.source_marks import SourceMarks
from edge.mqtt.events import DeliveryCompleted
from edge.mqtt.packets import PubAck, PubComp, Publish, PubRec, PubRel
from tests.edge.gateway.persistence.client import PlayedConnection, message_headers


class Record:
    """A record of the application's topic, as a consumer gives it."""

    def __init__(self, offset: int, headers: Headers) -> None:
        self._offset, self._headers = offset, headers

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def value(self) -> bytes:
        return b"%d" % self._offset

    def headers(self) -> Headers:
        return self._headers


class Setting:
    """A feed, its client, and its owner."""

    def __init__(
        self, progress: Progress | None = None, sent: Collection[int] | None = (), replay_end: int = 0,
        receive_maximum: int = 10, bounds: Bounds | None = None,
    ) -> None:  # fmt: skip
        self.client = PlayedConnection(receive_maximum=receive_maximum)
        self.counters = Counters()
        self.marks = SourceMarks()
        self.told: list[tuple[Progress, Durable | None]] = []
        self.has_told = asyncio.Event()
        self.held: list[bool] = []
        connection = cast(Connection, self.client)
        self.reporting = Reporting(self._tell)
        self.feed = ApplicationFeed(
            Sender(connection, "app", self.counters, self.client.find), "connection",
            Start(progress or Progress(0), replay_end, sent), bounds or Bounds(100, 10_000), self.counters,
            self.marks.see, self.reporting, self.held.append,
        )  # fmt: skip

    def _tell(self, client_id: str, event: SessionEvent, durable: Durable | None) -> None:
        assert client_id == "c"
        assert isinstance(event, ApplicationProgress)
        assert event.connection == "connection"
        self.told.append((event.progress, durable))
        self.has_told.set()

    def take(
        self,
        *offsets: int,
        source: Callable[[int], int] = lambda offset: offset,
        partition: int = 0,
        **more: Any,
    ) -> None:
        for offset in offsets:
            record = Record(offset, message_headers((partition, source(offset)), **more))
            self.feed.take(cast(KafkaMessage, record))
        self.feed.pump()

    def sent(self) -> list[tuple[int, bool]]:
        """(offset, DUP) of the publishes that the client gets."""
        packets = self.client.packets()
        assert all(isinstance(packet, Publish) for packet in packets)
        for packet in packets:
            assert isinstance(packet, Publish)
            assert packet.packet_id == packet_id(int(packet.payload))
        return [(int(packet.payload), packet.dup) for packet in packets if isinstance(packet, Publish)]

    def answer(self, *packets: PubAck) -> None:
        for event in self.client.answer(*packets):
            if isinstance(event, DeliveryCompleted):
                self.feed.completed(event)
            else:
                self.feed.received(event)


async def test_in_order_and_within_the_window() -> None:
    here = Setting(receive_maximum=2)
    here.take(0, 1, 2, 3)
    assert here.sent() == [(0, False), (1, False)]
    here.answer(PubAck(packet_id(1)))
    assert here.sent() == [(2, False)]
    assert here.feed.end() == [0, 2]
    here.reporting.settle(here.feed)
    assert here.told == [(Progress(0, acked=(1, 2)), None)]


async def test_acknowledgements_gather(monkeypatch: Any) -> None:
    monkeypatch.setattr(reporting, "AT_MOST", 3)
    here = Setting()
    here.take(*range(6))
    here.answer(*(PubAck(packet_id(offset)) for offset in range(4)))
    assert [progress.floor for progress, _ in here.told] == [3]
    here.reporting.settle(here.feed)
    assert [progress.floor for progress, _ in here.told] == [3, 4]
    here.reporting.settle(here.feed)
    assert len(here.told) == 2


async def test_gathered_acknowledgements_are_told_by_themselves(monkeypatch: Any) -> None:
    monkeypatch.setattr(reporting, "INTERVAL", 0.001)
    here = Setting()
    here.take(0)
    here.answer(PubAck(packet_id(0)))
    async with asyncio.timeout(120):
        await here.has_told.wait()
    assert here.told[0][0].floor == 1


async def test_qos_2_is_noted_before_pubrel() -> None:  # I5
    here = Setting()
    here.take(0, 1, qos=2)
    here.sent()
    here.answer(PubRec(packet_id(0)), PubRec(packet_id(1)))
    await asyncio.sleep(0)
    assert here.client.packets() == []
    [(progress, durable)] = here.told
    assert progress == Progress(0, received=(0, 1))
    assert durable is not None
    durable(None, cast(KafkaMessage, None))
    assert here.client.packets() == [PubRel(packet_id(0)), PubRel(packet_id(1))]
    assert here.feed.end() == []
    here.answer(PubComp(packet_id(0)))
    here.reporting.settle(here.feed)
    assert (here.told[-1][0].floor, here.told[-1][0].received) == (1, (1,))


async def test_releases_come_first_and_are_not_sent_again() -> None:
    here = Setting(Progress(3, acked=(4, 5), received=(3,)), receive_maximum=1)
    here.take(3, 4, 5, qos=2)
    assert here.client.packets() == [PubRel(packet_id(3))]
    here.answer(PubComp(packet_id(3)))
    assert here.sent() == [(5, False)]
    assert here.feed.reading.floor == 5


async def test_what_was_sent_before_gets_dup() -> None:
    here = Setting(sent=(1, 7))
    here.take(0, 1, 2)
    assert here.sent() == [(0, False), (1, True), (2, False)]
    here.answer(PubAck(packet_id(1)))
    assert here.feed.end() == [0, 2, 7]


async def test_what_was_sent_is_owed_when_it_was_unsubscribed_from_since() -> None:
    """Case M49: what was begun is completed [MQTT-3.10.4-3]."""
    here = Setting(sent=(1,))
    here.client.subscriptions = {}
    here.take(0, 1, 2)
    assert here.sent() == [(1, True)]


async def test_nobody_knows_what_was_sent() -> None:
    here = Setting(sent=None)
    here.take(*range(12))
    assert here.sent() == [(offset, True) for offset in range(10)]
    here.answer(PubAck(packet_id(0)), PubAck(packet_id(1)))
    assert here.sent() == [(10, False), (11, False)]
    early = Setting(sent=None)
    early.take(0)
    assert early.feed.end() == list(range(10))


async def test_repeats_markers_and_poison_are_passed_over() -> None:
    here = Setting()
    here.take(0, 1, source=lambda _: 5)
    here.take(2, qos=1, topic=probe_record.PROBE_KEY, filter=probe_record.PROBE_KEY)
    here.feed.take(cast(KafkaMessage, Record(3, [(ID, b"x"), (FILTER, b"a")])))
    here.take(4)
    assert here.sent() == [(0, False)]  # 4 is below 5 at the source
    here.take(6)
    assert here.sent() == [(6, False)]
    assert (here.counters.repeated_records, here.counters.poison_records) == (2, 1)


async def test_what_matches_several_filters_comes_once_and_by_a_group_once_more() -> None:  # M14, M15
    here = Setting()
    here.client.subscriptions = {
        "a": Subscription(1, subscription_id=1),
        "+": Subscription(2, subscription_id=2),
        "$share/g/a": Subscription(1, subscription_id=3),
    }
    for offset, filter in enumerate(("+", "a", "$share/g/a")):
        here.take(offset, source=lambda _: 7, qos=2, filter=filter)
    came = [packet for packet in here.client.packets() if isinstance(packet, Publish)]
    assert [(one.payload, one.qos, sorted(one.properties.subscription_identifiers)) for one in came] == [
        (b"0", 2, [1, 2]),
        (b"2", 1, [3]),
    ]
    assert here.counters.repeated_records == 1


async def test_a_later_subscription_changes_nothing_about_what_was_sent() -> None:
    """Else what is sent again on the next connection, under the same packet id, could have another QoS."""
    here = Setting()
    here.client.subscriptions = {"a": Subscription(1)}
    here.take(0, qos=2, filter="$share/g/a", partition=SOURCES)
    here.take(1, qos=2)
    assert here.marks.floors() == (1,)
    here.client.subscriptions["+"] = Subscription(2, floors=here.marks.floors())
    here.take(2, qos=2)
    assert [one.qos for one in here.client.packets() if isinstance(one, Publish)] == [2, 1, 2]
    again = Setting(sent=(1,))
    again.client.subscriptions = here.client.subscriptions
    again.take(1, 2, qos=2)
    assert [one.qos for one in again.client.packets() if isinstance(one, Publish)] == [1, 2]


async def test_what_nobody_wants_any_more_is_done_with() -> None:
    here = Setting()
    here.client.subscriptions = {}
    here.take(0, 1)
    assert here.sent() == []
    assert here.feed.reading.floor == 2


async def test_a_slow_client_holds_the_reading() -> None:  # I10
    here = Setting(receive_maximum=1, bounds=Bounds(4, 10_000))
    here.take(*range(5))
    assert here.held == [True]
    for offset in range(2):
        assert here.sent() == [(offset, False)]
        here.answer(PubAck(packet_id(offset)))
        assert here.held == [True]
    here.answer(PubAck(packet_id(2)))
    assert here.held == [True, False]


async def test_large_messages_hold_the_reading() -> None:
    here = Setting(receive_maximum=1, bounds=Bounds(1_000, 9))
    here.take(*range(100, 104))
    assert here.held == []
    here.take(104)
    assert here.held == [True]


async def test_a_packet_id_in_use_holds_back_what_stands_behind_it() -> None:
    here = Setting(Progress(3))
    here.take(3, 4, 65_538, 65_540)
    assert here.sent() == [(3, False), (4, False)]
    here.answer(PubAck(packet_id(4)))
    assert here.sent() == []
    here.answer(PubAck(packet_id(3)))
    assert here.sent() == [(65_538, False), (65_540, False)]


class PlayedPace:
    """Lets one message go at each moment that the test names."""

    def __init__(self, rate: float, _now: float) -> None:
        assert rate == 7
        self.tokens = 0

    def wait(self, _now: float) -> float:
        self.tokens -= 1
        return 0.0 if self.tokens >= 0 else 1_000.0


async def test_what_had_gathered_comes_at_its_pace_and_all_else_behind_it(monkeypatch: Any) -> None:
    paces: list[PlayedPace] = []

    def make(rate: float, now: float) -> PlayedPace:
        paces.append(PlayedPace(rate, now))
        return paces[-1]

    monkeypatch.setattr(feeds, "Pace", make)
    here = Setting(replay_end=3, bounds=Bounds(100, 10_000, 7))
    here.take(*range(6))
    assert here.sent() == []
    for offset in range(2):
        paces[0].tokens = 1
        here.feed.pump()
        assert here.sent() == [(offset, False)]
    paces[0].tokens = 1
    here.feed.pump()
    assert here.sent() == [(offset, False) for offset in (2, 3, 4, 5)]
    here.feed.end()
