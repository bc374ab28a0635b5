"""M39: what an MQTT 5 publisher says about a message reaches its subscribers unaltered, across gateways."""

from __future__ import annotations

import pytest

from admin.stack.gateway import MqttAddress
from edge.mqtt.properties import NO_PROPERTIES, Properties
from tests.live.conftest import Connecting
from tests.live.peers import V3_1, V3_1_1

pytestmark = pytest.mark.live

PROPERTIES = Properties(
    payload_format_indicator=1,
    content_type="text/plain; charset=utf-8",
    response_topic="answers/é",
    correlation_data=bytes.fromhex("00FF10"),
    user_properties=(("k", "1"), ("k", "2"), ("a", ""), ("", "z"), ("routes", "[]"), ("filter", "#")),
)


@pytest.mark.mqtt(v5="3.3.2-4 3.3.2-15 3.3.2-16 3.3.2-17 3.3.2-18 3.3.2-20")
@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_all_properties(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, qos: int
) -> None:
    subscriber, publisher = await connect(gw2), await connect(gw1)
    await subscriber.subscribe(topic)
    await publisher.publish(topic, "payload", qos, properties=PROPERTIES)
    [message] = await subscriber.take()
    assert message.properties == PROPERTIES
    assert (message.topic, message.payload, message.qos) == (topic, b"payload", qos)


@pytest.mark.mqtt(v5="3.3.2-6")
async def test_message_expiry_counts_down(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """M20, live: the property is still there, with what is left."""
    subscriber, publisher = await connect(gw2), await connect(gw1)
    await subscriber.subscribe(topic)
    await publisher.publish(topic, "x", 1, properties=Properties(message_expiry_interval=1_000))
    [message] = await subscriber.take()
    assert message.properties.message_expiry_interval in range(900, 1_001)


@pytest.mark.parametrize("version", [V3_1, V3_1_1])
async def test_older_subscribers_get_topic_and_payload_alone(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, version: object
) -> None:
    subscriber, publisher = await connect(gw2, version), await connect(gw1)
    await subscriber.subscribe(topic, qos=1)
    await publisher.publish(topic, b"\x00\xff", 1, properties=PROPERTIES)
    [message] = await subscriber.take()
    assert (message.topic, message.payload, message.properties) == (topic, b"\x00\xff", NO_PROPERTIES)


@pytest.mark.parametrize("payload", [b"", b"\x00", bytes(range(256)), b"x" * 60_000], ids=len)
async def test_payloads_are_untouched(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, payload: bytes
) -> None:
    subscriber, publisher = await connect(gw2), await connect(gw1)
    await subscriber.subscribe(topic)
    await publisher.publish(topic, payload)
    assert [message.payload for message in await subscriber.take()] == [payload]
