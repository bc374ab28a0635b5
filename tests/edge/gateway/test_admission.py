"""The ingress' door: what clients may not publish goes nowhere, and its acknowledgement waits its turn."""

from __future__ import annotations

from typing import cast

import pytest

from edge.gateway.admission import Admission
from edge.gateway.connection import Connection
from edge.mqtt.packets import Publish
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode
from tests.edge.gateway.test_ingress import Setting


class Door(Setting):
    """An ingress behind its door."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[Publish] = []
        self.admission = Admission(self.ingress, lambda _, packet: self.begun.append(packet), self.counters)
        self.client = cast(Connection, self.connection)

    def publish(self, packet_id: int, qos: int = 1, payload: bytes = b"", topic: str = "t") -> None:
        self.admission.publish(self.client, Publish(topic, payload, qos=qos, packet_id=packet_id))


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


async def test_nor_for_their_wills() -> None:
    door = Door()
    door.admission.publish_will(door.client, Publish("$SYS/brokers", b"gone", qos=1))
    door.admission.publish_will(door.client, Publish("t", b"gone", qos=1))
    door.release()
    assert [value for value, _, _ in door.kafka.appended] == [b"gone"]
    assert door.counters.forbidden_publishes == 1


async def test_qos_2_of_a_kept_session_is_noted_first() -> None:
    door = Door()
    door.connection.is_kept = True
    door.publish(1, 2, topic="$SYS/x")
    door.publish(2, 2)
    assert [packet.packet_id for packet in door.begun] == [2]
    assert not door.waiting
