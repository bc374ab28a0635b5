"""The gateway's side alone, with an owner that the test plays: what is asked and told, and in which order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from contracts.session_event import (
    NEVER,
    ChangeWanted,
    ConnectionEnded,
    ConnectRequested,
    DisconnectWanted,
    Granted,
    Refused,
    SessionEvent,
    Subscription,
)
from contracts.will_record import Will as KeptWill
from edge.gateway.connection import Connection, Outbox
from edge.gateway.counters import Counters
from edge.gateway.limits.longest import Longest
from edge.gateway.sessions.clients import Clients, Surroundings
from edge.gateway.sessions.ownership import QUOTA_EXCEEDED
from edge.mqtt.limits import ServerLimits
from edge.mqtt.packets import ConnAck, Connect, Disconnect, Publish, Will
from edge.mqtt.properties import NO_PROPERTIES, Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode
from edge.mqtt.states import State
from edge.mqtt.writing import write_packet
from tests.edge.mqtt.test_reading import read_all

if TYPE_CHECKING:
    from edge.mqtt.inflight import Session

V5 = ProtocolVersion.V5


class House:
    """A gateway's clients, and all that they had to say."""

    def __init__(
        self, persistence: bool = True, longest: Longest | None = None,
        change: Callable[[Connection | None, ChangeWanted], None] = lambda _connection, _wanted: None,
    ) -> None:  # fmt: skip
        self.said: list[SessionEvent] = []
        self.wills: list[bytes] = []
        self.published_wills: list[Publish] = []
        self.published = asyncio.Event()
        self.resumed: list[tuple[Granted, Callable[[Session | None], None]]] = []
        self.is_slow = False
        self.has_fed = True
        self.unfinished: list[Callable[[], None]] = []
        around = Surroundings(
            lambda _, event: self.said.append(event),
            self.publish,
            self.leave,
            self.detach,
            self.resume,
            change=change,
        )
        self.clients = Clients(("gw1", "boot"), Counters(), around, persistence=persistence, longest=longest)
        self.outbox = Outbox()

    def about_to_read(self) -> None:
        pass

    def publish(self, connection: Connection, packet: Publish, submitted: Callable[[], None]) -> None:
        if connection.is_given_up:  # as edge.gateway.sessions.will_publishing does
            connection.is_will_left = True
        else:
            self.wills.append(packet.payload)
            self.published_wills.append(packet)
        self.published.set()
        submitted()

    def leave(self, _connection: Connection, _is_kept: bool, done: Callable[[], None]) -> None:
        if self.is_slow:
            self.unfinished.append(done)
        else:
            done()

    def detach(self, _connection: Connection, settled: Callable[[], None]) -> tuple[int, ...] | None:
        settled()
        return (3, 5) if self.has_fed else None

    def resume(
        self, _connection: Connection, granted: Granted, accept: Callable[[Session | None], None]
    ) -> None:
        self.resumed.append((granted, accept))
        accept(None)

    def connect(self, client_id: str = "id", version: ProtocolVersion = V5, **fields: Any) -> Connection:
        """A client sends its CONNECT."""
        connection = Connection(self, ServerLimits(), self.outbox, 1 << 20)  # type: ignore[arg-type] # below
        connection.data_received(write_packet(Connect(client_id, version, **fields), version))
        return connection

    def grant(self, **fields: Any) -> None:
        """The owner lets in who asked last."""
        asked = [event for event in self.said if isinstance(event, ConnectRequested)][-1]
        answer: dict[str, Any] = {"session_present": False, "expiry": asked.expiry} | fields
        self.clients.granted(Granted("id", asked.connection, **answer))

    def connected(self, **fields: Any) -> Connection:
        """A client that is let in."""
        connection = self.connect(**fields)
        self.grant()
        assert self.state(connection) is State.CONNECTED
        self.said.clear()
        return connection

    @staticmethod
    def state(connection: Connection) -> State:
        """Where a connection stands."""
        return connection.core.state

    def words(self) -> list[str]:
        """What was told, in short."""
        return [type(event).__name__ for event in self.said]

    # the handler of its connections

    def connect_received(self, connection: Connection, event: Any) -> None:
        self.clients.connect(connection, event)

    def accepted(self, connection: Connection) -> None:
        pass

    def ended(self, connection: Connection, event: Any) -> None:
        self.clients.ended(connection, event)


