"""Retained messages over two gateways: M13, M15 to M17, M20, M36, M39, P03 and P12, and many of them at once."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from confluent_kafka import Producer

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from contracts import retained_record
from contracts.kafka_topics import KafkaTopics
from contracts.publish_record import PublishRecord
from contracts.retained_record import RetainedRecord
from edge.gateway.kafka_clients import producer_config
from edge.mqtt.packets import Publish, Subscribe, Subscription, Will
from edge.mqtt.properties import NO_PROPERTIES, Properties
from edge.mqtt.protocol import ProtocolVersion
from tests.live.conftest import Connecting
from tests.live.peers import V3_1, V3_1_1, V5, Peer, eventually, sibling, within
from tests.live.raw import raw_connection
from tests.live.test_properties import PROPERTIES

pytestmark = pytest.mark.live

LASTING = Properties(session_expiry_interval=600)


@pytest.fixture
async def publisher(connect: Connecting, gw1: MqttAddress, topic: str) -> AsyncIterator[Peer]:
    """Publishes by the first gateway, and deletes the topic's retained message in the end."""
    peer = await connect(gw1)
    yield peer
    await peer.publish(topic, b"", retain=True)


def seen(messages: list[Publish]) -> list[tuple[str, bool]]:
    return [(message.payload.decode(), message.retain) for message in messages]


async def before_fence(peer: Peer, publisher: Peer, topic: str) -> list[Publish]:
    """What comes before a fence, which is published behind everything on the topic."""
    fence = sibling(topic, f"{topic}-fence")
    await peer.subscribe(fence, qos=1)
    await publisher.publish(fence, "fence")
    came: list[Publish] = []
    while not came or came[-1].topic != fence:
        came += await peer.take()
    await peer.unsubscribe(fence)
    return came[:-1]


async def until(peer: Peer, publisher: Peer, topic: str) -> list[tuple[str, bool]]:
    """The same, as payloads and flags."""
    return seen(await before_fence(peer, publisher, topic))


@pytest.mark.mqtt(
    v3="3.3.1-5 3.3.1-6 3.3.1-8 3.3.1-10 3.3.1-11 3.3.1-12", v5="3.3.1-5 3.3.1-6 3.3.1-7 3.3.1-8 3.3.1-9"
)
@pytest.mark.parametrize("version", [V3_1, V3_1_1, V5])
async def test_the_last_one_of_a_topic_on_any_gateway_until_it_is_deleted(
    connect: Connecting, gw2: MqttAddress, publisher: Peer, topic: str, version: ProtocolVersion
) -> None:
    for qos, payload in enumerate(("first", "second", "third")):
        await publisher.publish(topic, payload, qos, retain=True)
    await publisher.publish(topic, "not retained")
    subscriber = await connect(gw2, version)
    await subscriber.subscribe(topic, qos=1)
    [message] = await subscriber.take()
    assert (message.payload, message.qos, message.retain) == (b"third", 1, True)
    await publisher.publish(topic, b"", retain=True)
    assert seen(await subscriber.take()) == [("", False)]  # routed as any message
    await subscriber.subscribe(f"{topic}/#", qos=1)
    assert await until(subscriber, publisher, topic) == []


@pytest.mark.mqtt(v3="3.1.2-7 3.3.1-7", v5="3.3.1-5")
@pytest.mark.parametrize("version", [V3_1_1, V5])
async def test_one_of_qos_0_replaces_it_and_outlives_its_publishers_session(
    connect: Connecting,
    gw1: MqttAddress,
    gw2: MqttAddress,
    publisher: Peer,
    topic: str,
    version: ProtocolVersion,
) -> None:
    await publisher.publish(topic, "old", 1, retain=True)
    passing = await connect(gw1, version)
    await passing.publish(topic, "new", 0, retain=True)
    await passing.publish(sibling(topic, f"{topic}-fence"), "the one before it is there too", 1)
    await passing.client.disconnect()
    subscriber = await connect(gw2)
    await subscriber.subscribe(topic, qos=1)
    assert seen(await subscriber.take()) == [("new", True)]


@pytest.mark.parametrize("version", [V3_1_1, V5])
async def test_each_filter_of_one_subscribe_counts(
    connect: Connecting, gw2: MqttAddress, publisher: Peer, topic: str, version: ProtocolVersion
) -> None:
    """M13."""
    await publisher.publish(topic, "1", retain=True)
    subscriber = await connect(gw2, version)
    above = topic.rpartition("/")[0]
    await subscriber.subscribe(f"{above}/+", topic, qos=1)
    assert seen(await subscriber.take(2)) == [("1", True)] * 2
    await publisher.publish(topic, "2")
    came = await until(subscriber, publisher, topic)
    assert came in ([("2", False)], [("2", False)] * 2)


