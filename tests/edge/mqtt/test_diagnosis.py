"""Reason Strings and User Properties: left out where they would make a packet too large, or are not wanted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edge.mqtt.packets import (
    Auth,
    ConnAck,
    Connect,
    Disconnect,
    Packet,
    PubAck,
    PubComp,
    Publish,
    PubRec,
    PubRel,
    SubAck,
    UnsubAck,
)
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.server import ServerConnection
from edge.mqtt.writing import write_packet
from tests.edge.mqtt.connection_pair import LIMITS, packet_bytes, sent

V5 = ProtocolVersion.V5
REASON_STRING = Properties(reason_string="x" * 50)
USER_PROPERTIES = Properties(user_properties=(("name", "v" * 30), ("name", "v" * 30)))
BARE: dict[str, Packet] = {
    "3.2.2-19 3.2.2-20": ConnAck(False, 0x87),
    "3.4.2-2 3.4.2-3": PubAck(1, 0x87),
    "3.5.2-2 3.5.2-3": PubRec(1, 0x87),
    "3.6.2-2 3.6.2-3": PubRel(1, 0x92),
    "3.7.2-2 3.7.2-3": PubComp(1, 0x92),
    "3.9.2-1 3.9.2-2": SubAck(1, (0, 0x87)),
    "3.11.2-1 3.11.2-2": UnsubAck(1, (0, 0x87)),
    "3.14.2-3 3.14.2-4": Disconnect(0x8E),
    "3.15.2-2 3.15.2-3": Auth(0x18),
}
"""The statements on each packet's Reason String and User Property, and the packet without them."""
each = pytest.mark.parametrize(
    "bare",
    [
        pytest.param(packet, marks=pytest.mark.mqtt(v5=ids), id=type(packet).__name__)
        for ids, packet in BARE.items()
    ],
)


def server_for(**asked: int) -> ServerConnection:
    """A server whose client has asked for this."""
    server = ServerConnection(LIMITS, 0.0)
    server.receive_data(packet_bytes(Connect("c", V5, properties=Properties(**asked))), 0.0)  # type: ignore[arg-type]
    return server


@each
@pytest.mark.parametrize("words", [REASON_STRING, USER_PROPERTIES], ids=["reason string", "user properties"])
def test_where_there_is_no_room(bare: Packet, words: Properties) -> None:
    """Whole where it just fits, bare where one byte is missing, and not at all where even that is too large."""
    explained = replace(bare, properties=words)  # type: ignore[arg-type]
    whole, short = write_packet(explained, V5), write_packet(bare, V5)
    for maximum, expected in ((len(whole), whole), (len(whole) - 1, short), (len(short) - 1, b"")):
        server = server_for(maximum_packet_size=maximum)
        server._send(explained)
        assert sent(server) == expected


@pytest.mark.mqtt(v5="3.1.2-29")
@pytest.mark.parametrize("bare", [*BARE.values(), Publish("a")], ids=lambda packet: type(packet).__name__)
@pytest.mark.parametrize("words", [REASON_STRING, USER_PROPERTIES], ids=["reason string", "user properties"])
def test_where_they_are_not_wanted(bare: Packet, words: Properties) -> None:
    """Only CONNACK, PUBLISH and DISCONNECT have them all the same."""
    if isinstance(bare, Publish) and words is REASON_STRING:
        return  # it has none
    explained = replace(bare, properties=words)  # type: ignore[arg-type]
    server = server_for(request_problem_information=0)
    server._send(explained)
    is_told = isinstance(bare, ConnAck | Publish | Disconnect)
    assert sent(server) == write_packet(explained if is_told else bare, V5)
