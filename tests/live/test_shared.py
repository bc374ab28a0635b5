"""Shared subscriptions over gateways, through the router: P06, and what MQTT says of a group's members (4.8.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import Connect, Disconnect, PubComp, PubRec, PubRel, Subscribe, Subscription
from edge.mqtt.properties import Properties
from edge.mqtt.writing import write_packet
from tests.edge.mqtt.test_reading import read_all
from tests.live.conftest import Connecting
from tests.live.peers import V3_1_1, V5, Peer
from tests.live.raw import raw_connection
from tests.live.test_persistent_sessions import device

pytestmark = pytest.mark.live

LASTING = Properties(session_expiry_interval=3600)


@pytest.fixture
def group(topic: str) -> str:
    """A group that no other test has, on the test's topic."""
    return f"$share/workers/{topic}"


async def taken(members: list[Peer], count: int) -> list[list[str]]:
    """Wait until the members have so many messages together; returns what each has got, and takes it out."""
    async with asyncio.timeout(60):
        while sum(len(member.inbox) for member in members) < count:
            await asyncio.wait(
                [asyncio.ensure_future(member.came()) for member in members],
                return_when=asyncio.FIRST_COMPLETED,
            )
    return [
        [message.payload.decode() for message in await member.take(len(member.inbox))] for member in members
    ]


def together(got: list[list[str]]) -> list[str]:
    return sorted((payload for messages in got for payload in messages), key=int)


@pytest.mark.parametrize("qos", range(3))
async def test_clean_members_share(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, group: str, qos: int
) -> None:
    members = [await connect(gw1), await connect(gw2, V3_1_1), await connect(gw2)]
    for member in members:
        await member.subscribe(group, qos=qos)
    other: Peer = await connect(gw1)
    await other.subscribe(topic, f"$share/others/{topic}", qos=1)
    publisher: Peer = await connect(gw2)
    sent = [str(number) for number in range(60)]
    for payload in sent:
        await publisher.publish(topic, payload, qos)
    got = await taken(members, 60)
    assert together(got) == sent
    assert all(got)
    assert all(messages == sorted(messages, key=int) for messages in got)
    # Another group's member gets all, and so does who subscribes by themselves: the same client twice.
    assert sorted(await other.payloads(120), key=int) == sorted(sent * 2, key=int)


async def test_members_offline(
    connect: Connecting,
    gw1: MqttAddress,
    gw2: MqttAddress,
    topic: str,
    group: str,
    unique: Callable[[str], str],
) -> None:
    """P06 on two gateways."""
    publisher: Peer = await connect(gw2)
    a_id, b_id = unique("a"), unique("b")

    async def publish(begin: int, end: int) -> list[str]:
        for number in range(begin, end):
            await publisher.publish(topic, str(number), 1)
        return [str(number) for number in range(begin, end)]

    async def member(at: MqttAddress, client_id: str) -> Peer:
        peer: Peer = await connect(at, client_id=client_id, clean_start=False, properties=LASTING)
        return peer

    a, b = await member(gw1, a_id), await member(gw2, b_id)
    await a.subscribe(group)
    await b.subscribe(group)
    sent = await publish(0, 100)
    assert together(await taken([a, b], 100)) == sent
    await a.client.disconnect()
    alone = await publish(100, 200)
    assert await b.payloads(100) == alone
    await b.client.disconnect()
    parked = await publish(200, 250)
    b = await member(gw1, b_id)
    assert await b.payloads(50) == parked
    await b.client.disconnect()
    b = await member(gw2, b_id)
    live = await publish(250, 255)
    assert await b.payloads(5) == live


@pytest.mark.mqtt(v5="3.8.3-4 4.8.2-1 4.8.2-2")
async def test_no_local_on_a_share_is_an_error(gw1: MqttAddress, group: str) -> None:
    """Also filters that only begin like a shared one [MQTT-3.8.3-4], [MQTT-4.8.2-1], [MQTT-4.8.2-2]."""
    async with raw_connection(gw1, V5) as raw:
        assert b"\x2a\x00" not in raw.connack  # Shared Subscription Available
        raw.send(Subscribe(1, (Subscription(group, 1, no_local=True),)))
        [packet] = read_all([await raw.packet()], V5)
        assert isinstance(packet, Disconnect)
        assert packet.reason_code == 0x82
    for filter in ("$share//x", "$share/a+/x", "$share/a"):
        async with raw_connection(gw1, V5) as raw:
            name = filter.encode()
            raw.send(bytes([0x82, len(name) + 6, 0, 1, 0, 0, len(name)]) + name + b"\1")
            [packet] = read_all([await raw.packet()], V5)
            assert isinstance(packet, Disconnect)
            assert packet.reason_code in (0x81, 0x82, 0x8F)


async def test_a_member_that_unsubscribes_gets_no_more(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, group: str
) -> None:
    one, other, publisher = await connect(gw1), await connect(gw2), await connect(gw1)
    await one.subscribe(group)
    await other.subscribe(group)
    assert await one.unsubscribe(group) == (0,)
    sent = [str(number) for number in range(20)]
    for payload in sent:
        await publisher.publish(topic, payload, 1)
    assert await other.payloads(20) == sent
    assert one.inbox == []


@pytest.mark.mqtt(v5="3.1.3-8 3.1.4-2")
async def test_no_client_has_a_groups_name(gw1: MqttAddress, group: str) -> None:
    """Under such a name, messages wait for whoever of a group comes back."""
    async with raw_connection(gw1) as raw:
        raw.send(write_packet(Connect(group, V5), V5))
        assert (await raw.packet())[3] == 0x85


@pytest.mark.mqtt(v5="4.8.2-3 4.8.2-4")
async def test_qos_2_under_way_is_finished_with_its_member(
    connect: Connecting,
    gw1: MqttAddress,
    gw2: MqttAddress,
    topic: str,
    group: str,
    unique: Callable[[str], str],
) -> None:
    """Though another member has come meanwhile; and each member gets what its subscription was granted."""
    name, publisher, lower = unique("member"), await connect(gw1), await connect(gw2)
    await lower.subscribe(f"$share/lower/{topic}", qos=1)
    async with device(gw1, name, V5) as here:
        await here.subscribe(group, 2)
        await publisher.publish(topic, "once", 2)
        first = await here.next()
    another = await connect(gw1)
    await another.subscribe(group)
    async with device(gw2, name, V5) as here:
        assert await here.next() == replace(first, dup=True)
        here.raw.send(PubRec(first.packet_id))
        assert await here.next() == PubRel(first.packet_id)
        here.raw.send(PubComp(first.packet_id))
        assert await here.raw.until_pong() == b""
    [message] = await lower.take()
    assert (message.payload, message.qos) == (b"once", 1)
    await another.client.ping()
    assert another.inbox == []
