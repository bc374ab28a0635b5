"""APPLICATION clients through the whole broker, from gateway to gateway; the rules of the stack name them `app…`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, TopicPartition

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from contracts.kafka_topics import KafkaTopics
from edge.gateway.kafka_clients import create_topics
from edge.mqtt.packets import PubComp, Publish, PubRec, PubRel
from tests.live.conftest import Connecting
from tests.live.device import V3_1_1, V5, device, numbered, publish_all
from tests.live.peers import Peer
from tests.live.test_shared import LASTING, taken, together
from tests.new_topics import await_leaders

pytestmark = pytest.mark.live


@pytest.fixture(params=["plain", "hashed"])
def client_id(unique: Callable[[str], str], request: pytest.FixtureRequest) -> str:
    """An id that nobody else has, with and without characters that its Kafka topic cannot be named by."""
    name = unique("app")
    return name if request.param == "hashed" else name.replace("-", "x")


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
    await publish_all(publisher, topic, numbered("away", 200), qos)
    async with device(gw1, client_id, version) as here:
        assert here.session_present
        assert await here.take(200) == numbered("away", 200)
        await publish_all(publisher, topic, numbered("back", 5), qos)
        assert await here.take(5) == numbered("back", 5)


async def test_qos_0_comes_directly_and_only_while_it_is_there(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, client_id: str
) -> None:
    publisher = await connect(gw1)
    async with device(gw2, client_id) as here:
        await here.subscribe(topic)
        await publisher.client.publish(topic, b"0", 0)
        assert await here.take(1) == ["0"]
        await here.leave()
    await publisher.client.publish(topic, b"lost", 0)
    await publisher.publish(topic, "kept", 1)
    async with device(gw1, client_id) as here:
        assert await here.take(1) == ["kept"]
        await publisher.client.publish(topic, b"0 again", 0)  # to the gateway where it is now
        assert await here.take(1) == ["0 again"]


async def test_it_vanishes_in_the_middle_of_a_flow(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, client_id: str
) -> None:
    publisher = await connect(gw1)
    async with device(gw1, client_id) as here:
        await here.subscribe(topic)
        await publisher.publish(topic, "a", 1)
        a = await here.next()
        await publisher.publish(topic, "c", 2)
        c = await here.next()
        here.raw.send(PubRec(c.packet_id))
        assert await here.next() == PubRel(c.packet_id)
    for address in (gw2, gw1):  # the same answers, wherever it comes back
        async with device(address, client_id) as here:
            assert await here.next() == PubRel(c.packet_id)
            assert await here.next() == Publish(topic, b"a", 1, dup=True, packet_id=a.packet_id)
    async with device(gw2, client_id) as here:
        assert await here.next() == PubRel(c.packet_id)
        here.raw.send(PubComp(c.packet_id))
        assert await here.take(1) == ["a"]


async def test_a_clean_start_forgets(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, client_id: str
) -> None:
    publisher = await connect(gw1)
    async with device(gw1, client_id) as here:
        await here.subscribe(topic, 1)
        await here.leave()
    await publish_all(publisher, topic, numbered("lost", 3))
    async with device(gw2, client_id, clean_start=True) as here:
        assert not here.session_present
        await here.leave()
    async with device(gw1, client_id) as here:
        await here.subscribe(topic, 1)
        await publish_all(publisher, topic, numbered("kept", 3))
        assert await here.take(3) == numbered("kept", 3)


async def test_one_without_a_session_is_served_directly(
    stack: Stack, connect: Connecting, gw1: MqttAddress, topic: str, client_id: str
) -> None:
    publisher = await connect(gw1)
    here = await connect(gw1, client_id=client_id)
    await here.subscribe(topic)
    await publisher.publish(topic, "direct", 2)
    assert await here.payloads(1) == ["direct"]
    name = KafkaTopics().application(client_id)
    consumer = Consumer({"bootstrap.servers": stack.kafka, "group.id": "unused"})
    try:
        assert name not in consumer.list_topics(timeout=10).topics
    finally:
        consumer.close()


async def test_its_messages_stand_in_its_own_topic(
    stack: Stack, connect: Connecting, gw1: MqttAddress, topic: str, client_id: str
) -> None:
    publisher = await connect(gw1)
    async with device(gw1, client_id) as here:
        await here.subscribe(topic, 1)
        await publisher.publish(topic, "mine", 1)
        assert await here.take(1) == ["mine"]
    consumer = Consumer({"bootstrap.servers": stack.kafka, "group.id": "unused"})
    try:
        consumer.assign([TopicPartition(KafkaTopics().application(client_id), 0, 0)])
        while (message := consumer.poll(30)) is not None and message.value() != b"mine":
            pass
        assert message is not None
    finally:
        consumer.close()


async def test_they_share(
    stack: Stack,
    connect: Connecting,
    gw1: MqttAddress,
    gw2: MqttAddress,
    topic: str,
    unique: Callable[[str], str],
) -> None:
    """Each message to one of them; with none connected it waits, for whoever comes first."""
    first_level = topic.partition("/")[0]
    entity = KafkaTopics().of_application_share(f"{first_level}/+")
    create_topics(stack.kafka, [entity])
    await_leaders(stack.kafka, [entity])
    publisher: Peer = await connect(gw1)
    names = [unique("app") for _ in range(3)]

    async def publish(begin: int, end: int) -> list[str]:
        for number in range(begin, end):
            await publisher.publish(f"{first_level}/{number}", str(number), 1)
        return [str(number) for number in range(begin, end)]

    async def member(at: MqttAddress, client_id: str) -> Peer:
        peer: Peer = await connect(at, client_id=client_id, clean_start=False, properties=LASTING)
        return peer

    members = [await member(at, name) for at, name in zip((gw1, gw1, gw2), names, strict=True)]
    for one in members:
        await one.subscribe(f"$share/workers/{first_level}/+")
    sent = await publish(0, 100)
    got = await taken(members, 100)
    assert together(got) == sent
    for one in members:
        await one.client.disconnect()
    away = await publish(100, 150)
    back = await member(gw2, names[0])
    assert sorted(await back.payloads(50), key=int) == away
    live = await publish(150, 155)
    assert sorted(await back.payloads(5), key=int) == live
