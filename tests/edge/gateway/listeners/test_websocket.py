"""The WebSocket transport under real shells, over loopback sockets, against the library's client and bare bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.typing import Subprotocol

from edge.mqtt.limits import ServerLimits
from edge.mqtt.packets import Connect, Disconnect, Publish, Will
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.writing import write_packet
from tests.edge.gateway.listeners.doorman import (
    MESSAGE_BYTES,
    UNSENT_BYTES,
    Doorman,
    make_slow,
    open_door,
    unsent,
    within,
)

V5 = ProtocolVersion.V5
PINGREQ, PINGRESP = bytes.fromhex("C000"), bytes.fromhex("D000")
CONNECT = write_packet(Connect("c", V5, will=Will("w", b"bye")), V5)


@pytest.fixture
async def doorman() -> AsyncIterator[Doorman]:
    """One with small limits."""
    async with open_door(ServerLimits(maximum_packet_size=2_048), websocket=True) as doorman:
        yield doorman


@asynccontextmanager
async def websocket(doorman: Doorman, *, is_in: bool = True) -> AsyncIterator[ClientConnection]:
    """A WebSocket client; let in by MQTT or not."""
    url = f"ws://127.0.0.1:{doorman.port}/mqtt"
    async with connect(
        url, subprotocols=[Subprotocol("mqtt")], compression=None, ping_interval=None, max_size=None,
        close_timeout=1, proxy=None,
    ) as client:  # fmt: skip
        if is_in:
            await client.send(CONNECT)
            connack = await within(client.recv())
            assert connack[:1] == b"\x20", connack
        yield client


def request(
    path: str = "/mqtt", method: str = "GET", http: str = "1.1", offers: str | None = "mqtt", **headers: str
) -> bytes:
    """An upgrade request."""
    lines = [f"{method} {path} HTTP/{http}"]
    fields = {
        "Host": "h",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Version": "13",
    }
    if offers is not None:
        fields["Sec-WebSocket-Protocol"] = offers
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines += [f"{name}: {value}" for name, value in fields.items() if value]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def answer(doorman: Doorman, sent: bytes) -> bytes:
    """What is answered to bytes: the head of a 101, or all until the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", doorman.port)
    try:
        writer.write(sent)
        came = b""
        while chunk := await within(reader.read(4_096)):
            came += chunk
            if came.startswith(b"HTTP/1.1 101") and came.endswith(b"\r\n\r\n"):
                break
        return came
    finally:
        writer.close()


def sub_protocol(response: bytes) -> str | None:
    """The one that a response names."""
    for line in response.decode().split("\r\n"):
        name, _, value = line.partition(": ")
        if name.lower() == "sec-websocket-protocol":
            return value
    return None


@pytest.mark.mqtt(v3="6.0.0-3 6.0.0-4", v5="6.0.0-3 6.0.0-4")
@pytest.mark.parametrize(
    ("offers", "status", "chosen"),
    [
        ("mqtt", 101, "mqtt"),
        ("mqttv3.1, mqtt", 101, "mqtt"),
        ("mqttv3.1", 101, "mqttv3.1"),
        (None, 400, None),
        ("chat", 400, None),
        ("MQTT", 400, None),
    ],
)
async def test_negotiation(doorman: Doorman, offers: str | None, status: int, chosen: str | None) -> None:
    """M46: [MQTT-6.0.0-3], [MQTT-6.0.0-4]; nothing is answered that was not offered."""
    response = await answer(doorman, request(offers=offers))
    assert response.startswith(b"HTTP/1.1 %d " % status)
    assert sub_protocol(response) == chosen


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (request("/"), 404),
        (request("/mqtt/more"), 404),
        (request(method="POST"), None),
        (request(http="1.0"), None),
        (request(Content_Length="3"), None),
        (request(Upgrade=""), 426),
        (request(Connection="é"), 400),
        (request(Sec_WebSocket_Key="x"), 400),
        (request(Sec_WebSocket_Version="8"), 400),
        (request(Sec_WebSocket_Protocol="mq tt;,,"), 400),
        (b"\x10\x0e\x00\x04MQTT\n\n", None),
        (b"GET /mqtt HTTP/1.1\r\n" + b"\xff\x00: \x01\r\n" * 3, None),
        (b"a" * 9_000, None),
        (b"GET /mqtt HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"y" * 1_000) for n in range(20)), 431),
        (request() + b"\x82\x80\0\0\0\0", 400),  # a frame before the answer
        (request() + b"\xff\xff", None),
    ],
)
async def test_junk_requests_are_refused(doorman: Doorman, sent: bytes, status: int | None) -> None:
    response = await answer(doorman, sent)
    assert response.startswith(b"HTTP/1.1 %d " % status if status else b""), response
    assert bool(response) == bool(status)
    end = await within(doorman.ends.get())
    assert not end.will_wanted
    assert not doorman.inside