async def test_the_subscriptions_identifier(
    connect: Connecting, gw2: MqttAddress, publisher: Peer, topic: str
) -> None:
    """M15."""
    await publisher.publish(topic, "x", retain=True)
    subscriber = await connect(gw2)
    await subscriber.subscribe(topic, qos=1, identifier=268_435_455)
    [message] = await subscriber.take()
    assert message.properties.subscription_identifiers == (268_435_455,)


@pytest.mark.mqtt(v3="3.3.1-8 3.3.1-9", v5="3.3.1-12 3.3.1-13")
@pytest.mark.parametrize("is_kept", [False, True])
async def test_the_flag_for_old_and_new_subscriptions(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, publisher: Peer, topic: str, is_kept: bool
) -> None:
    """M16, also offline and back."""
    properties = LASTING if is_kept else NO_PROPERTIES
    plain, as_published = await connect(gw2, properties=properties), await connect(gw2, properties=properties)
    await plain.subscribe(topic, qos=1)
    await as_published.subscribe(topic, qos=1, retain_as_published=True)
    old = await connect(gw2, V3_1_1)
    await old.subscribe(topic, qos=1)
    if is_kept:
        for peer in (plain, as_published):
            await peer.client.disconnect()
    await publisher.publish(topic, "1", retain=True)
    await publisher.publish(topic, "0")
    if is_kept:
        plain = await connect(gw1, client_id=plain.client_id, clean_start=False, properties=LASTING)
        as_published = await connect(
            gw1, client_id=as_published.client_id, clean_start=False, properties=LASTING
        )
    assert seen(await plain.take(2)) == seen(await old.take(2)) == [("1", False), ("0", False)]
    assert seen(await as_published.take(2)) == [("1", True), ("0", False)]
    late = await connect(gw2, properties=properties)
    await late.subscribe(topic, qos=1)
    assert seen(await late.take()) == [("1", True)]


@pytest.mark.mqtt(v5="3.3.1-9 3.3.1-10 3.3.1-11 3.8.4-4")
async def test_retain_handling(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, publisher: Peer, topic: str
) -> None:
    """M17."""
    await publisher.publish(topic, "x", retain=True)
    peer = await connect(gw2, properties=LASTING)
    for handling, expected in ((0, 2), (1, 1), (2, 0)):
        for _ in range(2):
            await peer.subscribe(topic, qos=1, retain_handling=handling)
        assert await until(peer, publisher, topic) == [("x", True)] * expected
        if handling != 2:
            await peer.unsubscribe(topic)
    await peer.client.disconnect()
    back = await connect(gw1, client_id=peer.client_id, clean_start=False, properties=LASTING)
    await back.subscribe(topic, qos=1, retain_handling=1)
    assert await until(back, publisher, topic) == []
    await back.subscribe(topic, qos=1, retain_handling=0)
    assert await until(back, publisher, topic) == [("x", True)]


@pytest.mark.mqtt(v3="3.8.4-3")
@pytest.mark.parametrize("clean", [True, False])
async def test_subscribing_again_in_traffic_loses_nothing(
    connect: Connecting, gw2: MqttAddress, publisher: Peer, topic: str, clean: bool
) -> None:
    """M17, 3.1.1: what is retained is sent each time, and each live message comes, once and in order."""
    peer = await connect(gw2, V3_1_1, clean_start=clean)
    await peer.subscribe(topic, qos=1)
    for number in range(30):
        await publisher.publish(topic, str(number), retain=True)
        await peer.subscribe(topic, qos=1 + number % 2)
    came = await until(peer, publisher, topic)
    assert [int(payload) for payload, is_copy in came if not is_copy] == list(range(30))
    copies = [int(payload) for payload, is_copy in came if is_copy]
    assert copies == list(range(30))
    if clean:  # a copy never comes before the live message that it is of, nor after a newer one
        places = [int(payload) for payload, _ in came]
        assert places == sorted(places)


