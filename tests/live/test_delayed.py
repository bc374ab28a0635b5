"""Delayed publishes through the router: when, what is kept of them, and what is refused."""

from __future__ import annotations

import asyncio

import pytest

from admin.stack.gateway import MqttAddress
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode
from tests.live.conftest import Connecting
from tests.live.peers import V3_1_1, V5

pytestmark = pytest.mark.live


async def test_they_come_when_they_are_due_with_all_that_they_carried(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """Whoever subscribes before that gets them, too (I2)."""
    subscriber, publisher = await connect(gw2), await connect(gw1)
    properties = Properties(
        message_expiry_interval=60,
        content_type="x",
        correlation_data=b"\0\xff",
        user_properties=(("k", "1"), ("k", "2")),
    )
    began_at = asyncio.get_running_loop().time()
    assert await publisher.publish(f"$delayed/4/{topic}", "4", 2, properties=properties, retain=True) == 0
    assert await publisher.publish(f"$delayed/2/{topic}", "2", 1) == 0
    assert await publisher.publish(f"$delayed/2/{topic}", "2 again", 0) == 0
    assert await publisher.publish(f"$delayed/0/{topic}", "before anybody listens", 1) == 0
    await subscriber.subscribe(topic, qos=2, retain_as_published=True, retain_handling=2)
    await publisher.publish(topic, "now")
    came = [message for message in await subscriber.take(4) if message.payload != b"before anybody listens"]
    came += await subscriber.take(4 - len(came))
    assert asyncio.get_running_loop().time() - began_at >= 4
    assert sorted(message.payload for message in came) == [b"2", b"2 again", b"4", b"now"]
    assert [message.qos for message in came if message.payload.startswith((b"2", b"4"))] == [1, 0, 2]
    last = came[-1]
    assert last.topic == topic
    assert last.retain
    assert 57 < (last.properties.message_expiry_interval or 0) <= 60  # from its publication on
    assert (last.properties.content_type, last.properties.correlation_data) == ("x", b"\0\xff")
    assert last.properties.user_properties == (("k", "1"), ("k", "2"))


@pytest.mark.parametrize(("version", "reason"), [(V5, ReasonCode.TOPIC_NAME_INVALID), (V3_1_1, 0)])
async def test_invalid_intervals_and_topics(
    connect: Connecting, gw1: MqttAddress, topic: str, version: ProtocolVersion, reason: int
) -> None:
    publisher = await connect(gw1, version)
    for wrong in (f"$delayed/4294968/{topic}", f"$delayed/x/{topic}", "$delayed/5/", "$delayed/1/$SYS/x"):
        assert await publisher.publish(wrong, "x", 1) == reason
        assert await publisher.publish(wrong, "x", 2) == reason
