"""P15: the router is away, a pile grows, and it starts with its usual heap, which could not hold the pile."""

from __future__ import annotations

import asyncio

import pytest
from confluent_kafka import Producer

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from contracts.kafka_topics import KafkaTopics
from contracts.publish_record import PublishRecord, encode_headers
from tests.live.conftest import Connecting
from tests.live.peers import Peer

pytestmark = [pytest.mark.live, pytest.mark.timeout(900, func_only=True)]

MESSAGES, BYTES = 400_000, 1_024
"""In the JVM's memory they would take more than the 640 MiB that it has."""
WANTED_EVERY = 200
LIVE = 100
PATIENCE = 300.0


async def test_it_drains(
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    subscriber, publisher = await connect(gw2), await connect(gw1)
    await subscriber.subscribe(f"{topic}/+", qos=1)
    stack.pause("router")
    await asyncio.to_thread(pile_up, stack.kafka, topic)
    restarts = stack.kill("router")
    live = asyncio.create_task(publish_live(publisher, f"{topic}/live"))
    came = await subscriber.take(MESSAGES // WANTED_EVERY + LIVE, PATIENCE)
    await live
    for name, wanted in (("pile", range(0, MESSAGES, WANTED_EVERY)), ("live", range(LIVE))):
        numbers = [int(message.payload.split()[0]) for message in came if message.topic == f"{topic}/{name}"]
        assert numbers == list(wanted)
    await asyncio.to_thread(stack.wait_restarted, "router", restarts, PATIENCE)
    # What comes now is not behind anything, and it has died of nothing.
    await publisher.publish(f"{topic}/live", "end")
    assert await subscriber.payloads(1, PATIENCE) == ["end"]
    assert stack.restarts("router") == restarts + 1


def pile_up(kafka: str, topic: str) -> None:
    """Write the pile into `tbmq.msg.all`, as gateways would; most of it is for nobody."""
    producer = Producer(
        {
            "bootstrap.servers": kafka,
            "partitioner": "murmur2_random",
            "linger.ms": 20,
            "batch.num.messages": 100_000,
        }
    )
    headers = encode_headers(PublishRecord("", b"", "c", "gw1", 1))
    padding = bytes(BYTES)
    for number in range(MESSAGES):
        name = f"{topic}/for/nobody/{number % 50}" if number % WANTED_EVERY else f"{topic}/pile"
        while True:
            try:
                producer.produce(
                    KafkaTopics().publishes, b"%d " % number + padding, name.encode(), headers=list(headers)
                )
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(PATIENCE) == 0


async def publish_live(publisher: Peer, topic: str) -> None:
    """Meanwhile somebody goes on, one message after the other."""
    for number in range(LIVE):
        await publisher.publish(topic, str(number))
