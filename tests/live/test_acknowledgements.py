"""What neither time nor UNSUBSCRIBE ends: M21, M32 (d), and M49 for what is under way."""

from __future__ import annotations

import pytest

from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import PubAck, PubComp, Publish, PubRec, PubRel
from edge.mqtt.properties import Properties
from tests.live.conftest import Connecting
from tests.live.device import V3_1_1, V5, Device, device
from tests.live.raw import let_time_pass

pytestmark = pytest.mark.live


async def finish(here: Device, packet_id: int) -> None:
    """A QoS 2 exchange from its PUBREC to its PUBCOMP."""
    here.raw.send(PubRec(packet_id))
    assert await here.next() == PubRel(packet_id)
    here.raw.send(PubComp(packet_id))


async def test_what_expires_under_way_goes_on(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, client_id: str
) -> None:
    """Cases M21 and M32 (d): expiry ends no exchange that has begun; and while a client is there, nothing is repeated.

    The third message is the control: it waits for a place until it has expired, and is never sent.
    """
    publisher = await connect(gw2)
    expiring = Properties(message_expiry_interval=1)
    async with device(gw1, client_id, V5, receive_maximum=2) as here:
        await here.subscribe(topic)
        for payload in ("begun", "not received", "waits"):
            await publisher.publish(topic, payload, 2, properties=expiring)
        begun, lost = await here.next(), await here.next()
        assert (begun.payload, lost.payload) == (b"begun", b"not received")
        await let_time_pass(gw1)
        assert await here.raw.until_pong() == b""
        await finish(here, begun.packet_id)
        assert await here.raw.until_pong() == b""
        here.raw.cut()
    async with device(gw2, client_id, V5, receive_maximum=2) as here:
        again = await here.next()
        assert (again.payload, again.dup, again.packet_id) == (b"not received", True, lost.packet_id)
        await finish(here, again.packet_id)
        await publisher.publish(topic, "last", 2)
        assert await here.take(1) == ["last"]


@pytest.mark.parametrize("version", [V3_1_1, V5])
async def test_what_is_under_way_outlives_its_subscription(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, client_id: str, version: int
) -> None:
    """Case M49: after UNSUBSCRIBE nothing new is sent, and what was sent is completed [MQTT-3.10.4-3]."""
    publisher = await connect(gw2)
    async with device(gw1, client_id, version) as here:
        await here.subscribe(topic)
        for payload, qos in (("one", 1), ("two", 2), ("three", 2)):
            await publisher.publish(topic, payload, qos)
        one, two, three = [await here.next() for _ in range(3)]
        await here.unsubscribe(topic)
        await finish(here, three.packet_id)
        await publisher.publish(topic, "too late", 2)
        here.raw.cut()
    async with device(gw2, client_id, version) as here:
        assert [await here.next(), await here.next()] == [
            Publish(topic, b"one", 1, dup=True, packet_id=one.packet_id),
            Publish(topic, b"two", 2, dup=True, packet_id=two.packet_id),
        ]
        here.raw.send(PubAck(one.packet_id))
        await finish(here, two.packet_id)
        await here.subscribe(topic)
        await publisher.publish(topic, "again", 2)
        assert await here.take(1) == ["again"]
