"""Ingress with a Kafka that the test plays: what is confirmed when, and how much may wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import cast

import pytest
from confluent_kafka import KafkaError

from contracts.headers import Headers
from edge.gateway.appender import Appender
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.fresh_routes import FreshRoutes
from edge.gateway.ingress import Held, Ingress
from edge.gateway.limits.rate import Rate
from edge.gateway.retained.writing import RetainedWriter
from edge.mqtt.packets import Publish
from edge.mqtt.properties import NO_PROPERTIES, Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode
from edge.mqtt.states import State
from identity.rules import Permissions


class PlayedKafka:
    """An appender whose acknowledgements the test gives."""

    def __init__(self) -> None:
        self.appended: list[tuple[bytes | None, Headers, Callable[..., None]]] = []
        self.places: list[tuple[str, int, bytes]] = []
        self.is_full = False
        self.room: list[Callable[[], None]] = []

    def append(
        self, topic: str, value: bytes | None, key: bytes, headers: Headers, durable: Callable[..., None],
        partition: int = -1,
    ) -> None:  # fmt: skip
        assert (topic, key) != ("", b"")
        self.places.append((topic, partition, key))
        if self.is_full:
            raise BufferError
        self.appended.append((value, headers, durable))

    def when_room(self, resume: Callable[[], None]) -> None:
        self.room.append(resume)

    def acknowledge(
        self, position: int, error: KafkaError | None = None, place: tuple[int, int] | None = None
    ) -> None:
        self.appended[position][2](error, PlayedReport(*(place or (0, position))))


@dataclass
class PlayedReport:
    """Where Kafka has a record."""

    at_partition: int
    at_offset: int

    def partition(self) -> int:
        return self.at_partition

    def offset(self) -> int:
        return self.at_offset


class PlayedConnection:
    """A connection that notes what it is told."""

    def __init__(self) -> None:
        self.client_id = "c"
        self.headers: Headers = [("client-id", b"c")]
        self.held_bytes = 0
        self.is_given_up = False
        self.is_kept = False
        self.is_will_left = False
        self.will: Publish | None = None
        self.permissions: Permissions | None = None
        self.incoming: tuple[Rate, ...] = ()
        self.state = State.CONNECTED
        self.ended_for: int | None = None
        self.seat = SimpleNamespace(id="seat")
        self.settled = None
        self.version = ProtocolVersion.V5
        self.unconfirmed: deque[Held] = deque()
        self.confirmed: list[tuple[int, int]] = []
        self.is_reading = True
        self.core = self

    def confirm_publish(self, packet_id: int, reason: int = 0) -> None:
        self.confirmed.append((packet_id, reason))

    def disconnect(self, reason: int) -> None:
        self.state = State.CLOSED
        self.ended_for = reason

    def changed(self) -> None:
        pass

    react = changed

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True


class Setting:
    """An ingress between the two, with the barrier in the test's hand."""

    def __init__(self, max_held: int = 1 << 20, *, check_payload_format: bool = False) -> None:
        self.kafka, self.connection, self.counters = PlayedKafka(), PlayedConnection(), Counters()
        self.fresh = FreshRoutes()
        self.waiting: list[Held] = []
        self.ingress = Ingress(
            "publishes", cast(Appender, self.kafka), self.fresh, self.counters, max_held,
            check_payload_format=check_payload_format,
        )  # fmt: skip
        self.ingress.through(self.waiting.append)
        self.ingress.retaining = RetainedWriter("retained", cast(Appender, self.kafka), lambda: {0: 5, 1: 6})

    def publish(
        self,
        packet_id: int,
        qos: int = 1,
        payload: bytes = b"",
        topic: str = "t",
        properties: Properties = NO_PROPERTIES,
        *,
        retain: bool = False,
    ) -> None:
        packet = Publish(topic, payload, qos, retain, packet_id=packet_id, properties=properties)
        self.submit(packet)

    def submit(self, packet: Publish) -> None:
        self.ingress.submit(cast(Connection, self.connection), packet)

    def release(self) -> None:
        self.ingress.release(self.waiting[:])
        self.waiting.clear()


@pytest.fixture
async def setting() -> Setting:
    return Setting()


@pytest.mark.mqtt(v3="4.3.2-2 4.3.3-2", v5="4.3.2-4 4.3.3-8")
async def test_nothing_is_appended_before_the_barrier_nor_confirmed_before_kafka_has_it(
    setting: Setting,
) -> None:
    setting.publish(1)
    assert not setting.kafka.appended
    setting.release()
    assert len(setting.kafka.appended) == 1
    assert not setting.connection.confirmed
    setting.kafka.acknowledge(0)
    assert setting.connection.confirmed == [(1, 0)]
    assert setting.ingress.held_bytes == setting.connection.held_bytes == 0