async def test_a_query_behind_the_path_is_no_matter(doorman: Doorman) -> None:
    assert (await answer(doorman, request("/mqtt?token=1"))).startswith(b"HTTP/1.1 101 ")


@pytest.mark.mqtt(v3="6.0.0-2", v5="6.0.0-2")
@pytest.mark.parametrize("piece", [1, 2, 7, 1_000])
async def test_packets_span_frames_and_share_them(doorman: Doorman, piece: int) -> None:
    """[MQTT-6.0.0-2]: messages of any length, whole or in fragments."""
    sent = CONNECT + PINGREQ * 3
    pieces = [sent[at : at + piece] for at in range(0, len(sent), piece)]
    for in_fragments in (False, True):
        async with websocket(doorman, is_in=False) as client:
            if in_fragments:
                await client.send(pieces)
            else:
                for each in pieces:
                    await client.send(each)
            came = b""
            while came.count(PINGRESP) < 3:
                message = await within(client.recv())
                assert isinstance(message, bytes)  # [MQTT-6.0.0-1]
                came += message
            assert came[:1] == b"\x20"


async def closed(client: ClientConnection) -> tuple[bytes, int]:
    """All that comes until it is closed, and the close code."""
    came = b""
    try:
        while True:
            message = await within(client.recv())
            assert isinstance(message, bytes)
            came += message
    except ConnectionClosed as error:
        return came, error.rcvd.code if error.rcvd else 0


@pytest.mark.mqtt(v3="6.0.0-1", v5="6.0.0-1")
async def test_a_text_frame_ends_it(doorman: Doorman) -> None:
    """[MQTT-6.0.0-1]: what came before it counts, the will goes out, and what stands behind it is nothing."""
    async with websocket(doorman) as client:
        await client.send(PINGREQ)
        await client.send("text")
        assert (await closed(client))[1] == 1003
    assert (await within(doorman.ends.get())).will_wanted


async def test_a_close_frame_is_answered_and_the_will_goes_out(doorman: Doorman) -> None:
    async with websocket(doorman) as client:
        await within(client.close(1001, "leaving"))
        assert client.close_code == 1001
    assert (await within(doorman.ends.get())).will_wanted


async def test_disconnect_closes_it_in_order(doorman: Doorman) -> None:
    async with websocket(doorman) as client:
        await client.send(write_packet(Disconnect(), V5))
        assert await closed(client) == (b"", 1000)
    assert not (await within(doorman.ends.get())).will_wanted


async def test_a_dropped_socket_sends_the_will(doorman: Doorman) -> None:
    async with websocket(doorman) as client:
        client.transport.abort()
        assert (await within(doorman.ends.get())).will_wanted