def lasting(seconds: int) -> Properties:
    """The properties of a CONNECT whose session lasts."""
    return Properties(session_expiry_interval=seconds)


async def test_nobody_is_in_before_the_grant() -> None:
    house = House()
    connection = house.connect()
    assert house.state(connection) is State.AWAITING_ACCEPT
    house.grant()
    assert house.state(connection) is State.CONNECTED


@pytest.mark.mqtt(v5="3.1.2-23")
@pytest.mark.parametrize(
    ("version", "fields", "persistence", "expiry"),
    [
        (V5, {"properties": lasting(60)}, True, 60),
        (V5, {"properties": lasting(60)}, False, 0),
        (V5, {"clean_start": False}, True, 0),
        (ProtocolVersion.V3_1_1, {"clean_start": False}, True, NEVER),
        (ProtocolVersion.V3_1_1, {"clean_start": True}, True, 0),
        (ProtocolVersion.V3_1, {"clean_start": False}, False, 0),
    ],
)
async def test_how_long_a_session_is_asked_for(
    version: ProtocolVersion, fields: dict[str, Any], persistence: bool, expiry: int
) -> None:
    house = House(persistence)
    house.connect(version=version, **fields)
    [asked] = house.said
    assert isinstance(asked, ConnectRequested)
    assert (asked.expiry, asked.clean_start) == (expiry, fields.get("clean_start", True))


@pytest.mark.parametrize("is_there", [True, False])
async def test_what_is_kept_is_served_to_who_lets_the_session_end(is_there: bool) -> None:
    house = House()
    connection = house.connect(clean_start=False)
    house.grant(session_present=is_there)
    assert connection.seat is not None
    assert (connection.seat.is_persistent, connection.seat.expiry) == (is_there, 0)


async def test_a_disconnect_says_how_long_the_session_lasts() -> None:
    house = House()
    connection = house.connected(properties=lasting(60))
    connection.data_received(write_packet(Disconnect(0, lasting(5)), V5))
    [ended] = house.said
    assert isinstance(ended, ConnectionEnded)
    assert ended.expiry == 5


@pytest.mark.mqtt(v3="3.1.3-6", v5="3.1.3-6 3.1.3-7 3.2.2-16")
@pytest.mark.parametrize("version", [ProtocolVersion.V3_1_1, V5])
async def test_who_comes_without_an_id_gets_one_of_its_own(version: ProtocolVersion) -> None:
    """As if it had come with it; MQTT 5 is told which."""
    house = House()
    clients = [house.connect("", version) for _ in range(50)]
    ids = {connection.client_id for connection in clients}
    assert len(ids) == 50
    assert "" not in ids
    for connection, asked in zip(clients, house.said, strict=True):
        assert isinstance(asked, ConnectRequested)
        house.clients.granted(
            Granted(connection.client_id, asked.connection, session_present=False, expiry=0)
        )
        [connack] = read_all(connection.core.data_to_send(), version)
        assert isinstance(connack, ConnAck)
        told = connack.properties.assigned_client_identifier
        assert told == (connection.client_id if version is V5 else None)
        assert house.clients.connected(connection.client_id) is connection


@pytest.mark.mqtt(v5="4.12.0-1")
async def test_a_method_of_authentication_that_is_not_there() -> None:
    house = House()
    connection = house.connect(properties=Properties(authentication_method="nobody knows it"))
    [connack] = read_all(connection.core.data_to_send(), V5)
    assert isinstance(connack, ConnAck)
    assert connack.reason_code == ReasonCode.BAD_AUTHENTICATION_METHOD
    assert connection.core.close_wanted
    assert house.said == []


