"""M24 and M48: when a will is published. Sessions end with their connection, so wills go out at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import Publish, Will
from edge.mqtt.properties import Properties
from tests.live.conftest import Connecting
from tests.live.peers import Peer, sibling
from tests.live.raw import Raw, raw_connection

pytestmark = pytest.mark.live

FIN = ""


@asynccontextmanager
async def client_with_will(
    address: MqttAddress, version: int, topic: str, keep_alive: int = 60
) -> AsyncIterator[Raw]:
    """A connection whose will is `gone` on the topic."""
    will = Will(topic, b"gone", qos=1)
    async with raw_connection(address, version, will=will, keep_alive=keep_alive) as raw:
        yield raw


@pytest.mark.mqtt(v3="3.1.2-8 3.1.2-10 3.14.1-1 3.14.4-3", v5="3.1.2-7 3.1.2-8 3.1.2-10 3.14.4-3")
@pytest.mark.parametrize(
    ("version", "farewell", "is_published"),
    [
        (5, "E0020400", True),  # Disconnect with Will Message
        (5, "E002FF00", True),  # a reason code that there is not: malformed
        (5, "E000", False),  # [MQTT-3.14.4-3]
        (5, "E00100", False),  # the same, spelled out
        (5, FIN, True),
        (4, "E000", False),
        (4, "E100", True),  # wrong flags: malformed [MQTT-3.14.1-1]
        (4, FIN, True),
    ],
)
async def test_how_a_client_leaves(
    connect: Connecting,
    gw1: MqttAddress,
    gw2: MqttAddress,
    topic: str,
    version: int,
    farewell: str,
    is_published: bool,
) -> None:
    watcher, publisher = await connect(gw2), await connect(gw1)
    fence = sibling(topic, f"{topic}/fence")
    await watcher.subscribe(topic, fence, qos=1)
    async with client_with_will(gw1, version, topic) as raw:
        if farewell == FIN:
            raw.writer.write_eof()
        else:
            raw.send(farewell)
        await raw.until_end()
        # By the time the gateway has closed the connection, the will is on its way, ahead of what is published now.
        await publisher.publish(fence, "fence")
    assert await watcher.payloads(1 + is_published) == ["gone"] * is_published + ["fence"]


async def test_the_will_of_a_client_that_is_replaced(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """M22 on one gateway: the old connection's will, once, and before what the new connection publishes."""
    watcher = await connect(gw2)
    await watcher.subscribe(topic, qos=1)
    old = await connect(gw1, will=Will(topic, b"off", qos=1))
    new = await connect(gw1, client_id=old.client_id, will=Will(topic, b"off again", qos=1))
    await new.publish(topic, "on")
    assert await old.client.ended == 0x8E
    assert await watcher.payloads(2) == ["off", "on"]


@pytest.mark.mqtt(v5="3.1.3-10")
async def test_a_will_carries_its_properties_and_flags(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    watcher = await connect(gw2)
    await watcher.subscribe(topic, qos=2, retain_as_published=True)
    said = Properties(content_type="text/plain", user_properties=(("k", "1"), ("k", "2")))
    dying = await connect(gw1, will=Will(topic, b"gone", 2, retain=True, properties=said))
    dying.client.drop()
    [message] = await watcher.take()
    assert message == Publish(topic, b"gone", 2, retain=True, packet_id=message.packet_id, properties=said)
    await watcher.publish(topic, b"", retain=True)


async def read_until_end(raw: Raw) -> float:
    """Seconds until the gateway ends the connection."""
    loop = asyncio.get_running_loop()
    began_at = loop.time()
    await raw.until_end()
    return loop.time() - began_at


@pytest.mark.mqtt(v3="3.1.2-24", v5="3.1.2-22")
async def test_keep_alive_counts_packets_from_the_client(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """M48 (a) to (c) at once, with a keep alive of one second; a closed one's will is published."""
    watcher = await connect(gw2)
    names = {name: f"{topic}/{name}" for name in ("sends", "receives", "half")}
    await watcher.subscribe(*names.values(), qos=1)
    async with (
        client_with_will(gw1, 5, names["sends"], 1) as sends,
        client_with_will(gw1, 5, names["receives"], 1) as receives,
        client_with_will(gw1, 4, names["half"], 1) as half,
    ):
        receives.send("82090001000003 6B2F61 00")  # it subscribes to k/a
        feeder = await connect(gw1)
        ends = [asyncio.create_task(read_until_end(raw)) for raw in (receives, half)]
        sending = asyncio.create_task(send_now_and_then(sends, feeder))
        half_sent = asyncio.get_running_loop().call_later(1.2, half.send, "30")
        assert [1.3 < await end < 10.0 for end in ends] == [True, True]
        assert sorted(message.topic for message in await watcher.take(2)) == [
            names["half"],
            names["receives"],
        ]
        await sending
        assert await sends.until_pong() == b""  # it stays
        half_sent.cancel()


async def send_now_and_then(raw: Raw, feeder: Peer) -> None:
    """Five seconds of a QoS 0 publish each half second; the same goes to who only receives."""
    for _ in range(10):
        raw.send("30060003 6B2F62 00")
        feeder.client.publish("k/a", b"", 0)
        await asyncio.sleep(0.5)


async def test_no_keep_alive_is_no_deadline(gw1: MqttAddress, topic: str) -> None:
    """M48 (d), as far as patience goes: MQTT 3.1.1 with 0 outlives one with 1."""
    async with (
        client_with_will(gw1, 4, f"{topic}/1", 1) as short,
        client_with_will(gw1, 4, f"{topic}/0", 0) as endless,
    ):
        await short.until_end()
        assert await endless.until_pong() == b""
