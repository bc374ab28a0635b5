"""Shared subscriptions over gateways, through the router: P06, and what MQTT says of a group's members (4.8.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import Connect, Disconnect, Subscribe, Subscription
from edge.mqtt.properties import Properties
from edge.mqtt.writing import write_packet
from tests.edge.mqtt.packet_cases import NO_SHARES, hex_of
from tests.edge.mqtt.test_reading import read_all
from tests.live.conftest import Connecting
from tests.live.peers import V3_1_1, V5, Peer
from tests.live.raw import raw_connection

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


@pytest.mark.mqtt(v5="3.8.3-4")
@pytest.mark.parametrize("filter", ["$share/workers/x", "$queue/x"])
async def test_no_local_on_a_share_is_an_error(gw1: MqttAddress, filter: str) -> None:
    """[MQTT-3.8.3-4]."""
    async with raw_connection(gw1, V5) as raw:
        assert b"\x2a\x00" not in raw.connack  # Shared Subscription Available
        raw.send(Subscribe(1, (Subscription(filter, 1, no_local=True),)))
        [packet] = read_all([await raw.packet()], V5)
        assert isinstance(packet, Disconnect)
        assert packet.reason_code == 0x82


async def test_what_only_begins_like_a_share_is_refused(gw1: MqttAddress) -> None:
    """[MQTT-4.8.2-1], [MQTT-4.8.2-2]; in 3.1.1 there is no word for it but the end of the connection."""
    for filter in NO_SHARES:
        name = hex_of(filter)
        size = 6 + len(filter)
        async with raw_connection(gw1, V5) as raw:
            raw.send(f"82 {size:02X} 0001 00 {name} 01")
            [packet] = read_all([await raw.packet()], V5)
            assert isinstance(packet, Disconnect)
            assert packet.reason_code == 0x8F
        async with raw_connection(gw1, V3_1_1) as raw:
            raw.send(f"82 {size - 1:02X} 0001 {name} 01")
            assert await raw.until_end() == b""


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


async def test_a_queue_is_one_group(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, unique: Callable[[str], str]
) -> None:
    """`$queue/<filter>` is `$share/$queue/<filter>`, also for a client that is away."""
    lasting = {"client_id": unique("q"), "clean_start": False, "properties": LASTING}
    one, other, publisher = await connect(gw1, V3_1_1), await connect(gw2, **lasting), await connect(gw2)
    await one.subscribe(f"$queue/{topic}", qos=1)
    await other.subscribe(f"$share/$queue/{topic}", qos=1)

    async def publish(begin: int, end: int) -> list[str]:
        for number in range(begin, end):
            await publisher.publish(topic, str(number), 1)
        return [str(number) for number in range(begin, end)]

    sent = await publish(0, 20)
    got = await taken([one, other], 20)
    assert together(got) == sent
    assert [len(payloads) for payloads in got] == [10, 10]
    await one.unsubscribe(f"$queue/{topic}")
    alone = await publish(20, 30)
    assert await other.payloads(10) == alone
    await other.client.disconnect()
    away = await publish(30, 40)
    other = await connect(gw1, **lasting)
    assert await other.payloads(10) == away
    assert await other.unsubscribe(f"$queue/{topic}") == (0,)
    assert one.inbox == []
