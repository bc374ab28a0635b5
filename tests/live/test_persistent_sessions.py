"""Sessions that outlive their connection: M20, M21, M26, M28, M32, M33, M35 and M39, from gateway to gateway."""

from __future__ import annotations

import re

import pytest
from confluent_kafka import Consumer, TopicPartition

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from contracts.kafka_topics import KafkaTopics
from contracts.partitioner import partition_of
from edge.mqtt.packets import PubAck, PubComp, Publish, PubRec, PubRel
from edge.mqtt.properties import Properties
from tests.live.conftest import Connecting
from tests.live.device import V3_1_1, V5, device, numbered, publish_all
from tests.live.peers import eventually

pytestmark = pytest.mark.live


@pytest.mark.mqtt(
    v3="3.1.2-4 3.1.2-5 3.1.3-2 4.1.0-1 4.5.0-1 4.6.0-5 4.6.0-6",
    v5="3.1.2-5 3.1.2-23 3.1.3-2 4.5.0-1 4.6.0-5 4.6.0-6",
)
@pytest.mark.parametrize("version", [V3_1_1, V5])
@pytest.mark.parametrize("qos", [1, 2])
async def test_what_came_while_it_was_away(
    connect: Connecting,
    gw1: MqttAddress,
    gw2: MqttAddress,
    topic: str,
    client_id: str,
    version: int,
    qos: int,
) -> None:
    publisher = await connect(gw1)
    async with device(gw2, client_id, version) as here:
        assert not here.session_present
        await here.subscribe(topic)
        await publish_all(publisher, topic, numbered("live", 20), qos)
        assert await here.take(20) == numbered("live", 20)
        await here.leave()
    await publish_all(publisher, topic, numbered("away", 30), qos)
    async with device(gw1, client_id, version) as here:
        assert here.session_present
        assert await here.take(30) == numbered("away", 30)
        await publish_all(publisher, topic, numbered("back", 5), qos)
        assert await here.take(5) == numbered("back", 5)


@pytest.mark.mqtt(v3="3.1.2-6 3.2.2-1 3.2.2-2 3.2.2-3")
async def test_persistent_clean_persistent(  # M28
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, client_id: str
) -> None:
    publisher = await connect(gw1)
    present = []
    async with device(gw1, client_id) as here:
        present.append(here.session_present)
        await here.subscribe(topic, 1)
        await publish_all(publisher, topic, numbered("live", 40))
        await here.take(40)
        await here.leave()
    await publish_all(publisher, topic, numbered("lost", 3))
    async with device(gw2, client_id, clean_start=True) as here:
        present.append(here.session_present)
        await here.leave()
    async with device(gw1, client_id) as here:
        present.append(here.session_present)
        await here.subscribe(topic, 1)
        await here.leave()
    await publish_all(publisher, topic, numbered("kept", 5))
    async with device(gw2, client_id) as here:
        present.append(here.session_present)
        assert await here.take(5) == numbered("kept", 5)
    assert present == [False, False, False, True]


@pytest.mark.mqtt(v3="3.3.1-1 4.4.0-1 4.6.0-1")
async def test_it_vanishes_in_the_middle_of_a_flow(  # M32
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, client_id: str
) -> None:
    publisher = await connect(gw1)
    async with device(gw1, client_id) as here:
        await here.subscribe(topic)
        await publisher.publish(topic, "a", 1)
        await publisher.publish(topic, "b", 2)
        a, b = await here.next(), await here.next()
        await publisher.publish(topic, "c", 2)
        c = await here.next()
        here.raw.send(PubRec(c.packet_id))
        assert await here.next() == PubRel(c.packet_id)
    for address in (gw2, gw1):  # the same answers, wherever it comes back
        async with device(address, client_id) as here:
            packets = [await here.next() for _ in range(3)]
            assert packets[0] == PubRel(c.packet_id)
            assert packets[1:] == [
                Publish(topic, b"a", 1, dup=True, packet_id=a.packet_id),
                Publish(topic, b"b", 2, dup=True, packet_id=b.packet_id),
            ]


@pytest.mark.parametrize("version", [V3_1_1, V5])
@pytest.mark.parametrize(
    ("qos", "wrong"),
    [(2, PubAck), (1, PubRec), (2, PubComp)],
    ids=lambda value: getattr(value, "__name__", value),
)
async def test_the_wrong_acknowledgement_finishes_nothing(
    connect: Connecting,
    gw1: MqttAddress,
    gw2: MqttAddress,
    topic: str,
    client_id: str,
    version: int,
    qos: int,
    wrong: type[PubAck] | type[PubRec] | type[PubComp],
) -> None:
    """Case M33: the connection is closed, with 0x82 in MQTT 5, and the message comes again; the right one ends it."""
    publisher = await connect(gw1)
    async with device(gw1, client_id, version) as here:
        await here.subscribe(topic, qos)
        await publisher.publish(topic, "unfinished", qos)
        sent = await here.next()
        here.raw.send(wrong(sent.packet_id))
        farewell = (await here.raw.until_end()).hex()
        assert re.fullmatch("e0..82.*" if version == V5 else "", farewell)
    again = Publish(topic, b"unfinished", qos, dup=True, packet_id=sent.packet_id)
    async with device(gw2, client_id, version) as here:
        assert await here.next() == again
    async with device(gw2, client_id, version) as here:
        assert await here.take(1) == ["unfinished"]
        await here.leave()
    async with device(gw1, client_id, version) as here:
        await publisher.publish(topic, "next", qos)
        assert await here.take(1) == ["next"]


