"""Fan-out: whatever a router writes, and however often, each client gets each message once, by all of its filters."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import cast

from confluent_kafka import Message
from hypothesis import given
from hypothesis import strategies as st

from contracts import routed_record
from contracts.headers import FILTER, ID, Headers
from contracts.publish_record import PublishRecord, encode_headers
from contracts.topics import matches
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.fanout import Fanout
from edge.gateway.limits.outflow import Outflow
from edge.gateway.limits.rate import Rate, Window
from edge.gateway.local_subscriptions import LocalSubscriptions, Subscription
from edge.gateway.retained.order import LiveOrder
from edge.gateway.source_marks import SourceMarks
from edge.mqtt.limits import ServerLimits
from edge.mqtt.packets import Connect, Publish
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.server import ServerConnection
from tests.edge.mqtt.connection_pair import packet_bytes
from tests.edge.mqtt.test_reading import read_all

V5 = ProtocolVersion.V5


Got = tuple[bytes, int, bool, tuple[int, ...]]
"""Payload, QoS, RETAIN, identifiers."""


class PlayedClient:
    """What the fan-out knows of a connection, with the client's end in the test's hand."""

    is_slow = False
    outflow: Outflow | None = None

    def __init__(self, client_id: str, *, is_kept: bool = False) -> None:
        self.client_id = client_id
        self.is_kept = is_kept
        self.core = ServerConnection(ServerLimits(), 0.0)
        self.core.receive_data(packet_bytes(Connect(client_id, V5, clean_start=True), V5), 1.0)
        self.core.accept()
        self.core.data_to_send()

    def changed(self) -> None:
        """There may be something to send."""

    def publishes(self) -> list[Publish]:
        """What the client got."""
        return [one for one in read_all(self.core.data_to_send(), V5) if isinstance(one, Publish)]


@dataclass(frozen=True)
class Sent:
    """A message in `tbmq.msg.all`; its payload is its place."""

    place: tuple[int, int]
    topic: str
    qos: int = 1
    publisher: str = "p"
    retain: bool = False


class Record:
    """A record of the downlink, as a consumer gives it."""

    def __init__(self, sent: Sent, filter: str) -> None:
        publish = PublishRecord(sent.topic, b"", sent.publisher, "gw", sent.qos, sent.retain)
        self.payload = b"%d:%d" % sent.place
        self.all_headers: Headers = [
            *encode_headers(publish),
            (routed_record.TOPIC, sent.topic.encode()),
            (ID, routed_record.encode_id(*sent.place)),
            (FILTER, filter.encode()),
        ]

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return 0

    def value(self) -> bytes:
        return self.payload

    def headers(self) -> Headers:
        return self.all_headers


class Setting:
    """A fan-out and its clients."""

    def __init__(self, *clients: PlayedClient) -> None:
        self.clients = {client.client_id: client for client in clients}
        self.local: LocalSubscriptions[Connection] = LocalSubscriptions()
        self.marks = SourceMarks()
        self.counters = Counters()
        self.fanout = Fanout(
            self.local, self.marks, self.counters, lambda _: None, lambda _: None, lambda _: None,
            LiveOrder(lambda: 0),
        )  # fmt: skip

    def subscribe(self, client_id: str, filter: str, subscription: Subscription) -> None:
        """As `Subscribing` does it, floors included."""
        connection = cast(Connection, self.clients[client_id])
        held = self.local.holders(filter).get(connection)
        floors = self.marks.floors() if held is None else held.floors
        wanted = Subscription(
            subscription.qos, subscription.no_local, subscription.retain_as_published,
            subscription.subscription_id, floors,
        )  # fmt: skip
        if self.local.add(connection, filter, wanted):
            self.marks.hold(filter)

    def take(self, sent: Sent, *filters: str) -> None:
        for filter in filters:
            self.fanout.take([cast(Message, Record(sent, filter))])

    def got(self, client_id: str) -> list[Got]:
        """What a client has got since."""
        return list(map(shown, self.clients[client_id].publishes()))


def shown(message: Publish) -> Got:
    identifiers = tuple(sorted(message.properties.subscription_identifiers))
    return message.payload, message.qos, message.retain, identifiers


async def test_one_copy_by_all_filters_and_one_for_whoever_holds_one() -> None:  # M14, M15
    here = Setting(PlayedClient("c"), PlayedClient("d"))
    here.subscribe("c", "a/b", Subscription(1, subscription_id=1))
    here.subscribe("c", "a/+", Subscription(2, subscription_id=2, retain_as_published=True))
    here.subscribe("c", "#", Subscription(0))
    here.subscribe("d", "a/+", Subscription(0, subscription_id=9))
    for number in range(2):
        here.take(Sent((0, number), "a/b", 2, retain=True), "#", "a/b", "a/+", "a/b", "#")
        payload = b"0:%d" % number
        assert here.got("c") == [(payload, 2, True, (1, 2))]
        assert here.got("d") == [(payload, 0, False, (9,))]
    assert here.counters.deliveries == 4
    assert here.counters.repeated_records == 4


async def test_by_every_filter_alone() -> None:
    """The record of a filter may be the only one: the router does not know of the others yet."""
    for filter in ("a/b", "a/+"):
        here = Setting(PlayedClient("c"))
        here.subscribe("c", "a/b", Subscription(0))
        here.subscribe("c", "a/+", Subscription(1, subscription_id=3))
        here.take(Sent((0, 0), "a/b"), filter)
        assert here.got("c") == [(b"0:0", 1, False, (3,))]


async def test_ones_own_message_by_a_filter_without_no_local() -> None:  # M53
    here = Setting(PlayedClient("c"))
    here.subscribe("c", "#", Subscription(2, no_local=True, retain_as_published=True, subscription_id=1))
    here.take(Sent((0, 0), "a/b", publisher="c", retain=True), "#")
    here.subscribe("c", "a/#", Subscription(0, subscription_id=2))
    here.take(Sent((0, 1), "a/b", publisher="c", retain=True), "#", "a/#")
    assert here.got("c") == [(b"0:1", 0, False, (2,))]


async def test_what_comes_by_the_persisted_log_does_not_come_by_qos_0_as_well() -> None:
    here = Setting(PlayedClient("c", is_kept=True))
    here.subscribe("c", "a/+", Subscription(0, subscription_id=1))
    here.subscribe("c", "a/b", Subscription(1, subscription_id=2))
    here.take(Sent((0, 0), "a/b", 1), "a/+")  # the router writes a/b's record to the log
    here.take(Sent((0, 1), "a/c", 1), "a/+")
    here.take(Sent((0, 2), "a/b", 0), "a/b", "a/+")
    assert here.got("c") == [(b"0:1", 0, False, (1,)), (b"0:2", 0, False, (1, 2))]


async def test_a_subscription_that_is_newer_than_the_message_does_not_hold_it_back() -> None:
    """That was published before it, so nothing of it stands in the log."""
    here = Setting(PlayedClient("c", is_kept=True))
    here.subscribe("c", "a/+", Subscription(0, subscription_id=1))
    here.marks.see(0, 5)  # as a reader of another log tells
    here.subscribe("c", "a/b", Subscription(1, subscription_id=2))
    here.take(Sent((0, 5), "a/b", 1), "a/+")
    assert here.got("c") == [(b"0:5", 0, False, (1,))]


FILTERS = ("a/b", "a/+", "a/#", "#", "+/b", "b")
OPTIONS = st.builds(
    Subscription, st.integers(0, 2), st.booleans(), st.booleans(), st.none() | st.sampled_from([1, 2, 300])
)
HELD = st.dictionaries(st.sampled_from(FILTERS), OPTIONS, max_size=5)


@dataclass
class Router:
    """One life of the router: it writes each message's records in an order of its own, from some message on."""

    records: list[tuple[int, Sent, str]] = field(default_factory=list)

    @classmethod
    def routing(cls, sent: list[Sent], filters: Iterable[str], begins: int, late: str, knows: int) -> Router:
        """`late` is a filter that it knows of from a message on."""
        return cls(
            [
                (number, one, filter)
                for number, one in enumerate(sent)
                if number >= begins
                for filter in filters
                if matches(filter, one.topic) and (filter != late or number >= knows)
            ]
        )


