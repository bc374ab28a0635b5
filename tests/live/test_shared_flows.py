"""A share group's members one by one: what MQTT says of the flows with each of them (4.8.2)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import PubAck, PubComp, Publish, PubRec, PubRel
from tests.live.conftest import Connecting
from tests.live.device import V5, device

pytestmark = pytest.mark.live


@pytest.fixture
def group(topic: str) -> str:
    """A group that no other test has, on the test's topic."""
    return f"$share/workers/{topic}"


@pytest.mark.mqtt(v5="4.8.2-3")
async def test_each_member_has_its_own_qos(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, group: str
) -> None:
    """[MQTT-4.8.2-3]."""
    members = [await connect(gw1), await connect(gw2), await connect(gw2)]
    for granted, member in enumerate(members):
        await member.subscribe(group, qos=granted)
    for number in range(6):
        await members[0].publish(topic, str(number), 2)
    for granted, member in enumerate(members):
        assert [message.qos for message in await member.take(2)] == [granted] * 2


@pytest.mark.mqtt(v5="4.8.2-4 4.8.2-5")
async def test_a_message_of_qos_2_stays_with_its_member(
    connect: Connecting,
    gw1: MqttAddress,
    gw2: MqttAddress,
    topic: str,
    group: str,
    unique: Callable[[str], str],
) -> None:
    """[MQTT-4.8.2-4], [MQTT-4.8.2-5]: with whom it began, it ends, or with nobody, though another is there."""
    publisher, name = await connect(gw2), unique("a")
    async with device(gw1, name, V5) as here:
        await here.subscribe(group)
        for payload, qos in (("begun", 2), ("received", 2), ("given back", 1)):
            await publisher.publish(topic, payload, qos)
        begun, received, _ = [await here.next() for _ in range(3)]
        here.raw.send(PubRec(received.packet_id))
        assert await here.next() == PubRel(received.packet_id)
        other = await connect(gw2)
        await other.subscribe(group)
    await publisher.publish(topic, "new", 2)
    assert await other.payloads() == ["new"]
    async with device(gw2, name, V5) as here:
        again = [await here.next() for _ in range(3)]
        assert Publish(topic, b"begun", 2, dup=True, packet_id=begun.packet_id) in again
        assert PubRel(received.packet_id) in again
        here.raw.send(PubComp(received.packet_id))
        here.raw.send("E00700 05 11 00000000")  # the session ends
        await here.raw.until_end()
    assert await other.payloads() == ["given back"]  # oldest first, so nothing of QoS 2 comes behind it


@pytest.mark.mqtt(v5="4.8.2-6")
@pytest.mark.parametrize("expiry", [0, 3600])
async def test_what_a_member_rejects_goes_to_nobody_else(
    connect: Connecting,
    gw1: MqttAddress,
    gw2: MqttAddress,
    topic: str,
    group: str,
    unique: Callable[[str], str],
    expiry: int,
) -> None:
    """[MQTT-4.8.2-6]."""
    publisher, other = await connect(gw2), await connect(gw2)
    async with device(gw1, unique("a"), V5, session_expiry_interval=expiry) as here:
        await here.subscribe(group)
        await publisher.publish(topic, "rejected", 1)
        here.raw.send(PubAck((await here.next()).packet_id, 0x83))
        await publisher.publish(topic, "rejected too", 2)
        here.raw.send(PubRec((await here.next()).packet_id, 0x97))
        await publisher.publish(topic, "kept", 1)
        assert (await here.next()).payload == b"kept"
        await other.subscribe(group, qos=2)
        here.raw.send("E00700 05 11 00000000")  # the session ends, and gives back what was not acknowledged
        await here.raw.until_end()
    assert await other.payloads() == ["kept"]
    await publisher.publish(topic, "last", 2)
    assert await other.payloads() == ["last"]
