"""M09 and P12: what is too large is refused, never acknowledged and dropped; what is just not too large arrives."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest

from admin.demo.client import ConnectionLostError
from admin.stack import gateway
from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress, gateway_part
from admin.stack.ports import LOOPBACK, free_ports
from admin.stack.supervisor import Supervisor
from edge.mqtt.packets import Publish, Subscribe, Subscription
from edge.mqtt.protocol import ProtocolVersion
from tests.live.conftest import Connecting
from tests.live.peers import V3_1_1, V5, within
from tests.live.raw import raw_connection

pytestmark = pytest.mark.live

LIMIT = 65_536
"""Of a gateway that is not told otherwise."""


@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("version", [V5, V3_1_1])
@pytest.mark.parametrize("length", [LIMIT, 1_048_000, 1_048_577, 3 << 20])
async def test_beyond_the_limit(
    connect: Connecting,
    gw1: MqttAddress,
    gw2: MqttAddress,
    topic: str,
    version: ProtocolVersion,
    length: int,
    qos: int,
) -> None:
    """P12: DISCONNECT 0x95 in MQTT 5, a close in 3.1.1; the small one behind it gets through on a new connection."""
    subscriber = await connect(gw2)
    await subscriber.subscribe(topic)
    async with raw_connection(gw1, version) as raw:
        raw.send(Publish(topic, bytes(length), qos, packet_id=1))
        came = await raw.until_end()
    # A close with bytes unread may cost the client the farewell, but an acknowledgement it must not have been sent.
    assert came == b"" or (version is V5 and came[0] == 0xE0 and came[2] == 0x95)
    publisher = await connect(gw1)
    await publisher.publish(topic, "small", qos)
    assert await subscriber.payloads() == ["small"]


@pytest.mark.parametrize("version", [V5, V3_1_1])
async def test_exactly_the_limit(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, version: ProtocolVersion
) -> None:
    head = 1 + 3 + 2 + len(topic) + 2 + (version is V5)
    subscriber, publisher = await connect(gw2, version), await connect(gw1, version)
    await subscriber.subscribe(topic)
    await publisher.publish(topic, bytes(LIMIT - head), 2)
    assert len((await subscriber.take())[0].payload) == LIMIT - head


@pytest.mark.parametrize("letter", ["x", "€"])
async def test_long_topics(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, letter: str
) -> None:
    """M09 (a), (b): the limit is in bytes; what fits a packet arrives, the longest topic there can be does not."""
    name = topic + letter * ((LIMIT - 100) // len(letter.encode()))
    subscriber, publisher = await connect(gw2), await connect(gw1)
    await subscriber.subscribe(name, qos=1)
    await publisher.publish(name, "x")
    assert [message.topic for message in await subscriber.take()] == [name]
    with pytest.raises(ConnectionLostError):
        await publisher.publish("x" * 65_535, "x")
    async with raw_connection(gw1, 5) as raw:
        raw.send(Publish("x" * 65_535, b"x", 1, packet_id=1))
        assert (await raw.until_end())[2:3] in (b"", b"\x95")
    async with raw_connection(gw1, 5) as raw:
        raw.send(Subscribe(1, (Subscription("x" * 65_535, 1),)))
        assert (await raw.until_end())[2:3] in (b"", b"\x95")


async def test_deep_topics(connect: Connecting, gw1: MqttAddress, gw2: MqttAddress) -> None:
    """M09 (c): a topic of 60,000 empty levels, `#`, and a filter of 2,000 levels; others are served meanwhile."""
    everything, deep, publisher, other = [await connect(gw) for gw in (gw2, gw2, gw1, gw1)]
    await everything.subscribe("#", qos=1)
    await deep.subscribe("/".join("+" * 2_000), qos=1)
    await publisher.publish("/" * 60_000, "60,001 levels")
    await publisher.publish("/" * 1_999, "2,000 levels")
    await within(other.client.ping(), 5.0)
    assert await deep.payloads() == ["2,000 levels"]
    topics: list[str] = []
    while not {"/" * 60_000, "/" * 1_999} <= set(topics):  # others publish meanwhile
        topics += [message.topic for message in await everything.take()]
    for peer in (everything, deep):
        peer.client.drop()


@pytest.fixture(scope="module")
def large_gateway(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MqttAddress]:
    """A third gateway, which takes packets of 1 MiB."""
    [port] = free_ports(1)
    address = MqttAddress(f"large-{os.getpid()}", LOOPBACK, port)
    part = gateway_part(address, stack.kafka)
    environment = {**part.environment, "NETTY_MAX_PAYLOAD_SIZE": str(1 << 20)}
    with Supervisor(tmp_path_factory.mktemp("large")) as supervisor:
        supervisor.start(replace(part, environment=environment))
        supervisor.wait_for(address.node, gateway.LISTENING, gateway.SECONDS_TO_START)
        yield address


async def test_the_largest_that_a_gateway_can_be_told_to_take(
    connect: Connecting, large_gateway: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """P12: a mebibyte goes through Kafka, the router and Kafka, whatever the envelope adds."""
    subscriber, publisher = await connect(gw2), await connect(large_gateway)
    same = await connect(large_gateway)
    for peer in (subscriber, same):
        await peer.subscribe(f"{topic}/#")
    payload = bytes((1 << 20) - 100)
    for qos in (0, 1, 2):
        await publisher.publish(topic, payload, qos)
    await publisher.publish(topic, "small")
    for peer in (subscriber, same):
        assert [len(message.payload) for message in await peer.take(4)] == [len(payload)] * 3 + [5]
    for peer in (publisher, same):
        peer.client.drop()


@pytest.mark.parametrize("name", ["x" * 65_535, "\u20ac" * 21_845, "/" * 65_535], ids=lambda name: name[0])
async def test_the_longest_topics_there_are(
    connect: Connecting, large_gateway: MqttAddress, gw2: MqttAddress, name: str
) -> None:
    """Case M09: 65,535 bytes, as a topic and as a filter, go all the way; others are served meanwhile."""
    publisher, exact, everything = [await connect(large_gateway) for _ in range(3)]
    other = await connect(gw2)
    await exact.subscribe(name, qos=1)
    await everything.subscribe("#", qos=1)
    await publisher.publish(name, "x")
    await within(other.client.ping(), 5.0)
    assert [message.topic for message in await exact.take()] == [name]
    while (await everything.take())[0].topic != name:  # others publish meanwhile
        pass
    for peer in (publisher, exact, everything):
        peer.client.drop()