async def test_acknowledgements_go_out_in_the_order_of_the_publishes(setting: Setting) -> None:
    for packet_id, qos in ((1, 1), (2, 2), (3, 1)):
        setting.publish(packet_id, qos)
    setting.release()
    setting.kafka.acknowledge(2)
    setting.kafka.acknowledge(1)
    assert not setting.connection.confirmed
    setting.kafka.acknowledge(0)
    assert setting.connection.confirmed == [(1, 0), (2, 0), (3, 0)]


async def test_of_a_client_that_was_given_up_only_what_it_does_not_send_again_goes_on(
    setting: Setting,
) -> None:
    setting.publish(1, payload=b"1")
    setting.publish(0, qos=0, payload=b"0")
    setting.publish(2, qos=2, payload=b"2")
    setting.connection.is_given_up = True
    setting.release()
    assert [value for value, _, _ in setting.kafka.appended] == [b"0"]
    setting.kafka.acknowledge(0)
    assert setting.ingress.held_bytes == setting.connection.held_bytes == 0
    assert not setting.connection.is_will_left


@pytest.mark.parametrize("qos", [0, 1])
async def test_a_will_names_its_connection(setting: Setting, qos: int) -> None:
    setting.publish(7, payload=b"7")
    setting.connection.will = Publish("t", b"gone", qos=qos)
    setting.ingress.submit(cast(Connection, setting.connection), setting.connection.will)
    setting.fresh.add(0, 0, "t", "gw1")
    setting.release()
    names = [[name for name, _ in headers] for _, headers, _ in setting.kafka.appended]
    assert names == [
        ["client-id", "qos", "retain", "routes"],
        ["client-id", "qos", "retain", "will", "routes"],
    ]
    assert ("will", b"seat") in setting.kafka.appended[1][1]


@pytest.mark.parametrize("qos", [0, 1])
async def test_the_will_of_a_client_that_was_given_up_is_left(setting: Setting, qos: int) -> None:
    setting.connection.will = Publish("t", b"gone", qos=qos)
    setting.ingress.submit(cast(Connection, setting.connection), setting.connection.will)
    setting.connection.is_given_up = True
    setting.release()
    assert not setting.kafka.appended
    assert setting.connection.is_will_left
    assert setting.ingress.held_bytes == setting.connection.held_bytes == 0


TEXT = Properties(payload_format_indicator=1)


async def test_text_that_is_none_is_refused_in_its_turn() -> None:
    """Section 3.3.2.3.2: 0x99, behind the acknowledgements of what came before; at QoS 0 it is dropped."""
    setting = Setting(check_payload_format=True)
    setting.publish(1)
    for packet_id, qos in ((2, 1), (3, 2), (0, 0)):
        setting.publish(packet_id, qos, b"\xff", properties=TEXT)
    setting.publish(4, payload="é\0".encode(), properties=TEXT)
    setting.publish(5, payload=b"\xff", properties=Properties(payload_format_indicator=0))
    assert not setting.connection.confirmed
    setting.release()
    for position in range(3):
        setting.kafka.acknowledge(position)
    assert setting.connection.confirmed == [(1, 0), (2, 0x99), (3, 0x99), (4, 0), (5, 0)]
    assert [value for value, _, _ in setting.kafka.appended] == [b"", "é\0".encode(), b"\xff"]
    assert setting.counters.refused_publishes == 3
    setting.publish(6, payload=b"\xff", properties=TEXT)  # with nothing before it, at once
    assert setting.connection.confirmed[-1] == (6, 0x99)
    assert setting.ingress.held_bytes == setting.connection.held_bytes == 0


async def test_whether_text_is_text_is_the_receivers_to_judge_unless_told_otherwise(setting: Setting) -> None:
    setting.publish(1, payload=b"\xff", properties=TEXT)
    setting.release()
    setting.kafka.acknowledge(0)
    assert setting.connection.confirmed == [(1, 0)]


async def test_a_full_queue_delays_and_keeps_order(setting: Setting) -> None:
    setting.kafka.is_full = True
    for number in (1, 2):
        setting.publish(number, payload=b"%d" % number)
    setting.release()
    setting.publish(3, payload=b"3")
    setting.release()
    assert not setting.kafka.appended
    assert len(setting.kafka.room) == 1
    setting.kafka.is_full = False
    setting.kafka.room[0]()
    assert [value for value, _, _ in setting.kafka.appended] == [b"1", b"2", b"3"]