@dataclass
class Run:
    """What a run is made of."""

    held: dict[str, dict[str, Subscription]]
    late: tuple[str, str, Subscription]
    """A subscription that is made during the run: client, filter, options."""
    served: int
    """It is made here when the first record of this message, or a later one, comes."""
    made: int
    """It is acknowledged before this message is published."""
    sent: list[Sent]
    routers: list[Router]


@st.composite
def runs(draw: st.DrawFn) -> Run:
    held = {client: draw(HELD) for client in "cd"}
    late = draw(st.sampled_from("cd")), draw(st.sampled_from(FILTERS)), draw(OPTIONS)
    offsets: Counter[int] = Counter()
    sent: list[Sent] = []
    for partition in draw(st.lists(st.integers(0, 1), max_size=6)):
        topic, publisher = draw(st.sampled_from(["a/b", "a/c", "b"])), draw(st.sampled_from("cdp"))
        place = partition, offsets[partition]
        sent.append(Sent(place, topic, draw(st.integers(0, 2)), publisher, draw(st.booleans())))
        offsets[partition] += 1
    made = draw(st.integers(0, len(sent)))
    routers = [
        Router.routing(
            sent,
            draw(st.permutations(FILTERS)),
            begins if is_second else 0,
            late[1] if late[1] not in held["c"] | held["d"] else "",
            draw(st.integers(0, made)),
        )
        for is_second, begins in ((False, 0), (True, draw(st.integers(0, len(sent)))))
    ]
    return Run(held, late, draw(st.integers(0, made)), made, sent, routers)


