"""M20, M22, M23, M24, M39, M48: when a will is published, and what it carries."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import Publish, Will
from edge.mqtt.properties import Properties
from tests.live.conftest import Connecting
from tests.live.peers import V3_1_1, Peer, sibling
from tests.live.raw import Raw, raw_connection

pytestmark = pytest.mark.live

FIN = ""


@asynccontextmanager
async def client_with_will(
    address: MqttAddress, version: int, topic: str, keep_alive: int = 60
) -> AsyncIterator[Raw]:
    """A connection whose will is `gone` on the topic."""
    will = Will(topic, b"gone", qos=1)
    async with raw_connection(address, version, topic, will=will, keep_alive=keep_alive) as raw:
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
    watcher = await connect(gw2)
    fence = sibling(topic, f"{topic}/fence")
    await watcher.subscribe(topic, fence, qos=1)
    async with client_with_will(gw1, version, topic) as raw:
        if farewell == FIN:
            raw.writer.write_eof()
        else:
            raw.send(farewell)
        await raw.until_end()
    publisher = await connect(gw1, client_id=topic)  # is let in behind the will
    await publisher.publish(fence, "fence")
    assert await watcher.payloads(1 + is_published) == ["gone"] * is_published + ["fence"]


async def test_the_will_of_a_client_that_is_replaced(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """M22, on one gateway and over two: each old connection's will, once, before what the new connection publishes."""
    watcher = await connect(gw2)
    await watcher.subscribe(topic, qos=1)
    for number, gateway in enumerate((gw1, gw1, gw2, gw2) * 5):
        will = Will(topic, b"off %d" % number, 1, retain=True)
        peer = await connect(gateway, V3_1_1, client_id=f"{topic}-tv", will=will)
        await peer.publish(topic, f"on {number}", retain=True)
    await peer.client.disconnect()
    expected = [f"{said} {number}" for number in range(20) for said in ("on", "off")][:-1]
    assert await watcher.payloads(len(expected)) == expected
    await watcher.publish(topic, b"", retain=True)


async def test_when_a_delayed_will_goes_out(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """M23, all cases at once, each client coming back on another gateway."""
    loop = asyncio.get_running_loop()
    names = "abcdef"

    async def willing(name: str, expiry: int, delay: int) -> Peer:
        will = Will(f"{topic}/{name}", b"gone", 1, properties=Properties(will_delay_interval=delay))
        properties = Properties(session_expiry_interval=expiry)
        return await connect(
            gw1, client_id=f"{topic}-{name}", clean_start=False, properties=properties, will=will
        )

    async def again(name: str, clean_start: bool = False) -> Peer:
        properties = Properties(session_expiry_interval=60)
        return await connect(gw2, client_id=f"{topic}-{name}", clean_start=clean_start, properties=properties)

    watcher = await connect(gw2)
    await watcher.subscribe(*(f"{topic}/{name}" for name in names), qos=1)
    cases = {"a": (60, 3), "b": (60, 4), "c": (60, 60), "d": (0, 60), "e": (2, 60)}
    peers = {name: await willing(name, *times) for name, times in cases.items()}
    taken_over = await willing("f", 0, 60)
    began_at = loop.time()
    for peer in peers.values():
        peer.client.drop()
    assert (await again("a")).client.connected.result().session_present
    assert not (await again("f")).client.connected.result().session_present
    assert await taken_over.client.ended == 0x8E
    assert not (await again("c", clean_start=True)).client.connected.result().session_present
    at_once = await watcher.take(3)
    assert sorted(message.topic[-1] for message in at_once) == ["c", "d", "f"]
    assert [message.topic[-1] for message in await watcher.take(2)] == ["e", "b"]
    assert loop.time() - began_at > 3.5
    for name in names:  # each behind all of its will's topic
        await watcher.publish(f"{topic}/{name}", "end")
    assert await watcher.payloads(len(names)) == ["end"] * len(names)


async def test_a_delayed_will_carries_its_properties(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """M20 and M39: one that waits at its gateway, and one whose session is ended by another one's owner."""
    said = Properties(
        payload_format_indicator=1,
        message_expiry_interval=600,
        content_type="text/plain",
        response_topic="r",
        correlation_data=b"\0\xff\x10",
        user_properties=(("k", "1"), ("k", "2"), ("a", "")),
    )
    watcher, old = await connect(gw2), await connect(gw2, V3_1_1)
    await watcher.subscribe(topic, qos=2)
    await old.subscribe(topic, qos=2)
    lasting = Properties(session_expiry_interval=60)
    for name, delay, back in (("waits", 1, False), ("ends", 60, True)):
        will = Will(topic, b"gone", 1, properties=replace(said, will_delay_interval=delay))
        dying = await connect(gw1, client_id=f"{topic}-{name}", properties=lasting, will=will)
        dying.client.drop()
        if back:
            await dying.client.ended
            await connect(gw2, client_id=dying.client_id)
        [message] = await watcher.take()
        left = message.properties.message_expiry_interval
        assert left is not None
        assert 590 < left <= 600
        assert message.properties == replace(said, message_expiry_interval=left)
        [plain] = await old.take()
        assert plain == Publish(topic, b"gone", 1, packet_id=plain.packet_id)


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
