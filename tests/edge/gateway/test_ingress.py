"""Ingress with a Kafka that the test plays: what is confirmed when, and how much may wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import cast

import pytest
from confluent_kafka import KafkaError

from contracts.headers import Headers
from edge.gateway.appender import Appender
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.fresh_routes import FreshRoutes
from edge.gateway.ingress import Held, Ingress
from edge.mqtt.packets import Publish
from edge.mqtt.reason_codes import ReasonCode


class PlayedKafka:
    """An appender whose acknowledgements the test gives."""

    def __init__(self) -> None:
        self.appended: list[tuple[bytes, Headers, Callable[..., None]]] = []
        self.is_full = False
        self.room: list[Callable[[], None]] = []

    def append(
        self, topic: str, value: bytes, key: bytes, headers: Headers, durable: Callable[..., None]
    ) -> None:
        assert (topic, key) != ("", b"")
        if self.is_full:
            raise BufferError
        self.appended.append((value, headers, durable))

    def when_room(self, resume: Callable[[], None]) -> None:
        self.room.append(resume)

    def acknowledge(self, position: int, error: KafkaError | None = None) -> None:
        self.appended[position][2](error, None)


class PlayedConnection:
    """A connection that notes what it is told."""

    def __init__(self) -> None:
        self.client_id = "c"
        self.headers: Headers = [("client-id", b"c")]
        self.held_bytes = 0
        self.is_given_up = False
        self.is_kept = False
        self.settled = None
        self.unconfirmed: deque[Held] = deque()
        self.confirmed: list[tuple[int, int]] = []
        self.is_reading = True
        self.core = self

    def confirm_publish(self, packet_id: int, reason: int = 0) -> None:
        self.confirmed.append((packet_id, reason))

    def changed(self) -> None:
        pass

    react = changed

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True


class Setting:
    """An ingress between the two, with the barrier in the test's hand."""

    def __init__(self, max_held: int = 1 << 20) -> None:
        self.kafka, self.connection, self.counters = PlayedKafka(), PlayedConnection(), Counters()
        self.fresh = FreshRoutes()
        self.waiting: list[Held] = []
        self.ingress = Ingress("publishes", cast(Appender, self.kafka), self.fresh, self.counters, max_held)
        self.ingress.through(self.waiting.append)

    def publish(self, packet_id: int, qos: int = 1, payload: bytes = b"", topic: str = "t") -> None:
        self.ingress.submit(
            cast(Connection, self.connection), Publish(topic, payload, qos=qos, packet_id=packet_id)
        )

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
    setting.publish(0, qos=0, payload=b"will")
    setting.publish(2, qos=2, payload=b"2")
    setting.connection.is_given_up = True
    setting.release()
    assert [value for value, _, _ in setting.kafka.appended] == [b"will"]
    setting.kafka.acknowledge(0)
    assert setting.ingress.held_bytes == setting.connection.held_bytes == 0


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