async def test_what_kafka_can_never_take_is_refused_and_what_follows_flows(setting: Setting) -> None:
    setting.publish(1)
    setting.publish(2)
    setting.release()
    setting.kafka.acknowledge(0, KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
    setting.kafka.acknowledge(1)
    assert setting.connection.confirmed == [(1, ReasonCode.QUOTA_EXCEEDED), (2, 0)]
    assert setting.counters.refused_publishes == 1


async def test_fresh_routes_are_matched_at_the_barrier_and_stand_last(setting: Setting) -> None:
    setting.publish(1, topic="a/b")
    setting.fresh.add(0, 7, "a/+", "gw2")  # arrives while the publish waits: the barrier's very purpose
    setting.release()
    assert setting.kafka.appended[0][1] == [
        ("client-id", b"c"),
        ("qos", b"1"),
        ("retain", b"0"),
        ("routes", b'[{"filter":"a/+","kind":"node","node":"gw2"}]'),
    ]


async def test_more_fresh_routes_than_fit_refuse_the_publish(setting: Setting) -> None:
    for offset in range(300):
        setting.fresh.add(0, offset, "+/" + "x" * 1000 if offset == 0 else "#", f"gw{offset}" + "n" * 900)
    setting.publish(1, topic="a")
    setting.release()
    assert setting.connection.confirmed == [(1, ReasonCode.QUOTA_EXCEEDED)]
    assert not setting.kafka.appended


async def test_reading_pauses_over_a_clients_share_and_goes_on_when_it_is_settled() -> None:
    setting = Setting(max_held=16 * 4096)  # a client's share is 4,096 bytes
    for packet_id in range(1, 9):
        setting.publish(packet_id)
    reading = [setting.connection.is_reading]
    setting.publish(9)
    reading.append(setting.connection.is_reading)
    setting.release()
    for position in range(9):
        setting.kafka.acknowledge(position)
    reading.append(setting.connection.is_reading)
    assert reading == [True, False, True]
    assert [packet_id for packet_id, _ in setting.connection.confirmed] == list(range(1, 10))


async def test_while_kafka_stalls_qos_0_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting(max_held=16 * 4096)
    for _ in range(9):
        setting.publish(0, qos=0)
    assert setting.counters.dropped_publishes == 0
    monkeypatch.setattr(Ingress, "_is_stalled", property(lambda _: True))
    setting.publish(0, qos=0)
    setting.publish(1, qos=1)
    assert setting.counters.dropped_publishes == 1
    assert len(setting.waiting) == 10


async def test_what_is_to_be_retained_is_confirmed_when_both_logs_have_it(setting: Setting) -> None:  # I9
    setting.fresh.add(0, 7, "t", "gw2")
    setting.connection.is_kept = True
    confirmed: list[int] = []
    setting.ingress.confirmed = lambda _, packet_id: confirmed.append(packet_id)
    setting.publish(1, qos=2, payload=b"x", retain=True)
    setting.publish(2)
    setting.release()
    setting.kafka.acknowledge(1)
    setting.kafka.acknowledge(0, place=(3, 42))
    assert not setting.connection.confirmed
    assert not confirmed
    [_, _, (value, headers, _)] = setting.kafka.appended
    assert value == b"x"
    assert headers == [
        ("client-id", b"c"),
        ("qos", b"2"),
        ("retain", b"1"),
        ("subscriptions-read", b"5,6"),  # neither the packet id nor the routes
        ("id", b"3:42"),
    ]
    setting.kafka.acknowledge(2)
    assert setting.connection.confirmed == [(1, 0), (2, 0)]
    assert confirmed == [1]
    assert setting.ingress.held_bytes == 0


async def test_an_empty_payload_is_a_tombstone_and_a_will_is_retained_as_well(setting: Setting) -> None:
    setting.publish(0, qos=0, retain=True)
    setting.release()
    setting.kafka.acknowledge(0)
    assert setting.connection.held_bytes  # whoever waits for the end of all that it wrote, waits for this too
    assert setting.kafka.appended[0][0] == b""
    assert setting.kafka.appended[1][0] is None
    setting.kafka.acknowledge(1)
    assert not setting.connection.held_bytes


async def test_what_was_not_published_is_not_retained(setting: Setting) -> None:  # P12
    setting.publish(1, retain=True)
    setting.publish(2, retain=True)
    setting.publish(3, retain=True)
    setting.release()
    setting.kafka.acknowledge(0, KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
    setting.kafka.acknowledge(1, place=(0, -1))  # which of two appends stands, is not told
    setting.kafka.acknowledge(2, place=(0, 2))
    setting.kafka.acknowledge(3, KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
    assert len(setting.kafka.appended) == 4
    refused = ReasonCode.QUOTA_EXCEEDED
    assert setting.connection.confirmed == [(1, refused), (2, refused), (3, refused)]


async def test_retained_records_keep_the_order_of_the_publishes_when_the_queue_is_full(
    setting: Setting,
) -> None:
    for number in (1, 2, 3):
        setting.publish(number, payload=b"%d" % number, retain=True)
    setting.release()
    setting.kafka.is_full = True
    for position in range(3):
        setting.kafka.acknowledge(position, place=(0, position))
    setting.kafka.is_full = False
    for resume in setting.kafka.room:
        resume()
    retained = [(value, dict(headers)["id"]) for value, headers, _ in setting.kafka.appended[3:]]
    assert retained == [(b"1", b"0:0"), (b"2", b"0:1"), (b"3", b"0:2")]
