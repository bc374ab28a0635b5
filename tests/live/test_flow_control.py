"""Receive Maximum, Maximum Packet Size and topic aliases: M35, M36, M37."""

from __future__ import annotations

import re
from typing import Any

import pytest

from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import ConnAck, PubAck, PubComp, Publish, PubRec, Subscribe, Subscription, Unsubscribe
from edge.mqtt.properties import NO_PROPERTIES, Properties
from edge.mqtt.protocol import PacketType, ProtocolVersion
from edge.mqtt.reading import READERS
from tests.live.conftest import Connecting
from tests.live.device import V5, device
from tests.live.raw import Raw, raw_connection

pytestmark = pytest.mark.live


def publish_in(frame: bytes) -> Publish:
    """The PUBLISH that a frame below 128 bytes is."""
    assert frame[0] >> 4 == PacketType.PUBLISH, frame
    packet = READERS[PacketType.PUBLISH](frame[0], frame[2:], ProtocolVersion.V5)
    assert isinstance(packet, Publish)
    return packet


async def subscribe(raw: Raw, filter: str, qos: int) -> None:
    """Subscribe, and wait for the SUBACK."""
    raw.send(Subscribe(1, (Subscription(filter, qos),)))
    assert (await raw.packet())[0] == 0x90


@pytest.mark.mqtt(v5="3.3.4-9 3.3.4-10 4.9.0-2 4.9.0-3")
async def test_receive_maximum_of_a_subscriber(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """M35 (a): never more than two outstanding; QoS 0 and PINGRESP pass; every kind of acknowledgement frees one."""
    publisher = await connect(gw1)
    async with raw_connection(gw2, 5, properties=Properties(receive_maximum=2)) as raw:
        await subscribe(raw, topic, 2)
        for number in range(6):
            await publisher.publish(topic, str(number), 1 if number < 4 else 2)
        outstanding = [publish_in(await raw.packet()) for _ in range(2)]
        await publisher.publish(topic, "QoS 0", 0)
        assert publish_in(await raw.packet()).payload == b"QoS 0"
        assert await raw.until_pong() == b""
        for number in range(2, 6):
            done = outstanding.pop(0)
            raw.send(PubAck(done.packet_id))
            outstanding.append(publish_in(await raw.packet()))
            assert outstanding[-1].payload == b"%d" % number
            assert await raw.until_pong() == b""
        await publisher.publish(topic, "after a refusal")
        raw.send(PubRec(outstanding[0].packet_id, 0x80))
        assert publish_in(await raw.packet()).payload == b"after a refusal"
        await publisher.publish(topic, "after PUBCOMP")
        raw.send(PubRec(outstanding[1].packet_id))
        assert (await raw.packet())[0] == 0x62
        assert await raw.until_pong() == b""
        raw.send(PubComp(outstanding[1].packet_id))
        assert publish_in(await raw.packet()).payload == b"after PUBCOMP"


async def connack_properties(address: MqttAddress, **said: Any) -> Properties:
    """What the gateway tells a client that said this of itself."""
    async with raw_connection(address, 5, properties=Properties(**said)) as raw:
        packet = READERS[PacketType.CONNACK](raw.connack[0], raw.connack[2:], ProtocolVersion.V5)
    assert isinstance(packet, ConnAck)
    return packet.properties


async def test_receive_maximum_of_the_gateway(gw1: MqttAddress, topic: str) -> None:
    """M35 (d): one PUBLISH at QoS 2 more than it allows is answered by DISCONNECT 0x93."""
    allowed = (await connack_properties(gw1)).receive_maximum
    assert allowed
    assert (await connack_properties(gw1, receive_maximum=7)).receive_maximum == allowed != 7
    async with raw_connection(gw1, 5) as raw:
        for packet_id in range(1, allowed + 2):
            raw.send(Publish(topic, b"x", 2, packet_id=packet_id))
        came = (await raw.until_end()).hex()
    assert re.fullmatch("(5002....)*e0..93.*", came), came[-200:]


@pytest.mark.mqtt(v5="3.1.2-24 3.1.2-25")
async def test_maximum_packet_size_of_a_subscriber(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress
) -> None:
    """M36: 99 bytes arrive, 100 are left out without a word, and what follows arrives."""
    publisher = await connect(gw1)
    async with raw_connection(
        gw2, 5, properties=Properties(maximum_packet_size=99, receive_maximum=1)
    ) as raw:
        await subscribe(raw, "a", 1)
        for length in (91, 92, 1):
            assert await publisher.publish("a", b"x" * length) == 0
        for length in (91, 1):
            message = publish_in(await raw.packet())
            assert len(message.payload) == length
            raw.send(PubAck(message.packet_id))
        await publisher.publish("a", b"x" * 60, properties=Properties(user_properties=(("k", "v" * 40),)))
        await publisher.publish("a", b"last")
        assert publish_in(await raw.packet()).payload == b"last"


@pytest.mark.mqtt(v5="3.1.2-24 3.9.2-1 3.14.2-3")
async def test_no_answer_is_larger_than_allowed(gw1: MqttAddress) -> None:
    """Case M36: with a limit of 20, refusals come without their explanation; without a limit they have one."""
    for limit, ends in ((20, "e00181|e0028100"), (None, "e0..81..1f.*")):
        async with raw_connection(gw1, 5, properties=Properties(maximum_packet_size=limit)) as raw:
            if limit:
                assert len(raw.connack) <= limit
            raw.send(Unsubscribe(1, ("nope",)))
            assert (await raw.packet()).hex() == "b00400010011"
            raw.send("820E00020000 082473686172652F67 00")  # $share/g, which lacks its filter
            assert re.fullmatch(ends.replace("81", "8[12f]"), (await raw.until_end()).hex())


ONE = Properties(topic_alias=1)
ALIAS_CASES = [
    ("alias 0", [("a", 0)], 0x94),
    ("alias above the maximum", [("a", -1)], 0x94),
    ("an alias that was never set", [("", 1)], 0x82),
]


@pytest.mark.parametrize(
    ("publishes", "reason"), [case[1:] for case in ALIAS_CASES], ids=[c[0] for c in ALIAS_CASES]
)
async def test_wrong_topic_aliases(gw1: MqttAddress, publishes: list[tuple[str, int]], reason: int) -> None:
    """M37 (a) to (c)."""
    maximum = (await connack_properties(gw1)).topic_alias_maximum
    assert maximum
    async with raw_connection(gw1, 5) as raw:
        for topic, alias in publishes:
            number = maximum + 1 if alias < 0 else alias
            body = len(topic).to_bytes(2, "big") + topic.encode() + b"\x03\x23" + number.to_bytes(2, "big")
            raw.send(bytes((0x30, len(body))) + body)
        came = (await raw.until_end()).hex()
    assert re.fullmatch(f"e0..{reason:02x}.*", came)


@pytest.mark.mqtt(v5="3.3.2-7")
async def test_topic_aliases(connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str) -> None:
    """Case M37 (d): an alias may be given anew."""
    subscriber = await connect(gw2)
    await subscriber.subscribe(f"{topic}/+", qos=1)
    async with raw_connection(gw1, 5) as raw:
        for number, name in enumerate((f"{topic}/a", "", f"{topic}/b", ""), 1):
            raw.send(Publish(name, b"%d" % number, 1, packet_id=number, properties=ONE))
            assert (await raw.packet())[0] == 0x40
        came = [(message.topic, message.payload) for message in await subscriber.take(4)]
    assert sorted(came) == [
        (f"{topic}/a", b"1"),
        (f"{topic}/a", b"2"),
        (f"{topic}/b", b"3"),
        (f"{topic}/b", b"4"),
    ]
    assert all(message.properties.topic_alias is None for message in subscriber.inbox)


async def test_topic_aliases_do_not_outlive_their_connection(
    gw1: MqttAddress, gw2: MqttAddress, topic: str, client_id: str
) -> None:
    """Case M37 (e): the session goes on, on this gateway or another, and its aliases do not."""
    async with device(gw1, client_id, V5) as here:
        here.raw.send(Publish(topic, b"x", 1, packet_id=1, properties=ONE))
        here.raw.send(Publish("", b"x", 1, packet_id=2, properties=ONE))
        assert [(await here.next()).packet_id, (await here.next()).packet_id] == [1, 2]
    for address in (gw1, gw2):
        async with device(address, client_id, V5) as here:
            assert here.session_present
            here.raw.send(Publish("", b"x", 1, packet_id=1, properties=ONE))
            assert re.fullmatch("e0..82.*", (await here.raw.until_end()).hex())


async def test_a_topic_alias_stands_for_its_topic_in_what_is_kept(
    gw1: MqttAddress, gw2: MqttAddress, topic: str, client_id: str
) -> None:
    """Case M37 (g): who was away gets the whole topic, and no alias that it has not allowed."""
    async with device(gw2, client_id, V5) as there:
        await there.subscribe(topic, 1)
        await there.leave()
    async with raw_connection(gw1, 5) as raw:
        for number, name in enumerate((topic, ""), 1):
            raw.send(Publish(name, b"%d" % number, 1, packet_id=number, properties=ONE))
            assert (await raw.packet())[0] == 0x40
    async with device(gw2, client_id, V5) as there:
        came = [await there.next(), await there.next()]
    assert [(message.topic, message.payload) for message in came] == [(topic, b"1"), (topic, b"2")]
    assert [message.properties for message in came] == [NO_PROPERTIES] * 2
