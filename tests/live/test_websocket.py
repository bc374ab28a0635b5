"""MQTT over WebSocket: foreign clients as they are, and what holds for TCP clients (M46 and section 6)."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import paho.mqtt.client as paho
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import Connect, Publish, Subscribe, Subscription, Will
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.writing import write_packet
from tests.live.conftest import Connecting
from tests.live.peers import within
from tests.live.test_foreign_clients import PahoClient

pytestmark = pytest.mark.live

V5 = ProtocolVersion.V5
PINGREQ, PINGRESP = bytes.fromhex("C000"), bytes.fromhex("D000")


def url(address: MqttAddress) -> str:
    """Where a gateway takes WebSocket clients."""
    return f"ws://{address.host}:{address.websocket_port}/mqtt"


@asynccontextmanager
async def websocket(address: MqttAddress, *offers: str) -> AsyncIterator[ClientConnection]:
    """A WebSocket that offers sub-protocols."""
    names = [Subprotocol(offer) for offer in offers] or None
    async with connect(
        url(address), subprotocols=names, compression=None, max_size=None, close_timeout=1, proxy=None
    ) as client:
        yield client


async def close_code(client: ClientConnection) -> int:
    """Take what comes until the gateway closes it, and tell how it did."""
    try:
        while True:
            await within(client.recv())
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else 0


@pytest.mark.parametrize("version", [paho.MQTTv31, paho.MQTTv311, paho.MQTTv5])
def test_paho(
    gw1: MqttAddress, gw2: MqttAddress, topic: str, unique: Callable[[str], str], version: int
) -> None:
    """All QoS, from TCP to WebSocket and back, small and large."""
    on_tcp = PahoClient(gw1, version, unique("paho"))
    on_websocket = PahoClient(gw2, version, unique("paho"), transport="websockets")
    for client in on_tcp, on_websocket:
        client.client.subscribe(f"{topic}/#", 2)
        client.wait_for("subscribed")
    for publisher in on_tcp, on_websocket:
        for qos, size in ((0, 10), (1, 60_000), (2, 200)):
            payload = bytes(size)
            publisher.client.publish(f"{topic}/{qos}", payload, qos).wait_for_publish(60)
            for client in on_tcp, on_websocket:
                message = client.take()
                assert (message.topic, message.payload, message.qos) == (f"{topic}/{qos}", payload, qos)
    for client in on_tcp, on_websocket:
        client.close()


@pytest.mark.parametrize(
    ("offers", "chosen"),
    [
        (["mqtt"], "mqtt"),
        (["mqttv3.1", "mqtt"], "mqtt"),
        (["mqttv3.1"], "mqttv3.1"),
        ([], None),
        (["chat"], None),
    ],
)
async def test_negotiation(gw1: MqttAddress, offers: list[str], chosen: str | None) -> None:
    """M46: `mqtt` wherever it is offered, and never a name that was not."""
    if chosen is None:
        with pytest.raises(InvalidStatus) as refused:
            async with websocket(gw1, *offers):
                pass
        assert refused.value.response.status_code == 400
        assert "Sec-WebSocket-Protocol" not in refused.value.response.headers
        return
    async with websocket(gw1, *offers) as client:
        assert client.subprotocol == chosen
        level = ProtocolVersion.V3_1_1
        await client.send(write_packet(Connect("", level), level))
        assert await within(client.recv()) == bytes.fromhex("20020000")


async def test_frames(gw1: MqttAddress, gw2: MqttAddress, topic: str, connect: Connecting) -> None:
    """Packets span frames and share them, pings are answered; a text frame ends it, and the will goes out."""
    witness = await connect(gw2)
    await witness.subscribe(f"{topic}/#")
    packet = Connect("", V5, will=Will(f"{topic}/will", b"gone"))
    sent = write_packet(packet, V5) + write_packet(Publish(f"{topic}/1", b"one"), V5) + PINGREQ
    async with websocket(gw1, "mqtt") as client:
        for at in range(0, len(sent), 5):
            await client.send(sent[at : at + 5])
        came = b""
        while not came.endswith(PINGRESP):
            message = await within(client.recv())
            assert isinstance(message, bytes)
            came += message
        assert await within(await client.ping()) >= 0
        await client.send(write_packet(Publish(f"{topic}/2", b"two"), V5) + PINGREQ * 2)
        await within(client.recv())
        await client.send("text")
        assert await close_code(client) == 1003
    assert sorted(await witness.payloads(3)) == ["gone", "one", "two"]


async def test_a_slow_client_costs_bounded_memory(
    gw1: MqttAddress, gw2: MqttAddress, topic: str, connect: Connecting, stack_rss: Callable[[str], int]
) -> None:
    """Who does not read misses QoS 0 messages; others miss nothing, and pings and junk beside it cost nothing."""
    healthy, publisher = await connect(gw2), await connect(gw1)
    await healthy.subscribe(topic)
    async with websocket(gw2, "mqtt") as slow:
        slow.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 << 10)
        await slow.send(write_packet(Connect("", V5, keep_alive=600), V5))
        await within(slow.recv())
        await slow.send(write_packet(Subscribe(1, (Subscription(topic, 0),)), V5))
        await within(slow.recv())
        slow.transport.pause_reading()
        before = stack_rss("gw2")
        for _ in range(10):
            await within(
                asyncio.gather(*(publisher.client.publish(topic, bytes(30_000), 1) for _ in range(100)))
            )
            await healthy.take(100)
        assert stack_rss("gw2") - before < 48 << 20
        slow.transport.resume_reading()
        await slow.send(PINGREQ)
        delivered, came = 0, b""
        while not came.endswith(PINGRESP):
            message = await within(slow.recv())
            assert isinstance(message, bytes)
            came = message[-2:]
            delivered += len(message)
        assert delivered < 1_000 * 30_000


async def test_junk_and_silence_are_ended(gw1: MqttAddress) -> None:
    """Half a request, and a handshake without a CONNECT, end with the connect timeout; what is no HTTP, at once."""

    async def until_end(sent: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(gw1.host, gw1.websocket_port)
        writer.write(sent)
        try:
            return await within(reader.read())
        finally:
            writer.close()

    async def no_connect() -> int:
        async with websocket(gw1, "mqtt") as client:
            return await close_code(client)

    junk, half, silent, code = await asyncio.gather(
        until_end(b"junk\r\n\r\n"), until_end(b"GET /mqtt HTTP/1.1\r\n"), until_end(b""), no_connect()
    )
    assert junk == half == silent == b""
    assert code == 1000
