"""Exclusive subscriptions through the router: the holder, and nobody else, gets what the filter matches."""

from __future__ import annotations

import pytest

from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import Subscription
from edge.mqtt.properties import Properties
from edge.mqtt.reason_codes import ReasonCode
from tests.live.conftest import Connecting
from tests.live.peers import V5, sibling, within

pytestmark = pytest.mark.live


@pytest.mark.parametrize("expiry", [0, 600])
async def test_only_the_holder_gets_messages(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, expiry: int
) -> None:
    lasting = Properties(session_expiry_interval=expiry)
    first, second = await connect(gw1, V5, properties=lasting), await connect(gw2, V5, properties=lasting)
    publisher = await connect(gw1)
    wanted = Subscription(f"$exclusive/{topic.split('/')[0]}/+", 1)
    fence = sibling(topic, f"{topic}/fence")
    await first.subscribe(wanted.filter, fence, qos=1, identifier=7)
    assert await within(second.client.subscribe(wanted)) == (ReasonCode.QUOTA_EXCEEDED,)
    await second.subscribe(fence, qos=1)
    await publisher.publish(topic, "to the holder")
    await publisher.publish(fence, "fence")
    [message, _] = await first.take(2)
    assert (message.topic, message.payload) == (topic, b"to the holder")
    assert message.properties.subscription_identifiers == (7,)
    assert await second.payloads() == ["fence"]
    assert await first.unsubscribe(wanted.filter) == (0,)
    await second.subscribe(wanted.filter, qos=1)
    await publisher.publish(topic, "to the next")
    await publisher.publish(fence, "fence")
    assert await second.payloads(2) == ["to the next", "fence"]
    assert await first.payloads() == ["fence"]
