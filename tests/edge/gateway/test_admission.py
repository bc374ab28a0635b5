"""The ingress' door: what clients may not publish goes nowhere, and its acknowledgement waits its turn."""

from __future__ import annotations

import time
from typing import cast

import pytest
from confluent_kafka import KafkaError

from contracts import delayed_record
from contracts.partitioner import partition_of
from edge.gateway.admission import Admission, will_refusal
from edge.gateway.connection import Connection
from edge.gateway.delayed.delaying import Delaying
from edge.gateway.delayed.quota import Quota
from edge.gateway.limits.rate import Rate, Window
from edge.mqtt.packets import Publish
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode
from identity.answers import Rules
from identity.rules import Permissions
from tests.edge.gateway.test_ingress import Setting


class Door(Setting):
    """An ingress behind its door."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[Publish] = []
        self.quota = Quota(2)
        delaying = self.delaying = Delaying("delayed", 3, self.counters, self.quota)
        self.admission = Admission(
            self.ingress, lambda _, packet: self.begun.append(packet), delaying, self.counters
        )
        self.client = cast(Connection, self.connection)

    def submit(self, packet: Publish) -> None:
        self.admission.publish(self.client, packet)


@pytest.mark.parametrize(
    ("version", "reason"), [(ProtocolVersion.V5, ReasonCode.NOT_AUTHORIZED), (ProtocolVersion.V3_1_1, 0)]
)
@pytest.mark.parametrize("qos", [1, 2])
async def test_system_topics_are_not_for_clients(version: ProtocolVersion, reason: int, qos: int) -> None:
    door = Door()
    door.connection.version = version
    door.publish(1, qos)
    door.publish(2, qos, topic="$SYS/brokers")
    door.publish(0, 0, topic="$SYS/brokers")
    door.publish(3, qos, topic="$SYSTEM/is/another")
    assert door.connection.confirmed == []  # in the order of the publishes
    door.release()
    door.kafka.acknowledge(0)
    door.kafka.acknowledge(1)
    assert door.connection.confirmed == [(1, 0), (2, reason), (3, 0)]
    assert len(door.kafka.appended) == 2
    assert door.counters.forbidden_publishes == 2
    assert door.ingress.held_bytes == 0


async def test_nobody_publishes_to_what_is_only_held() -> None:
    door = Door()
    door.publish(1, topic="$exclusive/a")
    assert door.connection.confirmed == [(1, ReasonCode.TOPIC_NAME_INVALID)]
    assert door.counters.forbidden_publishes == 1


PERMISSIONS = Permissions(Rules(publish=("up/${clientid}/.*",)), "c", None)


@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("topic", ["down", "up/other/x", "$delayed/5/down", "$SYS/up/c/x"])
async def test_what_a_clients_rules_do_not_allow_is_refused(topic: str, qos: int) -> None:
    door = Door()
    door.connection.permissions = PERMISSIONS
    door.connection.is_kept = True
    door.publish(1, qos, topic=topic)
    door.publish(0, 0, topic=topic)
    assert door.connection.confirmed == [(1, ReasonCode.NOT_AUTHORIZED)]
    assert (door.counters.unauthorized_publishes, door.waiting, door.begun) == (2, [], [])
    door.publish(2, 1, topic="up/c/x")
    door.publish(3, 1, topic="$delayed/5/up/c/x")
    assert len(door.waiting) == 2


@pytest.mark.mqtt(v3="3.3.5-2")
@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_and_ends_a_connection_that_has_no_word_for_it(qos: int) -> None:
    door = Door()
    door.connection.version = ProtocolVersion.V3_1_1
    door.connection.permissions = PERMISSIONS
    door.publish(0, 0, topic="up/c/x")
    door.publish(1 if qos else 0, qos, topic="down")
    assert door.connection.ended_for == ReasonCode.NOT_AUTHORIZED
    door.publish(2, 1, topic="up/c/x")  # behind it, in the same bytes
    assert (len(door.waiting), door.connection.confirmed) == (1, [])
    assert door.counters.unauthorized_publishes == 1


@pytest.mark.parametrize(
    ("topic", "reason"),
    [
        ("t", None),
        ("$SYS/brokers", ReasonCode.NOT_AUTHORIZED),
        ("$exclusive/a", ReasonCode.TOPIC_NAME_INVALID),
        ("$delayed/5/a", ReasonCode.TOPIC_NAME_INVALID),
    ],
)
def test_nor_for_their_wills(topic: str, reason: ReasonCode | None) -> None:
    assert will_refusal(Publish(topic, b"gone", qos=1)) is reason


async def test_qos_2_of_a_kept_session_is_noted_first() -> None:
    door = Door()
    door.connection.is_kept = True
    door.publish(1, 2, topic="$SYS/x")
    door.publish(2, 2)
    assert [packet.packet_id for packet in door.begun] == [2]
    assert not door.waiting


async def test_a_delayed_publish_waits_elsewhere_under_its_topic() -> None:
    door = Door()
    before = time.time_ns() // 1_000_000
    door.fresh.add(0, 7, "a/+", "gw2")
    door.publish(1, 1, b"later", "$delayed/60/a/b")
    door.publish(2, 1, b"now", "a/b")
    door.release()
    door.kafka.acknowledge(0)
    assert door.connection.confirmed == [(1, 0)]
    (value, headers, _), (_, at_once, _) = door.kafka.appended
    (topic, partition, key), (other, _, _) = door.kafka.places
    assert (value, topic, other, partition) == (b"later", "delayed", "publishes", partition_of(b"a/b", 3))
    assert delayed_record.decode_key(key)[0] == b"a/b"
    assert delayed_record.decode_due(headers) - 60_000 in range(before, before + 60_000)
    assert "routes" not in dict(headers)
    assert "routes" in dict(at_once)
    assert door.counters.delayed_accepted == 1


@pytest.mark.parametrize("topic", ["$delayed/x/a", "$delayed/4294968/a", "$delayed/5/", "$delayed/5/$SYS/a"])
async def test_what_can_not_be_delayed_is_refused(topic: str) -> None:
    door = Door()
    door.publish(1, topic=topic)
    door.publish(0, 0, topic=topic)
    assert door.connection.confirmed == [(1, ReasonCode.TOPIC_NAME_INVALID)]
    assert door.counters.delayed_refused == 2
    assert not door.waiting


async def test_more_than_may_wait_are_refused() -> None:
    door = Door()
    for packet_id in range(1, 4):
        door.publish(packet_id, topic="$delayed/5/a")
    door.release()
    for position in range(2):
        door.kafka.acknowledge(position)
    assert door.connection.confirmed == [(1, 0), (2, 0), (3, ReasonCode.QUOTA_EXCEEDED)]
    assert (door.quota.waiting, door.counters.delayed_refused) == (2, 1)
    door.quota.remove(door.kafka.places[0][2])
    door.publish(4, topic="$delayed/5/a")
    door.release()
    door.kafka.acknowledge(2, KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
    assert door.connection.confirmed[3:] == [(4, ReasonCode.QUOTA_EXCEEDED)]
    assert door.quota.waiting == 1  # what Kafka can't take does not wait


async def test_qos_2_of_a_kept_session_is_delayed_when_it_was_noted() -> None:
    door = Door()
    door.connection.is_kept = True
    door.publish(1, 2, topic="$delayed/5/a")
    [noted] = door.begun
    door.admission.go_on(door.client, noted)
    door.release()
    door.kafka.acknowledge(0)
    assert door.kafka.places[0][0] == "delayed"
    source = delayed_record.SOURCES + partition_of(b"a", 3)
    assert door.delaying.place("$delayed/5/a")[0] == source
    partition_0 = next(name for name in "bcdefgh" if partition_of(name.encode(), 3) == 0)
    assert door.delaying.place(f"$delayed/5/{partition_0}") == (
        delayed_record.SOURCES,
        1,
    )  # behind what is there


@pytest.mark.parametrize("qos", [1, 2])
async def test_what_is_above_the_rate_is_refused_and_the_connection_stays(qos: int) -> None:
    door = Door()
    door.connection.incoming = (Rate([Window(2, 3_600)]),)
    door.connection.is_kept = qos == 2
    for packet_id in range(1, 5):
        door.publish(packet_id, qos)
    door.publish(0, 0)
    assert door.connection.ended_for is None
    assert door.counters.publishes_over_rate == 3
    if qos == 1:
        assert len(door.waiting) == 2
        door.release()
        for position in range(2):
            door.kafka.acknowledge(position)
        assert door.connection.confirmed == [(1, 0), (2, 0), (3, 0x97), (4, 0x97)]
    else:
        assert [packet.packet_id for packet in door.begun] == [1, 2]
        assert door.connection.confirmed == [(3, 0x97), (4, 0x97)]


@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_and_ends_the_connection_of_an_older_client(qos: int) -> None:
    door = Door()
    door.connection.version = ProtocolVersion.V3_1_1
    door.connection.incoming = (Rate([Window(1, 3_600)]),)
    door.publish(1 if qos else 0, qos)
    assert (door.connection.ended_for, len(door.waiting)) == (None, 1)
    door.publish(2 if qos else 0, qos)
    assert door.connection.ended_for == ReasonCode.QUOTA_EXCEEDED
    door.publish(3, 1)  # behind it, in the same bytes
    assert (len(door.waiting), door.counters.publishes_over_rate) == (1, 1)


async def test_what_rules_deny_counts_as_well() -> None:
    door = Door()
    door.connection.incoming = (Rate([Window(1, 3_600)]),)
    door.connection.permissions = PERMISSIONS
    door.publish(1, topic="down")
    door.publish(2, topic="up/c/x")
    assert door.connection.confirmed == [(1, ReasonCode.NOT_AUTHORIZED), (2, ReasonCode.QUOTA_EXCEEDED)]