@pytest.mark.mqtt(v3="3.1.2-8 3.1.2-12", v5="3.1.2-8")
@pytest.mark.parametrize("will", [None, Will("t", b"gone")])
async def test_only_who_left_a_will_has_one_published(will: Will | None) -> None:
    house = House()
    house.connected(will=will).eof_received()
    assert house.wills == ([b"gone"] if will else [])


@pytest.mark.mqtt(v3="3.1.2-9 3.1.2-16 3.1.2-17", v5="3.1.2-14 3.1.2-15")
@pytest.mark.parametrize("retain", [False, True])
async def test_a_will_is_published_as_its_client_said(retain: bool) -> None:
    house = House()
    house.connected(will=Will("t", b"gone", 2, retain)).eof_received()
    [packet] = house.published_wills
    assert (packet.topic, packet.payload, packet.qos, packet.retain) == ("t", b"gone", 2, retain)


@pytest.mark.mqtt(v3="3.1.4-2", v5="3.1.4-3")
async def test_an_older_connection_here_ends_first() -> None:
    house = House()
    older = house.connected()
    house.connect()
    assert house.state(older) is State.CLOSED
    assert house.words() == ["ConnectionEnded", "ConnectRequested"]


async def test_what_is_under_way_of_the_older_one_is_waited_for() -> None:
    house = House()
    older = house.connected(will=Will("t", b"gone"))
    house.is_slow = True
    older.held_bytes = 100
    newer, newest = house.connect(), house.connect()
    assert house.state(newer) is State.CLOSED  # it never asked
    assert house.words() == []
    assert house.wills == [b"gone"]
    house.unfinished.pop()()
    assert house.words() == []
    older.held_bytes = 0
    assert older.settled is not None
    older.settled()
    assert house.words() == ["ConnectionEnded", "ConnectRequested"]
    house.grant()
    assert house.state(newest) is State.CONNECTED


async def test_who_leaves_while_waiting_is_reported() -> None:
    house = House()
    connection = house.connect()
    connection.eof_received()
    assert house.words() == ["ConnectRequested", "ConnectionEnded"]
    house.grant()  # it comes too late
    assert len(house.clients) == 0


@pytest.mark.parametrize(
    ("granted", "was_fed", "told"),
    [
        ({}, False, ((), False)),
        ({}, True, ((3, 5), False)),
        ({"sent": (7,)}, False, ((), True)),
        ({"is_sent_unknown": True}, False, ((), True)),
        ({"sent": (7,)}, True, ((3, 5), False)),
        (None, False, ((), True)),
    ],
)
async def test_an_end_tells_what_was_sent_if_the_client_was_given_anything(
    granted: dict[str, Any] | None, was_fed: bool, told: tuple[tuple[int, ...], bool]
) -> None:
    """If not, what was sent before stands; so it does where the grant, which tells of it, has not come."""
    house = House()
    house.has_fed = was_fed
    connection = house.connect(properties=lasting(60))
    if granted is not None:
        house.grant(session_present=True, **granted)
    connection.eof_received()
    ended = house.said[-1]
    assert isinstance(ended, ConnectionEnded)
    assert (ended.sent, ended.is_unfed) == told


async def test_who_is_refused_is_not_reported() -> None:
    house = House()
    connection = house.connect()
    [asked] = house.said
    assert isinstance(asked, ConnectRequested)
    house.clients.refused(Refused(asked.connection, 0x8E))
    assert house.state(connection) is State.CLOSED
    assert house.words() == ["ConnectRequested"]


async def test_an_answer_in_parts() -> None:
    house = House()
    connection = house.connect()
    house.grant(subscriptions=(Subscription("a"),), is_partial=True)
    assert house.state(connection) is State.AWAITING_ACCEPT
    house.grant(subscriptions=(Subscription("b"),), session_present=True)
    assert house.state(connection) is State.CONNECTED
    [(granted, _)] = house.resumed
    assert [subscription.filter for subscription in granted.subscriptions] == ["a", "b"]


async def test_a_disconnect_for_nobody_is_answered() -> None:
    house = House()
    house.clients.disconnect_wanted(DisconnectWanted("id", "unknown"))
    [ended] = house.said
    assert isinstance(ended, ConnectionEnded)
    assert (ended.connection, ended.expiry) == ("unknown", None)


