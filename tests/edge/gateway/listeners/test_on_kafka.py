"""A gateway with both listeners and all that MQTT leaves to its settings, on a real Kafka and without a router."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import (
    Auth,
    ConnAck,
    Connect,
    Disconnect,
    Packet,
    PubAck,
    Publish,
    PubRec,
    SubAck,
    Subscribe,
    Subscription,
    Will,
)
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.writing import write_packet
from tests.edge.mqtt.test_reading import read_all
from tests.live.peers import within
from tests.live.raw import Raw, raw_connection

if TYPE_CHECKING:
    from tests.edge.gateway.conftest import Starting

pytestmark = pytest.mark.live

V5 = ProtocolVersion.V5
TEXT = Properties(payload_format_indicator=1)
SETTINGS: dict[str, Any] = {
    "ws_enabled": True,
    "ws_port": 0,
    "check_payload_format": True,
    "response_information": "answers/${clientid}/",
    "denied_filters": "test/nosubscribe",
}


async def answered(raw: Raw) -> Packet:
    """The next packet."""
    frame = await raw.packet()
    assert frame, "the gateway ended the connection"
    [packet] = read_all([frame], raw.version)
    return packet


async def check_refusals(address: MqttAddress) -> None:
    """CONNACK says why."""
    for connect_packet, reason in (
        (Connect("c", V5, will=Will("w", b"\xff", properties=TEXT)), 0x99),
        (Connect("c", V5, properties=Properties(authentication_method="X", authentication_data=b"1")), 0x8C),
    ):
        async with raw_connection(address) as raw:
            raw.version = V5
            raw.send(connect_packet)
            connack = await answered(raw)
            assert isinstance(connack, ConnAck)
            assert connack.reason_code == reason
            assert await raw.until_end() == b""


async def check_filters(address: MqttAddress) -> None:
    """A denied filter is refused, alone and in a group, and the others of its packet are granted."""
    wanted = tuple(Subscription(name, 1) for name in ("a", "test/nosubscribe", "$share/g/test/nosubscribe"))
    for version, refused in ((5, 0x87), (4, 0x80)):
        async with raw_connection(address, version) as raw:
            raw.send(Subscribe(1, wanted))
            assert await answered(raw) == SubAck(1, (1, refused, refused))


async def check_payloads(address: MqttAddress, expiry: int) -> None:
    """Text that is none is refused at QoS 1 and 2, in a lasting session too; its packet id is free again."""
    properties = Properties(session_expiry_interval=expiry)
    async with raw_connection(address, 5, f"t{expiry}", properties=properties) as raw:
        for _ in range(2):
            raw.send(Publish("t", b"\xff", 1, packet_id=1, properties=TEXT))
            assert await answered(raw) == PubAck(1, 0x99)
            raw.send(Publish("t", b"\xff", 2, packet_id=2, properties=TEXT))
            assert await answered(raw) == PubRec(2, 0x99)
        raw.send(Publish("t", "é".encode(), 1, packet_id=3, properties=TEXT))
        assert await answered(raw) == PubAck(3)


async def check_response_information(address: MqttAddress) -> None:
    """Told to who asks."""
    for asks, told in ((1, "answers/me/"), (0, None)):
        properties = Properties(request_response_information=asks)
        async with raw_connection(address, 5, "me", properties=properties) as raw:
            [connack] = read_all([raw.connack], V5)
            assert isinstance(connack, ConnAck)
            assert connack.properties.response_information == told


async def check_authentication_packets(address: MqttAddress) -> None:
    """AUTH that nothing asked for is a protocol error; it is no packet of 3.1.1."""
    async with raw_connection(address, 5) as raw:
        raw.send(Auth(0x19, Properties(authentication_method="X")))
        [disconnect] = read_all([await raw.until_end()], V5)
        assert isinstance(disconnect, Disconnect)
        assert disconnect.reason_code == 0x82
    async with raw_connection(address, 4) as raw:
        raw.send("F000")
        assert await raw.until_end() == b""


async def test_settings_and_listeners(start: Starting, capsys: pytest.CaptureFixture[str]) -> None:
    gateway, address = await start("gw1", **SETTINGS)
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("LISTENING "))
    where = json.loads(line.removeprefix("LISTENING "))
    assert (where["node"], where["host"], where["port"]) == ("gw1", address.host, address.port)
    assert (where["websocket"]["host"], where["websocket"]["path"]) == ("127.0.0.1", "/mqtt")
    await check_refusals(address)
    await check_filters(address)
    await check_payloads(address, 0)
    await check_payloads(address, 60)
    await check_response_information(address)
    await check_authentication_packets(address)
    url = f"ws://127.0.0.1:{where['websocket']['port']}/mqtt"
    async with (
        raw_connection(address, 5) as on_tcp,
        connect(url, subprotocols=[Subprotocol("mqtt")]) as client,
    ):
        await client.send(write_packet(Connect("over-websocket", V5), V5))
        assert await within(client.recv())
        await gateway.sessions.close(60)  # as when the gateway stops
        shutting_down = bytes.fromhex("E0018B")
        assert await within(client.recv()) == await on_tcp.until_end() == shutting_down
        with pytest.raises(ConnectionClosed):
            await within(client.recv())