async def test_a_large_packet_is_told_in_mqtt_and_a_large_message_in_websocket(doorman: Doorman) -> None:
    async with websocket(doorman) as client:
        await client.send(b"\x30\xff\x7f" + bytes(3_000))
        came, code = await closed(client)
        assert (came[0], came[2], code) == (0xE0, 0x95, 1000)
    pings = PINGREQ * (MESSAGE_BYTES // 2)
    for too_large in (pings + PINGREQ, [pings, PINGREQ]):
        async with websocket(doorman) as client:
            await client.send(too_large)
            assert (await closed(client))[1] == 1009


async def test_pings_are_answered_also_amid_a_message(doorman: Doorman) -> None:
    async with websocket(doorman) as client:

        async def fragments() -> AsyncIterator[bytes]:
            yield PINGREQ[:1]
            await within(await client.ping(b"hello"))
            yield PINGREQ[1:]

        await client.send(fragments())
        assert await within(client.recv()) == PINGRESP


async def test_who_says_nothing_is_closed() -> None:
    """The connect timeout counts from the socket's opening: in silence, amid a request, and after the handshake."""
    async with open_door(ServerLimits(connect_timeout=0.3), websocket=True) as brief:
        silent, half = await within(
            asyncio.gather(answer(brief, b""), answer(brief, b"GET /mqtt HTTP/1.1\r\nHost: h\r\n"))
        )
        assert silent == half == b""
        async with websocket(brief, is_in=False) as client:
            assert await closed(client) == (b"", 1000)
        for _ in range(3):
            await within(brief.ends.get())


async def test_who_does_not_read_is_slow_until_it_reads(doorman: Doorman) -> None:
    """Its connection knows; pings cost no memory meanwhile, but the last is answered; what was sent comes in order."""
    reader, writer = await asyncio.open_connection("127.0.0.1", doorman.port, limit=1 << 16)
    writer.write(request())
    await within(reader.readuntil(b"\r\n\r\n"))
    writer.write(Frame(Opcode.BINARY, CONNECT).serialize(mask=True))
    await within(reader.read(1_000))
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    [connection] = doorman.inside
    sent = make_slow(connection)
    waiting = unsent(connection)
    for number in range(1_000):
        writer.write(Frame(Opcode.PING, b"%04d" % number).serialize(mask=True))
    writer.write(Frame(Opcode.BINARY, write_packet(Publish("seen"), V5)).serialize(mask=True))
    await within(doorman.published.get())
    assert unsent(connection) <= waiting
    writer.transport.resume_reading()  # type: ignore[attr-defined]
    came, longest, pongs = await frames_until_pong(reader)
    assert pongs == [b"0999"]
    assert longest == UNSENT_BYTES
    assert came.count(bytes(100_000)) == sent
    assert [came.find(b"%08d" % number) for number in range(sent)] == sorted(
        came.find(b"%08d" % number) for number in range(sent)
    )
    writer.close()


async def frames_until_pong(reader: asyncio.StreamReader) -> tuple[bytes, int, list[bytes]]:
    """The bytes of binary frames up to the first pong, the longest frame's length, and the pong."""
    came, longest = b"", 0
    while True:
        first, length = await within(reader.readexactly(2))
        if length >= 126:
            length = int.from_bytes(await within(reader.readexactly(2 if length == 126 else 8)))
        payload = await within(reader.readexactly(length))
        if first & 15 == Opcode.PONG:
            return came, longest, [payload]
        came += payload
        longest = max(longest, length)


async def test_reading_is_held_back(doorman: Doorman) -> None:
    """What the connection does not want yet stays in the socket."""
    async with websocket(doorman) as client:
        [connection] = doorman.inside
        connection.pause_reading()
        await client.send(write_packet(Publish("later"), V5))
        async with websocket(doorman):  # another's round trip, meanwhile
            pass
        assert doorman.published.empty()
        connection.resume_reading()
        await client.send(PINGREQ)
        assert await within(client.recv()) == PINGRESP
        assert doorman.published.get_nowait().topic == "later"


async def test_closing_while_reading_is_held_back_still_hears_the_answer(doorman: Doorman) -> None:
    async with websocket(doorman) as client:
        [connection] = doorman.inside
        connection.pause_reading()
        connection.disconnect(0x8B)  # type: ignore[arg-type]
        came, code = await closed(client)
        assert (came[0], came[2], code) == (0xE0, 0x8B, 1000)
        await within(client.wait_closed())
