"""Bytes in, bytes out: what the gateway answers to packets at the edge of the standard and beyond it."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest

from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import ConnAck, Publish
from edge.mqtt.protocol import ProtocolVersion
from tests.edge.mqtt.test_reading import read_all
from tests.live.conftest import Connecting
from tests.live.raw import raw_connection

pytestmark = pytest.mark.live

ACCEPTED_3 = "20020000"
ACCEPTED_5 = "20..0000.*"
REFUSED = "(2002000[1-5]|20..00[89].*)?"
"""Any refusal, or none."""
MALFORMED = "e0..81.*"
TOO_LARGE = "e0..95.*"


@dataclass(frozen=True)
class Case:
    """What is sent, and what must come back."""

    name: str
    version: int | None
    """Of a CONNECT before it; None when what is sent is all there is."""
    sent: str
    """Hexadecimal."""
    answer: str
    """A regular expression for all that comes, in hexadecimal."""
    ends: bool
    """Whether the gateway then ends the connection; else it must still answer a ping."""


def connect(name: str, level: int, flags: int, rest: str) -> str:
    """A CONNECT with keep alive 60, in hexadecimal."""
    body = len(name).to_bytes(2, "big") + name.encode() + bytes((level, flags, 0, 60)) + bytes.fromhex(rest)
    return f"10{len(body):02x}{body.hex()}"


def client_id(length: int) -> str:
    """A client id of so many letters, in hexadecimal."""
    return f"{length:04x}" + "41" * length


CASES = [
    Case("M01a 3.1.1: no client id, clean session 0", None, "100C00044D5154540400003C0000", "20020002", True),
    Case("M01a control: clean session 1", None, connect("MQTT", 4, 2, "0000"), ACCEPTED_3, False),
    Case(
        "M01b 5: the rule does not leak", None, "100D00044D5154540500003C000000", "20..0000.*12.{4,}", False
    ),
    Case("M04a 3.1.1: password alone", None, "101200044D5154540442003C0001700003707764", REFUSED, True),
    Case("M04a 5: password alone", None, connect("MQTT", 5, 0x42, "00000170 0003707764"), ACCEPTED_5, False),
    Case("M04b 3.1.1: will QoS without will", None, "100D00044D515454040A003C000171", REFUSED, True),
    Case("M04b 3.1: is disregarded", None, connect("MQIsdp", 3, 0x0A, "000171"), ACCEPTED_3, False),
    Case("M04b 5: will QoS without will", None, connect("MQTT", 5, 0x0A, "00000171"), "(20..0081.*)?", True),
    Case(
        "M04b control: a will of QoS 1",
        None,
        connect("MQTT", 4, 0x0E, "000171 000177 000178"),
        ACCEPTED_3,
        False,
    ),
    Case("M04c 3.1.1: reserved bit", None, "100D00044D5154540403003C000172", REFUSED, True),
    Case("M04c 5: reserved bit", None, connect("MQTT", 5, 3, "00000172"), "(20..0081.*)?", True),
    Case("M04d 3.1.1: will QoS 3", None, "101500044D515454041E003C0001770003772F74000178", REFUSED, True),
    Case(
        "M04d 5: will QoS 3",
        None,
        connect("MQTT", 5, 0x1E, "00000177000003772F74000178"),
        "(20..0081.*)?",
        True,
    ),
    Case("M05a 3.1: 23 characters", None, connect("MQIsdp", 3, 2, client_id(23)), ACCEPTED_3, False),
    Case("M05b 3.1: 24 characters", None, connect("MQIsdp", 3, 2, client_id(24)), "20020002", True),
    Case("M05b control: 3.1.1", None, connect("MQTT", 4, 2, client_id(24)), ACCEPTED_3, False),
    Case("M05c MQTT/3", None, connect("MQTT", 3, 2, "000171"), "20020001|20..0084.*", True),
    Case("M05c MQTT/6", None, connect("MQTT", 6, 2, "00000171"), "20020001|20..0084.*", True),
    Case("M05c MQTT/255", None, connect("MQTT", 255, 2, "00000171"), "20020001|20..0084.*", True),
    Case("M05c MQIsdp/4", None, connect("MQIsdp", 4, 2, "000171"), "(20020001|20..0084.*)?", True),
    Case("M05d MQTx", None, connect("MQTx", 4, 2, "000171"), REFUSED, True),
    Case("M06a 3.1.1: PINGREQ with a body", 4, "C002C000", "", True),
    Case("M06a 5: PINGREQ with a body", 5, "C002C000", MALFORMED, True),
    Case("M06a control: PINGREQ", 4, "C000", "d000", False),
    Case("M06b 3.1.1: a length of five bytes", 4, "30FFFFFFFF01", "", True),
    Case("M06b 5: a length of five bytes", 5, "30FFFFFFFF01", MALFORMED, True),
    Case("M06c 3.1.1: 256 MiB announced", 4, "30FFFFFF7F" + "00" * 10, "", True),
    Case("M06c 5: 256 MiB announced", 5, "30FFFFFF7F" + "00" * 10, TOO_LARGE, True),
    Case(
        "M06d 5: a property length in more bytes than it needs", 5, "3208000170000980 0078", MALFORMED, True
    ),
    Case(
        "M06d control: a property length in one byte", 5, "32070001700009 0078", "40020009|40030009.*", False
    ),
    Case("M31 5: PUBREL of an unknown id", 5, "62021234", "7003123492|700412349200", False),
    Case("M31 3.1.1: PUBREL of an unknown id", 4, "62021234", "70021234", False),
    Case("M31 5: PUBREL with wrong flags", 5, "60021234", MALFORMED, True),
    Case("M31 3.1.1: PUBREL with wrong flags", 4, "60021234", "", True),
    Case("M35c 5: Receive Maximum 0", None, connect("MQTT", 5, 2, "03210000000171"), "20..0082.*", True),
    Case(
        "M36 5: Maximum Packet Size 0", None, connect("MQTT", 5, 2, "052700000000000171"), "20..0082.*", True
    ),
    Case("M37f 5: neither topic nor alias", 5, "3004000000 78", "e0..82.*", True),
    Case("M49 5: UNSUBSCRIBE of nothing", 5, "A2090002000004 6E6F7065", "b00400020011", False),
    Case("M49 3.1.1: UNSUBSCRIBE of nothing", 4, "A20800020004 6E6F7065", "b0020002", False),
    Case("SUBSCRIBE without a filter", 5, "82030001 00", "e0..82.*", True),
    Case("SUBSCRIBE of a/#/b", 5, "820B00010000 05612F232F6200", "e0..8[12f].*|9004000100[8f].*", True),
    Case("PUBLISH at QoS 3", 5, "360600017000 0100", MALFORMED, True),
    Case("PUBLISH on a wildcard", 5, "30060003612F2300", "e0..(82|90).*", True),
    Case("a second CONNECT", 4, "100D00044D5154540402003C000171", "", True),
    Case("CONNACK from a client", 4, "20020000", "", True),
    Case("a packet of type 0", 4, "0000", "", True),
    Case("PINGREQ before CONNECT", None, "C000", "", True),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
async def test_case(gw1: MqttAddress, case: Case) -> None:
    async with raw_connection(gw1, case.version) as raw:
        raw.send(case.sent)
        came = await (raw.until_end() if case.ends else raw.packet())
        if not case.ends:
            assert await raw.until_pong() == b""
    assert re.fullmatch(case.answer, came.hex()), came.hex()


@pytest.mark.parametrize("version", [4, 5])
async def test_a_second_pubrel(gw1: MqttAddress, topic: str, version: int) -> None:
    """Case M31: after a completed exchange the packet identifier is unknown; that is an answer, and no fault."""
    publish = (
        len(topic).to_bytes(2, "big") + topic.encode() + bytes.fromhex("1234" if version == 4 else "1234 00")
    )
    async with raw_connection(gw1, version) as raw:
        raw.send(bytes((0x34, len(publish))) + publish)
        assert (await raw.packet()).hex() == "50021234"
        raw.send("62021234")
        assert (await raw.packet()).hex() == "70021234"
        raw.send("62021234")
        assert (await raw.packet()).hex() in (
            ("70021234",) if version == 4 else ("7003123492", "700412349200")
        )


@pytest.mark.mqtt(v3="3.3.1-3", v5="3.3.1-3")
@pytest.mark.parametrize("version", [4, 5])
async def test_a_publishers_dup_is_its_own(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, version: int
) -> None:
    subscriber = await connect(gw2, ProtocolVersion(version))
    await subscriber.subscribe(topic, qos=1)
    async with raw_connection(gw1, version) as raw:
        raw.send(Publish(topic, b"x", 1, dup=True, packet_id=1))
        assert (await raw.packet()).hex() == "40020001"
    [message] = await subscriber.take()
    assert (message.payload, message.dup) == (b"x", False)


@pytest.mark.mqtt(v5="3.1.2-29")
async def test_request_problem_information_0(gw1: MqttAddress) -> None:
    """Case M40: no Reason String, no User Property, but for CONNACK and DISCONNECT, which explains itself."""
    async with raw_connection(gw1) as raw:
        raw.send("10 11 00 04 4D 51 54 54 05 02 00 3C 02 17 00 00 02 70 69")
        assert re.fullmatch(ACCEPTED_5, (await raw.packet()).hex())
        raw.send("A2090003000004 6E6F7065")
        assert (await raw.packet()).hex() == "b00400030011"
        raw.send("62021234")
        assert (await raw.packet()).hex() == "7003123492"
        raw.send("820E00020000 082473686172652F67 00")  # $share/g, which lacks its filter
        assert re.fullmatch("e0..8[12f]..1f.*", (await raw.until_end()).hex())


async def test_fifty_announcements_of_256_mebibytes(
    stack_rss: Callable[[str], int], gw1: MqttAddress
) -> None:
    """Case M06c: nothing is allocated for what is only announced."""
    before = stack_rss("gw1")
    for _ in range(50):
        async with raw_connection(gw1, 4) as raw:
            raw.send("30FFFFFF7F" + "00" * 10)
            assert await raw.until_end() == b""
    assert stack_rss("gw1") - before < 20 << 20


async def test_fifty_that_stall(stack_rss: Callable[[str], int], gw1: MqttAddress, topic: str) -> None:
    """Case M06c below the limit: what is announced and does not come costs nothing, and the keep alive ends it."""
    before = stack_rss("gw1")
    head = bytes.fromhex("30F0FF03") + len(topic).to_bytes(2, "big") + topic.encode()  # 65,520 bytes
    async with AsyncExitStack() as connections:
        stalled = [
            await connections.enter_async_context(raw_connection(gw1, (4, 5)[number % 2], keep_alive=1))
            for number in range(50)
        ]
        for raw in stalled:
            raw.send(head)
        for raw in stalled:
            assert re.fullmatch("" if raw.version == 4 else "e0..8d.*", (await raw.until_end()).hex())
    assert stack_rss("gw1") - before < 20 << 20


async def test_assigned_client_ids_are_unique(gw1: MqttAddress, gw2: MqttAddress) -> None:
    """Case M01 (b): each client without an id gets one of its own, on any gateway [MQTT-3.2.2-16]."""
    assigned = set()
    async with AsyncExitStack() as connections:
        for number in range(10):
            raw = await connections.enter_async_context(raw_connection((gw1, gw2)[number % 2], 5, ""))
            [connack] = read_all([raw.connack], raw.version)
            assert isinstance(connack, ConnAck)
            assigned.add(connack.properties.assigned_client_identifier)
    assert len(assigned - {None, ""}) == 10