async def test_expiry(connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str) -> None:
    """M20: it counts down, and what has expired is gone, in Kafka too."""
    publisher, early, late = await connect(gw1), await connect(gw2), await connect(gw2)
    lives = f"{topic}/lives"
    began_at = time.monotonic()
    await publisher.publish(topic, "x", retain=True, properties=Properties(message_expiry_interval=3))
    await publisher.publish(lives, "y", retain=True, properties=Properties(message_expiry_interval=1_000))
    await early.subscribe(f"{topic}/#", qos=1)
    came = {message.topic: message for message in await before_fence(early, publisher, topic)}
    assert came[lives].properties.message_expiry_interval in range(900, 1_001)
    if time.monotonic() < began_at + 3:  # or this machine has been away
        assert came[topic].properties.message_expiry_interval in (1, 2, 3)
    await asyncio.sleep(
        max(0.0, began_at + 3.1 - time.monotonic())
    )  # the expiry itself is what is waited for
    await late.subscribe(f"{topic}/#", qos=1)
    assert await until(late, publisher, topic) == [("y", True)]
    await publisher.publish(lives, b"", retain=True)


async def test_the_receivers_maximum_packet_size(
    connect: Connecting, gw2: MqttAddress, publisher: Peer, topic: str
) -> None:
    """M36: a packet of exactly the maximum comes, one of a byte more does not, and what follows does."""
    head = 2 + 2 + len(topic) + 2 + 1
    await publisher.publish(topic, bytes(99 - head), retain=True)
    limit = Properties(maximum_packet_size=99)
    fits = await connect(gw2, properties=limit)
    await fits.subscribe(topic, qos=1)
    [message] = await fits.take()
    assert len(message.payload) == 99 - head
    await publisher.publish(topic, bytes(100 - head), retain=True)
    too_large = await connect(gw2, properties=limit)
    await too_large.subscribe(topic, qos=1)
    await publisher.publish(topic, "small", retain=True)
    assert seen(await too_large.take()) == [("small", False)]


async def test_all_properties(connect: Connecting, gw2: MqttAddress, publisher: Peer, topic: str) -> None:
    """M39; and from a will."""
    await publisher.publish(topic, "x", 2, retain=True, properties=PROPERTIES)
    new, old = await connect(gw2), await connect(gw2, V3_1_1)
    for peer in (new, old):
        await peer.subscribe(topic)
    [message] = await new.take()
    assert message == Publish(topic, b"x", 2, retain=True, packet_id=message.packet_id, properties=PROPERTIES)
    assert [message.properties for message in await old.take()] == [NO_PROPERTIES]
    dying = await connect(gw2, will=Will(topic, b"gone", 1, retain=True, properties=PROPERTIES))
    dying.client.drop()
    assert seen(await new.take()) == [("gone", False)]
    late = await connect(gw2)

    async def is_read() -> list[Publish]:
        await late.subscribe(topic, qos=1)
        return await late.take()

    [will] = await is_read()
    while will.payload == b"x":  # the will is retained when it is durable, which nobody is told
        [will] = await is_read()
    assert replace(will, packet_id=0) == Publish(topic, b"gone", 1, retain=True, properties=PROPERTIES)


async def test_no_local(publisher: Peer, topic: str) -> None:
    await publisher.publish(topic, "mine", retain=True)
    await publisher.subscribe(topic, qos=1, no_local=True)
    assert await until(publisher, publisher, topic) == []


@pytest.mark.parametrize("qos", [1, 2])
async def test_what_is_too_large_is_not_retained(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, publisher: Peer, topic: str, qos: int
) -> None:
    """P12."""
    await publisher.publish(topic, "before", qos, retain=True)
    async with raw_connection(gw1, 5) as raw:
        raw.send(Publish(topic, bytes(1_048_577), qos, retain=True, packet_id=1))
        assert (await raw.until_end())[:1] != b"\x40"
    subscriber = await connect(gw2)
    await subscriber.subscribe(topic)
    assert seen(await subscriber.take()) == [("before", True)]