def delayed(seconds: int) -> Will:
    """A will with a delay."""
    return Will(
        "t", b"gone", properties=Properties(will_delay_interval=seconds) if seconds else NO_PROPERTIES
    )


@pytest.mark.mqtt(v5="3.1.2-7 3.1.3-9")
async def test_a_will_that_waits_is_left_to_the_owner_when_the_client_comes_back() -> None:
    house = House()
    connection = house.connected(properties=lasting(60), will=delayed(5))
    connection.eof_received()
    [waiting] = house.said
    assert isinstance(waiting, ConnectionEnded)
    assert (waiting.will_delay, waiting.is_will_left) == (5, False)
    house.clients.disconnect_wanted(DisconnectWanted("id", waiting.connection))
    assert house.wills == []
    assert isinstance(house.said[1], ConnectionEnded)
    assert (house.said[1].will_delay, house.said[1].is_will_left) == (0, True)
    assert len(house.clients) == 0


@pytest.mark.mqtt(v5="3.1.2-7 3.1.2-8")
async def test_a_will_that_nobody_stops_goes_out() -> None:
    house = House()
    house.connected(properties=lasting(1), will=delayed(60)).eof_received()
    assert house.wills == []
    await asyncio.wait_for(house.published.wait(), 120.0)
    assert house.words() == ["ConnectionEnded", "ConnectionEnded"]


@pytest.mark.parametrize(("expiry", "wills"), [(60, []), (0, [b"gone"])])
async def test_a_delayed_will_of_who_is_taken_over(expiry: int, wills: list[bytes]) -> None:
    """Whether a session that lasts goes on, its owner knows."""
    house = House()
    connection = house.connected(properties=lasting(expiry), will=delayed(5))
    assert connection.seat is not None
    house.clients.disconnect_wanted(DisconnectWanted("id", connection.seat.id))
    assert house.wills == wills
    assert house.words() == ["ConnectionEnded"]
    assert left(house) == [not wills]


def left(house: House) -> list[bool]:
    """Of the connections whose end was told at last, whether their will is left to the owner."""
    ends = {
        event.connection: event.is_will_left for event in house.said if isinstance(event, ConnectionEnded)
    }
    return list(ends.values())


async def test_closing_sends_everybody_away_and_leaves_the_wills_that_wait() -> None:
    house = House()
    house.connected(client_id="one", properties=lasting(60), will=delayed(5))
    house.connected(client_id="two", properties=lasting(60), will=delayed(50)).eof_received()
    house.connected(client_id="three", will=delayed(50))
    house.connected(client_id="four", properties=lasting(60), will=delayed(0))
    house.connect("five")
    house.said.clear()
    await house.clients.close(1.0)
    assert house.wills == [b"gone", b"gone"]
    assert left(house) == [True, True, False, False, False]
    assert len(house.clients) == 0


async def test_what_is_under_way_when_it_closes_is_left_as_well() -> None:
    house = House()
    house.is_slow = True
    house.connected(properties=lasting(60), will=delayed(5)).eof_received()
    closing = asyncio.create_task(house.clients.close(10.0))
    await asyncio.sleep(0)
    house.unfinished.pop()()
    await closing
    assert left(house) == [True]


async def test_the_owner_gets_the_will_with_the_connect() -> None:
    said = Properties(will_delay_interval=5, message_expiry_interval=10, content_type="text/plain")
    house = House()
    house.connect(will=Will("t", b"gone", 1, retain=True, properties=said))
    [asked] = house.said
    assert isinstance(asked, ConnectRequested)
    assert asked.will == KeptWill(
        "t",
        b"gone",
        (
            ("client-id", b"id"),
            ("node", b"gw1"),
            ("protocol", b"5"),
            ("qos", b"1"),
            ("retain", b"1"),
            ("message-expiry", b"10"),
            ("content-type", b"text/plain"),
        ),
        5,
    )


