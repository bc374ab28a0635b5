"""The writer against the table of packets; and it refuses what MQTT does not have."""

import pytest
from hypothesis import given

from edge.mqtt.errors import LocalProtocolError
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
    Subscribe,
    Subscription,
    UnsubAck,
    Unsubscribe,
    Will,
)
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.writing import write_packet
from tests.edge.mqtt.packet_cases import PACKET_CASES, PacketCase
from tests.edge.mqtt.strategies import BOUNDED, versioned_packets
from tests.edge.mqtt.test_reading import read_all

V31, V311, V5 = ProtocolVersion


@pytest.mark.mqtt(v3="2.2.2-1 2.3.1-5 3.1.3-1", v5="2.1.3-1 3.1.2-1 2.2.1-2 2.2.2-1 3.1.3-1 3.2.2-1")
@pytest.mark.parametrize(
    ("case", "version"),
    [(c, v) for c in PACKET_CASES for v in c.versions if c.is_canonical],
    ids=lambda p: getattr(p, "name", None),
)
def test_table(case: PacketCase, version: ProtocolVersion) -> None:
    assert write_packet(case.packet, version).hex(" ") == case.data.hex(" ")


@BOUNDED
@given(versioned_packets())
def test_read_undoes_write(versioned: tuple[Packet, ProtocolVersion]) -> None:
    packet, version = versioned
    assert read_all([write_packet(packet, version)], version) == [packet]


@pytest.mark.mqtt(
    v3="3.2.2-4 3.3.1-2 3.3.1-4",
    v5="3.2.2-6 3.2.2-8 3.3.1-2 3.3.1-4 3.3.2-8 3.4.2-1 3.5.2-1 3.6.2-1 3.7.2-1 3.9.3-2 3.11.3-2 3.14.2-1 3.15.2-1",
)
@pytest.mark.parametrize(
    ("packet", "version"),
    [
        (Publish("a", qos=1), V5),
        (Publish("a", qos=3, packet_id=1), V5),
        (Publish("a", dup=True), V311),
        (Publish("a/#"), V311),
        (Publish(""), V5),
        (Publish("x" * 65_536), V5),
        (Publish("a", qos=1, packet_id=65_536), V5),
        (Publish("a", properties=Properties(maximum_qos=1)), V5),
        (Publish("a", properties=Properties(topic_alias=0)), V5),
        (Publish("a", properties=Properties(subscription_identifiers=(0,))), V5),
        (Publish("a", properties=Properties(content_type="\0")), V5),
        (Publish("a", properties=Properties(content_type="\ud800")), V5),
        (Publish("a", properties=Properties(message_expiry_interval=-1)), V5),
        (Connect("c", V5), V311),
        (Connect("c", V311, password=b"x"), V311),
        (Connect("c", V311, will=Will("a", qos=3)), V311),
        (Connect("c", V311, will=Will("+")), V311),
        (Connect("c", V311, keep_alive=65_536), V311),
        (ConnAck(False, 0x81), V311),
        (ConnAck(True, 0x87), V311),
        (ConnAck(True, 0x87), V5),
        (ConnAck(False, 0x92), V5),
        (PubAck(0), V5),
        (PubAck(1, 0x92), V5),
        (PubRec(1, 0x92), V5),
        (PubRel(1, 0x10), V5),
        (PubComp(1, 0x10), V5),
        (Subscribe(1, ()), V5),
        (Subscribe(1, (Subscription("a#"),)), V5),
        (Subscribe(1, (Subscription("a", 3),)), V5),
        (SubAck(1, (0x11,)), V5),
        (Unsubscribe(1, ()), V5),
        (Unsubscribe(1, ("",)), V5),
        (UnsubAck(1, (0x01,)), V5),
        (Disconnect(0x01), V5),
        (Auth(), V311),
        (Auth(0x80), V5),
    ],
    ids=repr,
)
def test_refuses(packet: Packet, version: ProtocolVersion) -> None:
    with pytest.raises(LocalProtocolError):
        write_packet(packet, version)


@pytest.mark.mqtt(v3="3.9.3-2")
def test_old_versions_leave_out_what_they_do_not_have() -> None:
    assert write_packet(PubAck(1, 0x10, Properties(reason_string="x")), V311) == bytes.fromhex("40 02 0001")
    assert write_packet(SubAck(1, (1, 0x87, 0x8F)), V311) == bytes.fromhex("90 05 0001 01 80 80")
    assert write_packet(UnsubAck(1, (0x11,)), V31) == bytes.fromhex("B0 02 0001")
    assert write_packet(Disconnect(0x8E), V311) == bytes.fromhex("E0 00")
    assert write_packet(Publish("a", properties=Properties(content_type="t")), V311) == bytes.fromhex(
        "30 03 000161"
    )


def test_lengths_at_the_edges_of_their_encoding() -> None:
    for payload, header in ((124, "7F"), (125, "8001"), (16_380, "FF7F"), (16_381, "808001")):
        assert write_packet(Publish("a", bytes(payload)), V311).startswith(bytes.fromhex("30" + header))