def interleaved(run: Run, turns: list[int]) -> Iterator[tuple[int, Sent, str]]:
    """Now some of the one router, now some of the other, each in order; the second begins where the first has been."""
    first, second = (list(router.records) for router in run.routers)
    begins = second[0][0] if second else 0
    while first and first[0][0] < begins:
        yield first.pop(0)
    for number, turn in enumerate(turns):
        queue = first if number % 2 else second
        yield from queue[:turn]
        del queue[:turn]
    yield from first
    yield from second


@given(runs(), st.lists(st.integers(0, 7), max_size=10))
def test_each_client_gets_each_message_once(run: Run, turns: list[int]) -> None:
    asyncio.run(check(run, interleaved(run, turns)))


async def check(run: Run, records: Iterable[tuple[int, Sent, str]]) -> None:
    here = Setting(PlayedClient("c"), PlayedClient("d"))
    for client, held in run.held.items():
        for filter, subscription in held.items():
            here.subscribe(client, filter, subscription)
    is_served = False
    for number, sent, filter in records:
        if number >= run.served and not is_served:
            is_served = True
            here.subscribe(*run.late)
        here.take(sent, filter)
    for client in "cd":
        got = here.got(client)
        for number, sent in enumerate(run.sent):
            mine = [one for one in got if one[0] == b"%d:%d" % sent.place]
            expect(client, number, sent, mine, run)
        for partition in (0, 1):
            # Two topics may change places where one of the routers alone knew the filter: nobody was owed that.
            for topic in ("a/b", "a/c", "b"):
                places = [
                    b"%d:%d" % one.place
                    for one in run.sent
                    if one.place[0] == partition and one.topic == topic
                ]
                assert (came := [one[0] for one in got if one[0] in places]) == sorted(came)


def expect(client: str, number: int, sent: Sent, mine: list[Got], run: Run) -> None:
    """One copy by all that count; what is made at about the same time may count or not."""
    before = run.held[client]
    after = dict(before)
    if run.late[0] == client:
        after[run.late[1]] = run.late[2]
    sure = by(after if number >= run.made else before, client, sent)
    possible = [sure] if number >= run.made else [sure, by(after, client, sent)]
    assert len(mine) <= 1
    if not mine:
        assert not all(possible)
        return
    assert mine[0][1:] in possible


def by(held: dict[str, Subscription], client: str, sent: Sent) -> tuple[int, bool, tuple[int, ...]] | None:
    """QoS, RETAIN and identifiers, told from the plainest rules; None for no copy."""
    counting: Collection[Subscription] = [
        one
        for filter, one in held.items()
        if matches(filter, sent.topic) and not (one.no_local and client == sent.publisher)
    ]
    if not counting:
        return None
    qos = min(sent.qos, max(one.qos for one in counting))
    retain = sent.retain and any(one.retain_as_published for one in counting)
    return (
        qos,
        retain,
        tuple(sorted(one.subscription_id for one in counting if one.subscription_id is not None)),
    )


async def test_what_is_above_a_clients_rate_is_dropped_at_qos_0() -> None:
    slow, other = PlayedClient("c"), PlayedClient("d")
    here = Setting(slow, other)
    rate = Rate([Window(2, 3_600)])
    slow.outflow = Outflow(cast(Connection, slow), [rate], [rate], None, lambda _: None)
    for client in ("c", "d"):
        here.subscribe(client, "t", Subscription(1))
    for number in range(3):
        here.take(Sent((0, number), "t", 0), "t")
    assert (len(here.got("c")), len(here.got("d"))) == (2, 3)
    assert (here.counters.dropped_over_rate, here.counters.deliveries) == (1, 5)