async def test_a_gateway_that_may_be_lost_leaves_wills_to_their_owners() -> None:
    house = House()
    house.connected(client_id="one", will=delayed(0))
    house.connected(client_id="two", properties=lasting(60), will=delayed(50)).eof_received()
    house.connected(client_id="three", properties=lasting(60), will=delayed(50))
    house.connected(client_id="four", properties=lasting(60))
    house.said.clear()
    house.clients.give_up()
    assert house.wills == []
    assert left(house) == [True, True, True, False]


async def test_the_will_of_a_connection_that_was_lost_is_its_owners() -> None:
    house = House()
    connection = house.connected(properties=lasting(60), will=delayed(0))
    assert connection.seat is not None
    house.clients.disconnect_wanted(DisconnectWanted("id", connection.seat.id, is_lost=True))
    assert house.wills == []
    assert house.words() == ["ConnectionEnded"]


@pytest.mark.mqtt(v5="3.2.2-21")
@pytest.mark.parametrize(
    ("version", "fields", "expiry", "told"),
    [
        (V5, {"properties": lasting(60)}, 60, None),
        (V5, {"properties": lasting(101)}, 100, 100),
        (V5, {"properties": lasting(NEVER)}, 100, 100),
        (V5, {"clean_start": False}, 0, None),
        (ProtocolVersion.V3_1_1, {"clean_start": False}, 200, None),
        (ProtocolVersion.V3_1_1, {"clean_start": True}, 0, None),
    ],
)
async def test_a_session_lasts_no_longer_than_allowed_and_its_client_is_told(
    version: ProtocolVersion, fields: dict[str, Any], expiry: int, told: int | None
) -> None:
    house = House(longest=Longest(100, 200))
    connection = house.connect(version=version, **fields)
    [asked] = house.said
    assert isinstance(asked, ConnectRequested)
    assert asked.expiry == expiry
    house.grant()
    [connack] = read_all(connection.core.data_to_send(), version)
    assert isinstance(connack, ConnAck)
    assert connack.properties.session_expiry_interval == told


async def test_nor_does_a_disconnect_prolong_it() -> None:
    house = House(longest=Longest(100, 200))
    connection = house.connected(properties=lasting(60))
    connection.data_received(write_packet(Disconnect(0, lasting(NEVER)), V5))
    [ended] = house.said
    assert isinstance(ended, ConnectionEnded)
    assert ended.expiry == 100


@pytest.mark.parametrize(
    ("version", "said"), [(ProtocolVersion.V3_1_1, ReasonCode.SERVER_UNAVAILABLE), (V5, 0x97)]
)
async def test_who_would_have_one_session_too_many_is_told(version: ProtocolVersion, said: int) -> None:
    house = House()
    connection = house.connect(version=version)
    [asked] = house.said
    assert isinstance(asked, ConnectRequested)
    house.clients.refused(Refused(asked.connection, QUOTA_EXCEEDED))
    [connack] = read_all(connection.core.data_to_send(), version)
    assert isinstance(connack, ConnAck)
    assert connack.reason_code == said
    assert house.state(connection) is State.CLOSED


async def test_an_administrators_word_ends_a_connection_and_says_so() -> None:
    house = House()
    connection = house.connected()
    assert connection.seat is not None
    connection.core.data_to_send()
    wanted = DisconnectWanted("id", connection.seat.id, reason_code=ReasonCode.ADMINISTRATIVE_ACTION)
    house.clients.disconnect_wanted(wanted)
    [told] = read_all(connection.core.data_to_send(), V5)
    assert told == Disconnect(ReasonCode.ADMINISTRATIVE_ACTION)
    assert house.words() == ["ConnectionEnded"]


async def test_who_is_to_be_changed_is_looked_for_here() -> None:
    changed: list[tuple[Connection | None, ChangeWanted]] = []
    house = House(change=lambda connection, wanted: changed.append((connection, wanted)))
    connection = house.connected()
    assert connection.seat is not None
    for id, found in ((connection.seat.id, connection), ("unknown", None)):
        wanted = ChangeWanted("id", id, "k", (Subscription("a"),))
        house.clients.change_wanted(wanted)
        assert changed.pop() == (found, wanted)