@pytest.mark.mqtt(v3="4.3.3-2")
async def test_a_publisher_that_vanishes_before_its_pubrec(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, client_id: str
) -> None:  # I5
    watcher = await connect(gw1)
    await watcher.subscribe(topic)
    publish = Publish(topic, b"once", 2, packet_id=7)
    async with device(gw1, client_id) as here:
        here.raw.send(publish)
        assert await here.next() == PubRec(7)
    async with device(gw2, client_id) as here:
        assert here.session_present
        here.raw.send(Publish(topic, b"once", 2, dup=True, packet_id=7))
        assert await here.next() == PubRec(7)
        here.raw.send(PubRel(7))
        assert await here.next() == PubComp(7)
        here.raw.send(Publish(topic, b"twice", 2, packet_id=7))  # the id is free again
        assert await here.next() == PubRec(7)
    assert await watcher.payloads(2) == ["once", "twice"]


@pytest.mark.mqtt(v5="3.1.2-25 3.3.2-5")
async def test_the_large_and_the_expired_hold_back_nobody(  # M21, M36
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, client_id: str
) -> None:
    publisher = await connect(gw1)
    async with device(gw1, client_id, V5) as here:
        await here.subscribe(topic)
        await here.leave()
    await publisher.publish(topic, "x" * 1024)
    await publisher.publish(topic, "late", properties=Properties(message_expiry_interval=0))
    await publisher.publish(topic, "small")
    async with device(gw2, client_id, V5, maximum_packet_size=200) as here:
        assert await here.take(1) == ["small"]


async def test_properties_out_of_the_store(  # M39
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, client_id: str
) -> None:
    said = Properties(
        payload_format_indicator=1,
        content_type="text/plain",
        response_topic="answers",
        correlation_data=b"\0\xff\x10",
        user_properties=(("k", "1"), ("k", "2"), ("a", "")),
    )
    publisher = await connect(gw1)
    async with device(gw1, client_id, V5) as here:
        await here.subscribe(topic)
        await here.leave()
    await publisher.publish(topic, "all of it", properties=said)
    async with device(gw2, client_id, V5) as here:
        assert (await here.next()).properties == said


async def test_qos_0_is_not_kept(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, client_id: str
) -> None:
    publisher = await connect(gw1)
    async with device(gw1, client_id) as here:
        await here.subscribe(topic)
        await publisher.publish(topic, "live", 0)
        assert await here.take(1) == ["live"]
        await here.leave()
    await publisher.publish(topic, "away", 0)
    await publisher.publish(topic, "kept", 1)
    async with device(gw2, client_id) as here:
        assert await here.take(1) == ["kept"]


@pytest.mark.mqtt(v5="4.1.0-2")
async def test_the_session_expires(  # M26
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, client_id: str
) -> None:
    publisher = await connect(gw1)
    async with device(gw1, client_id, V5, session_expiry_interval=2) as here:
        await here.subscribe(topic, 1)
        await here.leave()
    async with device(gw2, client_id, V5, session_expiry_interval=1) as here:
        assert here.session_present
        await here.leave()
    await eventually(lambda: session_value(stack.kafka, client_id) is None, "the session is gone")
    await publisher.publish(topic, "for nobody")
    async with device(gw1, client_id, V5) as here:
        assert not here.session_present
        await here.subscribe(topic, 1)
        await publisher.publish(topic, "again")
        assert await here.take(1) == ["again"]


@pytest.mark.mqtt(v5="4.1.0-2")
async def test_a_session_ends_when_the_client_says_so(
    gw1: MqttAddress, gw2: MqttAddress, client_id: str
) -> None:
    async with device(gw1, client_id, V5) as here:
        here.raw.send("E0 07 00 05 11 00000000")
        await here.raw.until_end()
    async with device(gw2, client_id, V5) as here:
        assert not here.session_present


async def test_receive_maximum_of_the_new_connection(  # M35 (b)
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, client_id: str
) -> None:
    publisher = await connect(gw1)
    async with device(gw1, client_id, V5, receive_maximum=2) as here:
        await here.subscribe(topic, 1)
        await publish_all(publisher, topic, numbered("m", 4))
        first, second = await here.next(), await here.next()
    async with device(gw2, client_id, V5, receive_maximum=1) as here:
        again = await here.next()
        assert (again.packet_id, again.dup) == (first.packet_id, True)
        assert await here.raw.until_pong() == b""
        here.raw.send(PubAck(again.packet_id))
        again = await here.next()
        assert (again.packet_id, again.dup) == (second.packet_id, True)
        here.raw.send(PubAck(again.packet_id))
        third = await here.next()
        assert (third.payload, third.dup) == (b"m 2", False)


def session_value(kafka: str, client_id: str) -> bytes | None:
    """The value of a session's last record; None when it is gone."""
    topic = KafkaTopics().sessions
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "test", "enable.partition.eof": True})
    partitions = len(consumer.list_topics(topic).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, partition_of(client_id.encode(), partitions), 0)])
    found: bytes | None = b"there is no record"
    while (message := consumer.poll(30.0)) is not None:
        if message.error() is not None:
            break
        if message.key() == client_id.encode():
            found = message.value()
    consumer.close()
    return found