async def test_the_last_value_wins_a_race_of_publish_and_subscribe(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """P03: the last value that a subscriber sees is always the last, wherever its SUBSCRIBE falls."""
    chance = random.Random(3)
    publishers = [await connect(address) for address in (gw1, gw2)]
    subscriber = await connect(gw2)
    topics = [f"{topic}/{number}" for number in range(120)]
    await asyncio.gather(*(publishers[0].publish(one, "off", retain=True) for one in topics))

    async def race(number: int, name: str) -> None:
        on = asyncio.create_task(publishers[number % 2].publish(name, "on", retain=True))
        await asyncio.sleep(chance.random() * 0.02)
        filter = name if number % 3 else f"{name}/#"
        await within(subscriber.client.subscribe(Subscription(filter, 1)))
        await on

    for begin in range(0, len(topics), 10):
        await asyncio.gather(*(race(begin + n, name) for n, name in enumerate(topics[begin : begin + 10])))

    def last() -> dict[str, bytes]:
        return {message.topic: message.payload for message in subscriber.inbox}

    await eventually(lambda: last() == dict.fromkeys(topics, b"on"), "all are on")
    for name in topics:
        payloads = [message.payload for message in subscriber.inbox if message.topic == name]
        assert payloads in ([b"on"], [b"off", b"on"]), payloads
    await asyncio.gather(*(publishers[0].publish(one, b"", retain=True) for one in topics))


async def test_a_counter_never_goes_back_for_who_comes_again_and_again(
    connect: Connecting, gw2: MqttAddress, publisher: Peer, topic: str
) -> None:
    """P03, the counter."""
    stopping = asyncio.Event()
    count = 0

    async def publish_on() -> None:
        nonlocal count
        while not stopping.is_set():
            count += 1
            await publisher.publish(topic, str(count), retain=True)

    await publisher.publish(topic, "0", retain=True)
    publishing = asyncio.create_task(publish_on())
    highest = 0
    for number in range(12):
        acknowledged = count - 1
        peer = await connect(gw2, client_id=f"{publisher.client_id}-comes")
        await peer.subscribe(f"{topic}/#" if number % 2 else topic, qos=number % 3)
        counted = [int(payload) for payload in await peer.payloads(5)]
        assert counted == sorted(set(counted)), counted
        assert counted[0] >= max(acknowledged, 0)
        # What one connection saw last may be a little ahead of what is acknowledged.
        assert counted[0] + 1 >= highest
        highest = counted[-1]
        await peer.client.disconnect()
    stopping.set()
    await publishing


async def test_a_lasting_session_gets_copies_as_any_message(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, publisher: Peer, topic: str
) -> None:
    """A connection that is lost before a copy is acknowledged loses none; an APPLICATION's neither."""
    await publisher.publish(topic, "x", 2, retain=True)
    for client_id in (f"d{publisher.client_id}", f"app{publisher.client_id}"):
        async with raw_connection(gw2, 5, client_id, properties=LASTING) as raw:
            identified = Properties(subscription_identifiers=(77,))
            raw.send(Subscribe(1, (Subscription(topic, 1),), identified))
            while (await raw.packet())[0] >> 4 != 9:
                pass  # a copy may come before its SUBACK
        back = await connect(gw1, client_id=client_id, clean_start=False, properties=LASTING)
        [message] = await back.take()
        assert (message.payload, message.retain, message.qos) == (b"x", True, 1)
        assert message.properties.subscription_identifiers == (77,)


async def test_many_at_once_to_a_client_that_takes_its_time(
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """More than may wait for a client, and it gets them all, at each QoS; meanwhile others are served."""
    count = 12_000
    producer = Producer(producer_config(stack.kafka))
    names = KafkaTopics()
    for number in range(count):
        record = PublishRecord(f"{topic}/{number}", b"%d" % number, qos=2, retain=True)
        headers = retained_record.encode_headers(RetainedRecord(record, 0, 0))
        producer.produce(names.retained, record.payload, record.topic.encode(), headers=headers)  # type: ignore[arg-type]
    assert not producer.flush(60)
    try:
        for qos in range(3):
            peer = await connect(gw2, properties=Properties(receive_maximum=50))
            peer.client.pause_reading()
            subscribing = asyncio.create_task(peer.subscribe(f"{topic}/+", qos=qos))
            other = await connect(gw2)
            await other.subscribe(f"{topic}/none/#", f"{topic}/17", qos=1)
            assert seen(await other.take()) == [("17", True)]
            peer.client.resume_reading()
            await subscribing
            came = await peer.take(count)
            assert {message.qos for message in came} == {qos}
            assert sorted(int(message.payload) for message in came) == list(range(count))
            assert all(message.retain for message in came)
        kept = await connect(gw1, properties=LASTING)
        await kept.subscribe(f"{topic}/+", qos=1)
        assert sorted(int(payload) for payload in await kept.payloads(count)) == list(range(count))
    finally:
        for number in range(count):
            headers = retained_record.encode_headers(
                RetainedRecord(PublishRecord(f"{topic}/{number}", b""), 0, 1)
            )
            producer.produce(names.retained, None, f"{topic}/{number}".encode(), headers=headers)  # type: ignore[arg-type]
        assert not producer.flush(60)
