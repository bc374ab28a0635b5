"""A gateway is killed: it comes back on its port, its clients' subscriptions are gone, and nobody else noticed."""

from __future__ import annotations

import asyncio

import pytest
from confluent_kafka import Consumer, TopicPartition

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from contracts.kafka_topics import KafkaTopics, subscription_partition
from contracts.subscription_record import encode_key
from edge.mqtt.packets import Subscription
from edge.mqtt.properties import Properties
from edge.mqtt.reason_codes import ReasonCode
from tests.live.conftest import Connecting
from tests.live.failures.conftest import PARTITIONS
from tests.live.peers import check_all_since, eventually, sibling, within

pytestmark = [pytest.mark.live, pytest.mark.timeout(900, func_only=True)]


async def test_subscriptions_end_with_the_gateway(
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    publisher, bystander = await connect(gw1), await connect(gw1)
    lost = await connect(gw2)
    for peer in (bystander, lost):
        await peer.subscribe(topic, qos=1)
    restarts = stack.kill("gw2")
    await within(lost.client.ended)
    await publisher.publish(topic, "while it is away")
    assert await bystander.payloads() == ["while it is away"]
    await asyncio.to_thread(stack.wait_restarted, "gw2", restarts)
    back = await connect(gw2, client_id=lost.client_id)
    fence = sibling(topic, f"{topic}/fence", PARTITIONS)
    await back.subscribe(fence, qos=1)
    await publisher.publish(topic, "for nobody there")
    await publisher.publish(fence, "fence")
    assert await back.payloads() == ["fence"]
    await back.subscribe(topic, qos=1)
    await publisher.publish(topic, "again")
    assert await back.payloads() == ["again"]
    assert await bystander.payloads(2) == ["for nobody there", "again"]


async def test_its_subscriptions_are_taken_out_of_kafka(
    stack: Stack, connect: Connecting, gw2: MqttAddress, topic: str
) -> None:
    lost = await connect(gw2)
    await lost.subscribe(topic, qos=1)
    key = encode_key(lost.client_id, topic)
    assert last_value(stack.kafka, topic, key)
    restarts = stack.kill("gw2")
    await asyncio.to_thread(stack.wait_restarted, "gw2", restarts)
    await eventually(lambda: last_value(stack.kafka, topic, key) is None, "the tombstone is written")


def last_value(kafka: str, filter: str, key: bytes) -> bytes | None:
    """The value of a subscription's last record; None for a tombstone."""
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "test", "enable.partition.eof": True})
    topic = KafkaTopics().subscriptions
    consumer.assign([TopicPartition(topic, subscription_partition(filter, 2), 0)])
    found: bytes | None = b"there is no record"
    while (message := consumer.poll(30.0)) is not None:  # a tombstone is a message that counts as false
        if message.error() is not None:
            break
        if message.key() == key:
            found = message.value()
    consumer.close()
    return found


async def test_a_subscriber_that_comes_back_in_traffic(
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """From its new SUBACK on it gets everything, in order, once."""
    publisher, first = await connect(gw1), await connect(gw2)
    await first.subscribe(topic, qos=1)
    published = 0
    stopping = asyncio.Event()

    async def publish_until_told() -> None:
        nonlocal published
        while not stopping.is_set():
            await publisher.publish(topic, str(published))
            published += 1

    publishing = asyncio.create_task(publish_until_told())
    assert (await first.payloads(20))[-1] == "19"
    restarts = stack.kill("gw2")
    await within(first.client.ended)
    await asyncio.to_thread(stack.wait_restarted, "gw2", restarts)
    second = await connect(gw2, client_id=first.client_id)
    await second.subscribe(topic, qos=1)
    since = published + 1  # the one that is under way may have been sent before the SUBACK came
    came: list[int] = []
    while not came or came[-1] < since + 200:
        came += map(int, await second.payloads())
    stopping.set()
    await publishing
    await publisher.publish(topic, "end")
    came += map(int, await second.payloads_until("end"))
    check_all_since(came, since, published)


async def test_an_exclusive_filter_is_free_when_its_holder_s_gateway_is_gone(
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """A session that outlives its connection keeps it, wherever its client comes back."""
    lasting = Properties(session_expiry_interval=600)
    clean, kept = await connect(gw2), await connect(gw2, properties=lasting)
    other, free, held = await connect(gw1), f"$exclusive/{topic}/free", f"$exclusive/{topic}/held"
    await clean.subscribe(free, qos=1)
    await kept.subscribe(held, qos=1)
    restarts = stack.kill("gw2")
    while await within(other.client.subscribe(Subscription(free, 1))) != (1,):
        pass
    back = await connect(gw1, client_id=kept.client_id, clean_start=False, properties=lasting)
    assert await within(other.client.subscribe(Subscription(held, 1))) == (ReasonCode.QUOTA_EXCEEDED,)
    await other.publish(f"{topic}/held", "for its holder")
    assert await back.payloads() == ["for its holder"]
    await asyncio.to_thread(stack.wait_restarted, "gw2", restarts)
