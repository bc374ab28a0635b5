"""I11: a route to a gateway that does not exist, and records too large for Kafka, do not stop the router."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from confluent_kafka import Producer

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from contracts.headers import Headers
from contracts.kafka_topics import KafkaTopics
from contracts.publish_record import PublishRecord, RouteHit, encode_headers
from edge.mqtt.packets import Publish
from tests.live.conftest import Connecting

pytestmark = [pytest.mark.live, pytest.mark.timeout(900, func_only=True)]

SECONDS_TO_GET_PAST = 300.0
"""The sink waits 10 s for a missing Kafka topic; then the query is restarted without it."""


def write(kafka: str, topic: str, value: bytes, headers: Headers) -> None:
    """Write into `tbmq.msg.all`; compressed, as only so more gets in than gets out."""
    producer = Producer(
        {
            "bootstrap.servers": kafka,
            "partitioner": "murmur2_random",
            "message.max.bytes": 8 << 20,
            "compression.type": "gzip",
        }
    )
    producer.produce(KafkaTopics().publishes, value, topic.encode(), headers=list(headers))
    assert producer.flush(30.0) == 0


def bogus_route(topic: str) -> tuple[bytes, Headers]:
    """A message with an in-band route to a node that never was."""
    route = RouteHit(topic, "nowhere")
    return b"bogus", encode_headers(PublishRecord(topic, b"bogus", node="gw1", routes=[route]))


def large_payload(_topic: str) -> tuple[bytes, Headers]:
    """A payload of 4 MiB."""
    return bytes(4 << 20), []


def large_headers(_topic: str) -> tuple[bytes, Headers]:
    """A small payload with 4 MiB of headers that a gateway would forward."""
    header: Sequence[tuple[str, bytes]] = [("user-property:large", b"x" * (256 << 10))] * 16
    return b"small", list(header)


@pytest.mark.parametrize("obstacle", [bogus_route, large_payload, large_headers])
async def test_the_router_goes_on(
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, obstacle: object
) -> None:
    assert callable(obstacle)
    subscriber, publisher = await connect(gw2), await connect(gw1)
    await subscriber.subscribe(f"{topic}/#", qos=1)
    topics = [f"{topic}/{number}" for number in range(24)]
    for name in topics:
        await publisher.publish(name, "before")
    before = await subscriber.take(len(topics))
    assert sorted(message.topic for message in before) == sorted(topics)
    restarts = stack.restarts("router")
    for name in topics[:3]:
        write(stack.kafka, name, *obstacle(name))
    for name in topics:
        await publisher.publish(name, "after")
    came: list[Publish] = []
    while sum(message.payload == b"after" for message in came) < len(topics):
        came += await subscriber.take(1, SECONDS_TO_GET_PAST)
    assert sorted(message.topic for message in came if message.payload == b"after") == sorted(topics)
    assert stack.restarts("router") == restarts
