"""Applications while their gateway dies in the middle of a flow (I5), and while they come and go (I11)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from confluent_kafka.admin import AdminClient

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from contracts.kafka_topics import KafkaTopics
from edge.mqtt.packets import PubAck, PubComp, Publish, PubRec, PubRel
from tests.edge.mqtt.test_reading import read_all
from tests.live.conftest import Connecting
from tests.live.device import device, numbered, publish_all
from tests.live.peers import eventually

pytestmark = [pytest.mark.live, pytest.mark.timeout(600, func_only=True)]


async def test_its_gateway_is_killed_after_pubrec(
    stack: Stack,
    connect: Connecting,
    gw1: MqttAddress,
    gw2: MqttAddress,
    topic: str,
    unique: Callable[[str], str],
) -> None:
    publisher = await connect(gw1)
    client_id = unique("app")
    async with device(gw2, client_id) as here:
        await here.subscribe(topic, 2)
        await publish_all(publisher, topic, ["a", "b"], 2)
        a, b = await here.next(), await here.next()
        here.raw.send(PubRec(a.packet_id))
        assert await here.next() == PubRel(a.packet_id)  # so that it was received outlives the gateway
        restarts = stack.kill("gw2")
    async with device(gw1, client_id) as here:
        assert await here.next() == PubRel(a.packet_id)
        assert await here.next() == Publish(topic, b"b", 2, dup=True, packet_id=b.packet_id)
        here.raw.send(PubComp(a.packet_id))
        here.raw.send(PubRec(b.packet_id))
        assert await here.next() == PubRel(b.packet_id)
        here.raw.send(PubComp(b.packet_id))
        await publisher.publish(topic, "c", 2)
        assert await here.take(1) == ["c"]
    await asyncio.to_thread(stack.wait_restarted, "gw2", restarts)


async def test_one_is_gone_for_good_and_the_others_hear_all(
    stack: Stack,
    connect: Connecting,
    gw1: MqttAddress,
    gw2: MqttAddress,
    topic: str,
    unique: Callable[[str], str],
) -> None:
    publisher, other = await connect(gw1), await connect(gw2)
    await other.subscribe(topic, qos=1)
    client_id = unique("app")
    async with device(gw2, client_id) as here:
        await here.subscribe(topic, 1)
        await publish_all(publisher, topic, numbered("with", 5))
        assert await here.take(5) == numbered("with", 5)
        await here.leave()
    restarts = stack.restarts("router")
    async with device(gw1, client_id, clean_start=True, version=5, session_expiry_interval=0):
        pass
    name, admin = KafkaTopics().application(client_id), AdminClient({"bootstrap.servers": stack.kafka})
    await eventually(lambda: name not in admin.list_topics(timeout=10).topics, f"{name} is removed")
    # The router's table may name the topic still: it finds out that it is missing, and goes on.
    await publish_all(publisher, topic, numbered("without", 20))
    wanted = numbered("with", 5) + numbered("without", 20)
    assert await other.payloads(len(wanted), 180.0) == wanted
    assert stack.restarts("router") == restarts
    async with device(gw2, client_id) as here:  # It comes back, and misses nothing from then on.
        await here.subscribe(topic, 1)
        await publish_all(publisher, topic, numbered("again", 20))
        # The router's next generation brings it, which a busy machine takes some time to start.
        [first] = read_all([await here.raw.packet(180.0)], here.raw.version)
        assert isinstance(first, Publish)
        here.raw.send(PubAck(first.packet_id))
        assert [first.payload.decode(), *await here.take(19)] == numbered("again", 20)
