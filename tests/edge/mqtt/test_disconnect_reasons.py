"""Each end of a connection that the standard has a reason code for, and that code in DISCONNECT (section 4.13).

MQTT 3.x is told nothing. Before CONNACK it is the CONNACK that tells, never a DISCONNECT [MQTT-3.14.0-1].
"""

from __future__ import annotations

from typing import Any

import pytest

from edge.mqtt.events import ConnectionEnded
from edge.mqtt.packets import (
    Auth,
    ConnAck,
    Connect,
    Disconnect,
    Packet,
    PubComp,
    Publish,
    PubRel,
    SubAck,
    Subscribe,
    Subscription,
)
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode as R
from edge.mqtt.server import ServerConnection, ServerLimits
from tests.edge.mqtt.connection_pair import connected_server, packet_bytes
from tests.edge.mqtt.test_reading import read_all

V311, V5 = ProtocolVersion.V3_1_1, ProtocolVersion.V5
LIMITS = ServerLimits(maximum_packet_size=1_000, receive_maximum=1, topic_alias_maximum=2)


def alias(number: int, topic: str = "a") -> Publish:
    """A PUBLISH with a topic alias."""
    return Publish(topic, properties=Properties(topic_alias=number))


def method(name: str) -> Properties:
    """Properties of an AUTH."""
    return Properties(authentication_method=name)


SENT: list[tuple[str, list[Packet | str], R]] = [
    ("a fixed header that no packet has", ["81 00"], R.MALFORMED_PACKET),
    ("a string that is not UTF-8", ["30 05 0002C080 00"], R.MALFORMED_PACKET),
    ("subscription options with a reserved bit", ["82 07 0002 00 000161 40"], R.MALFORMED_PACKET),
    ("a reason code that is none", ["E0 02 FF 00"], R.MALFORMED_PACKET),
    ("a second CONNECT", [Connect("c", V5)], R.PROTOCOL_ERROR),
    ("a packet of the server's", [SubAck(1, (0,))], R.PROTOCOL_ERROR),
    ("a subscription identifier in PUBLISH", ["30 06 000161 02 0B05"], R.PROTOCOL_ERROR),
    ("PUBREL before PUBREC", [Publish("a", qos=2, packet_id=1), PubRel(1)], R.PROTOCOL_ERROR),
    ("an identifier in use", [Publish("a", qos=1, packet_id=1)] * 2, R.PROTOCOL_ERROR),
    ("an alias that stands for nothing", [alias(1, "")], R.PROTOCOL_ERROR),
    (
        "a session that ends with its connection, prolonged",
        [Disconnect(0, Properties(session_expiry_interval=5))],
        R.PROTOCOL_ERROR,
    ),
    # [MQTT-4.12.0-7]
    ("AUTH without a method in CONNECT", [Auth(R.RE_AUTHENTICATE, method("S"))], R.PROTOCOL_ERROR),
    ("the same, as if it went on", [Auth(R.CONTINUE_AUTHENTICATION, method("S"))], R.PROTOCOL_ERROR),
    ("AUTH without any method", ["F0 02 19 00"], R.PROTOCOL_ERROR),
    ("AUTH with a reason that is none", ["F0 02 01 00"], R.MALFORMED_PACKET),
    ("a filter with a misplaced wildcard", ["82 08 0002 00 00026123 00"], R.TOPIC_FILTER_INVALID),
    ("a topic with a wildcard", ["30 04 00012B 00"], R.TOPIC_NAME_INVALID),
    (
        "more than the Receive Maximum",
        [Publish("a", qos=1, packet_id=1), Publish("a", qos=2, packet_id=2)],
        R.RECEIVE_MAXIMUM_EXCEEDED,
    ),
    ("an alias above the maximum", [alias(3)], R.TOPIC_ALIAS_INVALID),
    ("alias 0", ["30 07 000161 03 230000"], R.TOPIC_ALIAS_INVALID),
    ("a packet above the limit", [Publish("a", bytes(1_000))], R.PACKET_TOO_LARGE),
]


def ended_with(server: ServerConnection) -> list[Any]:
    """The reasons of all that was sent, and of the end."""
    ends = [event for event in server.events_received() if isinstance(event, ConnectionEnded)]
    assert server.close_wanted
    assert len(ends) == 1
    packets = read_all(server.data_to_send(), server.version)
    return [*(getattr(packet, "reason_code", None) for packet in packets), ends[0].reason_code]


@pytest.mark.parametrize(("packets", "reason"), [case[1:] for case in SENT], ids=[case[0] for case in SENT])
def test_the_clients_fault(packets: list[Packet | str], reason: R) -> None:
    server = connected_server(V5, LIMITS)
    for packet in packets:
        data = bytes.fromhex(packet) if isinstance(packet, str) else packet_bytes(packet)
        server.receive_data(data, 1.0)
    assert ended_with(server) == [reason, reason]


@pytest.mark.parametrize("version", [V311, V5])
def test_silence(version: ProtocolVersion) -> None:
    server = connected_server(version, LIMITS, Connect("c", version, keep_alive=10))
    server.handle_timeout(14.9)
    assert not server.close_wanted
    server.handle_timeout(15.0)
    assert ended_with(server) == [R.KEEP_ALIVE_TIMEOUT] * (2 if version is V5 else 1)


@pytest.mark.parametrize(
    "reason",
    [
        R.SERVER_BUSY,
        R.SERVER_SHUTTING_DOWN,
        R.SESSION_TAKEN_OVER,
        R.QUOTA_EXCEEDED,
        R.MESSAGE_RATE_TOO_HIGH,
        R.ADMINISTRATIVE_ACTION,
    ],
)
def test_our_wish(reason: R) -> None:
    for version, told in ((V5, [reason]), (V311, [])):
        server = connected_server(version)
        server.disconnect(reason)
        assert ended_with(server) == [*told, reason]


@pytest.mark.parametrize(
    "packet", [Subscribe(1, (Subscription("a"),)), Auth(R.RE_AUTHENTICATE, method("S")), PubComp(1)], ids=repr
)
def test_before_connect_nothing_is_said(packet: Packet) -> None:
    """No version is agreed in which to say it."""
    server = ServerConnection(LIMITS, 0.0)
    server.receive_data(packet_bytes(packet), 0.0)
    assert ended_with(server) == [R.PROTOCOL_ERROR]


@pytest.mark.parametrize("version", [V311, V5])
def test_before_connack_it_is_the_connack(version: ProtocolVersion) -> None:
    server = ServerConnection(ServerLimits(maximum_held_bytes=10), 0.0)
    server.receive_data(packet_bytes(Connect("c", version), version) + bytes.fromhex("C000") * 6, 0.0)
    (connack,) = read_all(server.data_to_send(), version)
    assert isinstance(connack, ConnAck)
    assert connack.reason_code == (R.QUOTA_EXCEEDED if version is V5 else R.SERVER_UNAVAILABLE)
    assert server.close_wanted


def test_an_authentication_method_that_we_do_not_have() -> None:
    """CONNACK 0x8C, with nothing of the exchange in it, and the end [MQTT-4.12.0-1]."""
    properties = Properties(authentication_method="SCRAM-SHA-1", authentication_data=b"\0")
    server = ServerConnection(LIMITS, 0.0)
    server.receive_data(packet_bytes(Connect("c", V5, properties=properties)), 0.0)
    server.refuse(R.BAD_AUTHENTICATION_METHOD)
    assert server.data_to_send() == [bytes.fromhex("20 03 00 8C 00")]
    assert server.close_wanted
