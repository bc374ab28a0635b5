"""Named packets as data: bytes and what they mean, and bytes that mean nothing and the reason to say so.

Used by the tests of the reader, the writer, the framer and both connections. Hex, spaces are for the eye.
"""

from dataclasses import dataclass

import pytest

from edge.mqtt.packets import (
    Auth,
    ConnAck,
    Connect,
    Disconnect,
    Packet,
    PingReq,
    PingResp,
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
from edge.mqtt.reason_codes import ReasonCode as R

V31, V311, V5 = ProtocolVersion
V3 = (V31, V311)
OLD_AND_NEW = (V31, V311, V5)


@dataclass(frozen=True)
class PacketCase:
    """A packet and its bytes."""

    name: str
    versions: tuple[ProtocolVersion, ...]
    data: bytes
    packet: Packet
    is_canonical: bool = True
    """Whether the writer makes just these bytes."""


@dataclass(frozen=True)
class MalformedCase:
    """Bytes that must be refused, and the reason code to refuse them with."""

    name: str
    versions: tuple[ProtocolVersion, ...]
    data: bytes
    reason: R
    v3: str = ""
    """The statements of MQTT 3.1.1 that it breaks."""
    v5: str = ""
    """Those of MQTT 5.0."""

    @property
    def marks(self) -> list[pytest.MarkDecorator]:
        """For a test that shows what becomes of it."""
        ids = {edition: ids for edition, ids in (("v3", self.v3), ("v5", self.v5)) if ids}
        return [pytest.mark.mqtt(**ids)] if ids else []


def _case(
    name: str, versions: tuple[ProtocolVersion, ...], data: str, packet: Packet, is_canonical: bool = True
) -> PacketCase:
    return PacketCase(name, versions, bytes.fromhex(data), packet, is_canonical)


def _bad(
    name: str, versions: tuple[ProtocolVersion, ...], data: str, reason: R, v3: str = "", v5: str = ""
) -> MalformedCase:
    return MalformedCase(name, versions, bytes.fromhex(data), reason, v3, v5)


def _bad_connect(
    name: str, version: ProtocolVersion, rest: str, ids: str, reason: R = R.MALFORMED_PACKET
) -> MalformedCase:
    """A CONNECT of which all after the protocol level is given."""
    body = bytes.fromhex((_MQTT5 if version is V5 else _MQTT4) + rest)
    name = f"{name}, {'5' if version is V5 else '3.1.1'}"
    data = bytes((0x10, len(body))) + body
    return MalformedCase(name, (version,), data, reason, *(("", ids) if version is V5 else (ids, "")))


def hex_of(text: str) -> str:
    """A UTF-8 Encoded String in hex, for building cases."""
    encoded = text.encode()
    return (len(encoded).to_bytes(2, "big") + encoded).hex()


def _subscribe_3(filter: str) -> str:
    """A SUBSCRIBE of 3.x to one short filter at QoS 0, in hex."""
    body = "0002" + hex_of(filter) + "00"
    return f"82 {len(body) // 2:02X} {body}"


FULL_WILL = Properties(
    payload_format_indicator=1,
    message_expiry_interval=10,
    content_type="t",
    response_topic="r",
    correlation_data=b"\x00\xff\x10",
    will_delay_interval=3,
    user_properties=(("k", "1"), ("k", "2"), ("a", "")),
)
_FULL_WILL_HEX = (
    "01 01 02 0000000A 03 000174 08 000172 09 000300FF10 18 00000003"
    " 26 00016B 000131 26 00016B 000132 26 000161 0000"
)
FULL_PUBLISH = Properties(
    payload_format_indicator=1,
    message_expiry_interval=10,
    content_type="t",
    response_topic="r",
    correlation_data=b"\x00\xff\x10",
    subscription_identifiers=(1, 268_435_455),
    topic_alias=7,
    user_properties=(("k", "1"), ("k", "2"), ("a", "")),
)
_FULL_PUBLISH_HEX = (
    "01 01 02 0000000A 03 000174 08 000172 09 000300FF10 0B 01 0B FFFFFF7F 23 0007"
    " 26 00016B 000131 26 00016B 000132 26 000161 0000"
)
EXPLAINED = Properties(reason_string="no", user_properties=(("k", "v"),))
_EXPLAINED_HEX = "0C 1F 00026E6F 26 00016B 000176"
_MQTT4 = "0004 4D515454 04"
_MQTT5 = "0004 4D515454 05"
_MQISDP = "0006 4D5149736470 03"
_V5_CONNECT_HEX = "11 0000003C 15 000153 16 000101 17 00 19 01 21 0002 22 000A 26 00016B 000176 27 00000063"

CONNECT_CASES = (
    _case("connect 3.1", (V31,), f"10 11 {_MQISDP} 02 003C 000363 6964", Connect("cid", V31)),
    _case(
        "connect 3.1, 23 characters",
        (V31,),
        f"10 25 {_MQISDP} 02 003C 0017" + "41" * 23,
        Connect("A" * 23, V31),
    ),
    _case(
        "connect 3.1, will QoS without will",
        (V31,),
        f"10 11 {_MQISDP} 0A 003C 000363 6964",
        Connect("cid", V31),
        False,
    ),
    _case(
        "connect 3.1, user name flag without user name",
        (V31,),
        f"10 11 {_MQISDP} 82 003C 000363 6964",
        Connect("cid", V31),
        False,
    ),
    _case(
        "connect 3.1, reserved flag",
        (V31,),
        f"10 11 {_MQISDP} 03 003C 000363 6964",
        Connect("cid", V31),
        False,
    ),
    _case("connect 3.1.1", (V311,), f"10 0F {_MQTT4} 02 003C 0003636964", Connect("cid")),
    _case(
        "connect 3.1.1, empty id, clean", (V311,), f"10 0C {_MQTT4} 02 0000 0000", Connect("", keep_alive=0)
    ),
    _case(
        "connect 3.1.1, empty id, not clean",
        (V311,),
        f"10 0C {_MQTT4} 00 003C 0000",
        Connect("", clean_start=False),
    ),
    _case(
        "connect 3.1.1, everything",
        (V311,),
        f"10 1D {_MQTT4} EE FFFF 000163 0003772F74 00026F6B 000175 00020001",
        Connect(
            "c",
            V311,
            keep_alive=65535,
            user_name="u",
            password=b"\x00\x01",
            will=Will("w/t", b"ok", 1, True),
        ),
    ),
    _case("connect 5, least", (V5,), f"10 0D {_MQTT5} 00 003C 00 0000", Connect("", V5, False)),
    _case(
        "connect 5, no problem information (M40)",
        (V5,),
        f"10 11 {_MQTT5} 02 003C 02 1700 00027069",
        Connect("pi", V5, properties=Properties(request_problem_information=0)),
    ),
    _case(
        "connect 5, password alone (M04)",
        (V5,),
        f"10 13 {_MQTT5} 42 003C 00 000170 0003707764",
        Connect("p", V5, password=b"pwd"),
    ),
    _case(
        "connect 5, all properties",
        (V5,),
        f"10 31 {_MQTT5} 02 003C 23 {_V5_CONNECT_HEX} 000163",
        Connect(
            "c",
            V5,
            properties=Properties(
                session_expiry_interval=60,
                authentication_method="S",
                authentication_data=b"\x01",
                request_problem_information=0,
                request_response_information=1,
                receive_maximum=2,
                topic_alias_maximum=10,
                user_properties=(("k", "v"),),
                maximum_packet_size=99,
            ),
        ),
    ),
    _case(
        "connect 5, will with all properties",
        (V5,),
        f"10 45 {_MQTT5} 36 003C 00 000163 2E {_FULL_WILL_HEX} 0003772F74 000178",
        Connect("c", V5, will=Will("w/t", b"x", 2, True, FULL_WILL)),
    ),
)

PUBLISH_CASES = (
    _case("publish QoS 0", V3, "30 05 000161 6869", Publish("a", b"hi")),
    _case("publish QoS 0, retain, empty", V3, "31 03 000161", Publish("a", retain=True)),
    _case("publish QoS 1", V3, "32 06 000161 0001 78", Publish("a", b"x", 1, packet_id=1)),
    _case(
        "publish QoS 2, dup, retain",
        V3,
        "3D 05 000161 FFFF",
        Publish("a", b"", 2, True, True, packet_id=65535),
    ),
    _case("publish 5, QoS 0", (V5,), "30 06 000161 00 6869", Publish("a", b"hi")),
    _case("publish 5, QoS 1", (V5,), "32 07 000161 0001 00 78", Publish("a", b"x", 1, packet_id=1)),
    _case("publish 5, U+20AC and a BOM", (V5,), "30 09 0006 EFBBBF E282AC 00", Publish("\ufeff\u20ac")),
    _case(
        "publish 5, alias alone",
        (V5,),
        "30 06 0000 03 230007",
        Publish("", properties=Properties(topic_alias=7)),
    ),
    _case(
        "publish 5, all properties",
        (V5,),
        f"34 3A 000161 0009 33 {_FULL_PUBLISH_HEX} 78",
        Publish("a", b"x", 2, packet_id=9, properties=FULL_PUBLISH),
    ),
)

OTHER_CASES = (
    _case("connack 3.x", V3, "20 02 00 00", ConnAck()),
    _case("connack 3.x, session", V3, "20 02 01 00", ConnAck(True)),
    _case("connack 3.x, bad id", V3, "20 02 00 02", ConnAck(False, R.CLIENT_IDENTIFIER_NOT_VALID)),
    _case("connack 3.x, not authorized", V3, "20 02 00 05", ConnAck(False, R.NOT_AUTHORIZED)),
    _case("connack 5", (V5,), "20 03 01 00 00", ConnAck(True)),
    _case("connack 5, banned", (V5,), f"20 0F 00 8A {_EXPLAINED_HEX}", ConnAck(False, R.BANNED, EXPLAINED)),
    _case(
        "connack 5, all properties",
        (V5,),
        "20 40 00 00 3D 11 00000001 12 000161 13 000A 15 000153 16 000101 1A 000172 1C 000173 1F 00026E6F"
        " 21 0010 22 000A 24 01 25 00 26 00016B 000176 27 00010000 28 00 29 01 2A 00",
        ConnAck(
            properties=Properties(
                session_expiry_interval=1,
                assigned_client_identifier="a",
                server_keep_alive=10,
                authentication_method="S",
                authentication_data=b"\x01",
                response_information="r",
                server_reference="s",
                reason_string="no",
                receive_maximum=16,
                topic_alias_maximum=10,
                maximum_qos=1,
                retain_available=0,
                user_properties=(("k", "v"),),
                maximum_packet_size=65536,
                wildcard_subscription_available=0,
                subscription_identifier_available=1,
                shared_subscription_available=0,
            )
        ),
    ),
    _case("puback", OLD_AND_NEW, "40 02 1234", PubAck(0x1234)),
    _case("puback 5, reason", (V5,), "40 03 1234 10", PubAck(0x1234, R.NO_MATCHING_SUBSCRIBERS)),
    _case("puback 5, success spelt out", (V5,), "40 03 1234 00", PubAck(0x1234), False),
    _case("puback 5, no properties spelt out", (V5,), "40 04 1234 87 00", PubAck(0x1234, 0x87), False),
    _case("puback 5, explained", (V5,), f"40 10 1234 87 {_EXPLAINED_HEX}", PubAck(0x1234, 0x87, EXPLAINED)),
    _case("pubrec", OLD_AND_NEW, "50 02 0001", PubRec(1)),
    _case("pubrec 5, quota", (V5,), "50 03 0001 97", PubRec(1, R.QUOTA_EXCEEDED)),
    _case("pubrel", OLD_AND_NEW, "62 02 0001", PubRel(1)),
    _case("pubrel 5, not found", (V5,), "62 03 0001 92", PubRel(1, R.PACKET_IDENTIFIER_NOT_FOUND)),
    _case("pubcomp", OLD_AND_NEW, "70 02 0001", PubComp(1)),
    _case("pubcomp 5, explained", (V5,), f"70 10 0001 92 {_EXPLAINED_HEX}", PubComp(1, 0x92, EXPLAINED)),
    _case("pubrel 3.1, dup", (V31,), "6A 02 0001", PubRel(1), False),
    _case(
        "subscribe 3.x",
        V3,
        "82 0E 0002 0003612F62 01 0003632F23 02",
        Subscribe(2, (Subscription("a/b", 1), Subscription("c/#", 2))),
    ),
    _case(
        "subscribe 3.1, dup and upper bits",
        (V31,),
        "8A 06 0002 000161 F9",
        Subscribe(2, (Subscription("a", 1),)),
        False,
    ),
    _case(
        "subscribe 5, options",
        (V5,),
        "82 0C 0002 00 000161 2D 0002622F 12",
        Subscribe(2, (Subscription("a", 1, True, True, 2), Subscription("b/", 2, retain_handling=1))),
    ),
    _case(
        "subscribe 5, identifier, shared",
        (V5,),
        "82 1C 0002 0C 0B FFFFFF7F 26 00016B 000176 " + "000A" + b"$share/g/+".hex() + "00",
        Subscribe(
            2,
            (Subscription("$share/g/+"),),
            Properties(subscription_identifiers=(268_435_455,), user_properties=(("k", "v"),)),
        ),
    ),
    # The reader alone knows that there are two ways to write this group.
    _case(
        "subscribe, queue",
        V3,
        "82 0E 0002 0009" + b"$queue/+/".hex() + "01",
        Subscribe(2, (Subscription("$share/$queue/+/", 1),)),
        False,
    ),
    _case(
        "unsubscribe 5, queue",
        (V5,),
        "A2 0D 0002 00 0008" + b"$queue/a".hex(),
        Unsubscribe(2, ("$share/$queue/a",)),
        False,
    ),
    _case("suback 3.1.1", V3, "90 06 0002 00 01 02 80", SubAck(2, (0, 1, 2, 0x80))),
    _case("suback 5", (V5,), "90 05 0002 00 02 8F", SubAck(2, (2, 0x8F))),
    _case("suback 5, explained", (V5,), f"90 10 0002 {_EXPLAINED_HEX} 87", SubAck(2, (0x87,), EXPLAINED)),
    _case("unsubscribe 3.x", V3, "A2 08 0002 000161 000162", Unsubscribe(2, ("a", "b"))),
    _case("unsubscribe 3.1, dup", (V31,), "AA 05 0002 000161", Unsubscribe(2, ("a",)), False),
    _case(
        "unsubscribe 5",
        (V5,),
        "A2 0D 0002 07 26 00016B 000176 000161",
        Unsubscribe(2, ("a",), Properties(user_properties=(("k", "v"),))),
    ),
    _case("unsuback 3.x", V3, "B0 02 0002", UnsubAck(2)),
    _case("unsuback 5 (M49)", (V5,), "B0 05 0002 00 00 11", UnsubAck(2, (0, 0x11))),
    _case("pingreq", OLD_AND_NEW, "C0 00", PingReq()),
    _case("pingresp", OLD_AND_NEW, "D0 00", PingResp()),
    _case("disconnect", OLD_AND_NEW, "E0 00", Disconnect()),
    _case("disconnect 5, success spelt out", (V5,), "E0 01 00", Disconnect(), False),
    _case("disconnect 5, with will (M24)", (V5,), "E0 02 04 00", Disconnect(4), False),
    _case("disconnect 5, taken over", (V5,), "E0 01 8E", Disconnect(R.SESSION_TAKEN_OVER)),
    _case(
        "disconnect 5, all properties",
        (V5,),
        "E0 17 9C 15 11 00000005 1C 000173 1F 00026E6F 26 00016B 000176",
        Disconnect(
            R.USE_ANOTHER_SERVER,
            Properties(
                session_expiry_interval=5,
                server_reference="s",
                reason_string="no",
                user_properties=(("k", "v"),),
            ),
        ),
    ),
    _case("auth, success", (V5,), "F0 00", Auth()),
    _case("auth, success spelt out", (V5,), "F0 02 00 00", Auth(), False),
    _case(
        "auth, continue",
        (V5,),
        "F0 0A 18 08 15 000153 16 000101",
        Auth(R.CONTINUE_AUTHENTICATION, Properties(authentication_method="S", authentication_data=b"\x01")),
    ),
)

PACKET_CASES = CONNECT_CASES + PUBLISH_CASES + OTHER_CASES

M, P = R.MALFORMED_PACKET, R.PROTOCOL_ERROR
NEW = (V311, V5)
NO_SHARES = (
    "$share/",
    "$share/g",
    "$share/g/",
    "$share//f",
    "$share/g+/f",
    "$share/#/f",
    "$share/g/f#",
    "$queue/",
)
"""Filters that only begin like shared ones [MQTT-4.8.2-1], [MQTT-4.8.2-2]."""

_UNTRUE_FLAGS = (
    _bad_connect("no client id", V311, "02 003C", "3.1.3-3"),
    _bad_connect("no client id", V5, "02 003C 00", "3.1.3-3"),
    _bad_connect("reserved flag", V5, "03 003C 00 000163", "2.1.3-1 3.1.2-3"),
    _bad_connect("will retain without will", V5, "22 003C 00 000163", "3.1.2-13"),
    _bad_connect("will flag without will", V311, "06 003C 000163", "3.1.2-9"),
    _bad_connect("will flag without will", V5, "06 003C 00 000163", "3.1.2-9"),
    _bad_connect("will without its flag", V311, "02 003C 000163 0003772F74 000178", "3.1.2-11"),
    _bad_connect("user name without its flag", V311, "02 003C 000163 000175", "3.1.2-18"),
    _bad_connect("user name without its flag", V5, "02 003C 00 000163 000175", "3.1.2-16"),
    _bad_connect("flag without user name", V311, "82 003C 000163", "3.1.2-19"),
    _bad_connect("flag without user name", V5, "82 003C 00 000163", "3.1.2-17"),
    _bad_connect("password without its flag", V311, "82 003C 000163 000175 000170", "3.1.2-20"),
    _bad_connect("password without its flag", V5, "82 003C 00 000163 000175 000170", "3.1.2-18"),
    _bad_connect("flag without password", V311, "C2 003C 000163 000175", "3.1.2-21"),
    _bad_connect("flag without password", V5, "C2 003C 00 000163 000175", "3.1.2-19"),
)
"""CONNECT's flags and fields do not agree."""
_NOT_UTF_8 = (
    _bad_connect("id", V5, "02 003C 00 0003EDA080", "1.5.4-1 3.1.3-4"),
    _bad_connect("user name", V311, "82 003C 000163 0001FF", "1.5.3-1 3.1.3-11"),
    _bad_connect("user name", V5, "82 003C 00 000163 0001FF", "1.5.4-1 3.1.3-12"),
    _bad_connect("will topic", V311, "06 003C 000163 0001FF 0000", "1.5.3-1 3.1.3-10"),
    _bad_connect("will topic", V5, "06 003C 00 000163 00 0001FF 0000", "1.5.4-1 3.1.3-11"),
    _bad_connect("user property's name", V5, "02 003C 06 260001FF0000 0000", "1.5.7-1"),
    _bad_connect("user property's value", V5, "02 003C 06 2600000001FF 0000", "1.5.7-1"),
)
"""CONNECT's strings."""

MALFORMED_CONNECTS = (
    _bad(
        "password without user name (M04 a)",
        (V311,),
        f"10 12 {_MQTT4} 42 003C 000170 0003707764",
        M,
        v3="3.1.2-22",
    ),
    _bad(
        "will QoS without will (M04 b)", (V311,), f"10 0D {_MQTT4} 0A 003C 000171", M, v3="3.1.2-11 3.1.2-13"
    ),
    _bad("will retain without will", (V311,), f"10 0D {_MQTT4} 22 003C 000171", M, v3="3.1.2-11 3.1.2-15"),
    _bad("will QoS without will, 5", (V5,), f"10 0E {_MQTT5} 0A 003C 00 000171", M, v5="3.1.2-11"),
    _bad("reserved flag (M04 c)", (V311,), f"10 0D {_MQTT4} 03 003C 000172", M, v3="3.1.2-3"),
    _bad("will QoS 3 (M04 d)", (V311,), f"10 15 {_MQTT4} 1E 003C 000177 0003772F74 000178", M, v3="3.1.2-14"),
    _bad("will QoS 3, 5", (V5,), f"10 17 {_MQTT5} 1E 003C 00 000177 00 0003772F74 000178", M, v5="3.1.2-12"),
    _bad(
        "will topic with a wildcard",
        (V311,),
        f"10 15 {_MQTT4} 06 003C 000177 0003772F23 000178",
        R.TOPIC_NAME_INVALID,
    ),
    _bad(
        "MQTT 3 (M05 c)",
        (V311,),
        "10 0C 0004 4D515454 03 02 003C 0000",
        R.UNSUPPORTED_PROTOCOL_VERSION,
        v3="3.1.2-2",
    ),
    _bad(
        "MQTT 6 (M05 c)",
        (V5,),
        "10 0D 0004 4D515454 06 02 003C 00 0000",
        R.UNSUPPORTED_PROTOCOL_VERSION,
        v5="3.1.2-2",
    ),
    _bad(
        "MQTT 255 (M05 c)",
        (V5,),
        "10 0D 0004 4D515454 FF 02 003C 00 0000",
        R.UNSUPPORTED_PROTOCOL_VERSION,
        v5="3.1.2-2",
    ),
    _bad(
        "MQIsdp 4 (M05 c)", (V311,), "10 0E 0006 4D5149736470 04 02 003C 0000", R.UNSUPPORTED_PROTOCOL_VERSION
    ),
    _bad("bytes left over", (V311,), f"10 10 {_MQTT4} 02 003C 0003636964 00", M),
    _bad("password missing", (V311,), f"10 10 {_MQTT4} C2 003C 000163 000175", M),
    _bad("3.1, password without user name", (V31,), f"10 13 {_MQISDP} 42 003C 000163 0002 7077", M),
    _bad("id with U+0000", (V311,), f"10 0D {_MQTT4} 02 003C 000100", M, v3="1.5.3-2"),
    _bad("id with a surrogate", (V311,), f"10 0F {_MQTT4} 02 003C 0003EDA080", M, v3="1.5.3-1 3.1.3-4"),
    _bad("receive maximum 0 (M35 c)", (V5,), f"10 10 {_MQTT5} 02 003C 03 210000 0000", P),
    _bad("maximum packet size 0", (V5,), f"10 12 {_MQTT5} 02 003C 05 2700000000 0000", P),
    _bad("problem information 2", (V5,), f"10 0F {_MQTT5} 02 003C 02 1702 0000", P),
    _bad("property twice", (V5,), f"10 11 {_MQTT5} 02 003C 04 17001700 0000", P),
    _bad("property of another packet", (V5,), f"10 0F {_MQTT5} 02 003C 02 2401 0000", M),
    _bad("unknown property", (V5,), f"10 0F {_MQTT5} 02 003C 02 7F01 0000", M),
    _bad("authentication data without method", (V5,), f"10 11 {_MQTT5} 02 003C 04 16000101 0000", P),
    *_UNTRUE_FLAGS,
    *_NOT_UTF_8,
)

MALFORMED_PACKETS = (
    _bad("type 0", OLD_AND_NEW, "00 00", M),
    _bad("publish QoS 3", OLD_AND_NEW, "36 06 000161 0001 00", M, v3="3.3.1-4", v5="3.3.1-4"),
    _bad("publish QoS 0, dup", NEW, "38 04 000161 00", M, v3="3.3.1-2", v5="3.3.1-2"),
    _bad("publish, wildcard", V3, "30 05 0003 612F23", R.TOPIC_NAME_INVALID, v3="3.3.2-2 4.7.1-1"),
    _bad("publish 5, wildcard", (V5,), "30 04 00012B 00", R.TOPIC_NAME_INVALID, v5="3.3.2-2 4.7.0-1"),
    _bad("publish, no topic", V3, "30 02 0000", R.TOPIC_NAME_INVALID, v3="4.7.3-1"),
    _bad("publish 5, no topic and no alias (M37 f)", (V5,), "30 03 0000 00", P, v5="4.7.3-1"),
    _bad("publish 5, alias 0 (M37 a)", (V5,), "30 07 000161 03 230000", R.TOPIC_ALIAS_INVALID, v5="3.3.2-8"),
    _bad("publish, U+0000", OLD_AND_NEW, "30 04 000100 00", M, v3="1.5.3-2 4.7.3-2", v5="1.5.4-2 4.7.3-2"),
    _bad(
        "publish, not UTF-8", OLD_AND_NEW, "30 05 0002C080 00", M, v3="1.5.3-1 3.3.2-1", v5="1.5.4-1 3.3.2-1"
    ),
    _bad("publish, topic cut", OLD_AND_NEW, "30 03 000561", M),
    _bad("publish, id cut", OLD_AND_NEW, "32 04 000161 00", M),
    _bad("publish, id 0", OLD_AND_NEW, "32 06 000161 0000 00", P, v3="2.3.1-1", v5="2.2.1-3"),
    _bad("publish 5, no properties", (V5,), "30 03 000161", M, v5="2.2.2-1"),
    _bad(
        "publish 5, non-minimal property length (M06 d)", (V5,), "32 08 000170 0009 8000 78", M, v5="1.5.5-1"
    ),
    _bad("publish 5, property length too large", (V5,), "30 05 000161 05 01", M),
    _bad("publish 5, format 2", (V5,), "30 06 000161 02 0102", P),
    _bad("publish 5, response topic with a wildcard", (V5,), "30 08 000161 04 0800012B", P, v5="3.3.2-14"),
    _bad("publish 5, subscription identifier 0", (V5,), "30 06 000161 02 0B00", P),
    _bad("puback 3.x, reason", V3, "40 03 0001 00", M),
    _bad("puback, cut", OLD_AND_NEW, "40 01 00", M),
    _bad("puback, id 0", OLD_AND_NEW, "40 02 0000", P),
    _bad("puback 5, reason of another packet", (V5,), "40 03 0001 92", M),
    _bad("puback 5, bytes left over", (V5,), "40 05 0001 00 00 00", M),
    _bad(
        "pubrel, wrong flags (M31)", OLD_AND_NEW, "60 02 1234", M, v3="2.2.2-2 3.6.1-1", v5="2.1.3-1 3.6.1-1"
    ),
    _bad("pubrel 3.1.1, dup", NEW, "6A 02 1234", M),
    _bad(
        "subscribe, wrong flags",
        OLD_AND_NEW,
        "80 06 0002 000161 00",
        M,
        v3="2.2.2-2 3.8.1-1",
        v5="2.1.3-1 3.8.1-1",
    ),
    _bad("subscribe, no filter", V3, "82 02 0002", P, v3="3.8.3-3"),
    _bad("subscribe 5, no filter", (V5,), "82 03 0002 00", P, v5="3.8.3-2"),
    _bad("subscribe, no options", V3, "82 05 0002 000161", M),
    _bad("subscribe, id 0", V3, "82 06 0000 000161 00", P, v3="2.3.1-1"),
    _bad("subscribe, QoS 3", V3, "82 06 0002 000161 03", P, v3="3.8.3-4"),
    _bad("subscribe 3.1.1, reserved bit", (V311,), "82 06 0002 000161 04", M, v3="3.8.3-4"),
    _bad("subscribe 5, reserved bit", (V5,), "82 07 0002 00 000161 40", M, v5="3.8.3-5"),
    _bad("subscribe 5, retain handling 3", (V5,), "82 07 0002 00 000161 30", P),
    _bad("subscribe 5, two identifiers", (V5,), "82 0B 0002 04 0B010B02 000161 00", P),
    _bad(
        "subscribe 5, no local on a share",
        (V5,),
        "82 10 0002 00 000A" + b"$share/g/+".hex() + "04",
        P,
        v5="3.8.3-4",
    ),
    _bad(
        "subscribe 5, no local on a queue",
        (V5,),
        "82 0E 0002 00 0008" + b"$queue/a".hex() + "04",
        P,
        v5="3.8.3-4",
    ),
    *(
        _bad(f"subscribe, filter {filter}", V3, _subscribe_3(filter), R.TOPIC_FILTER_INVALID)
        for filter in NO_SHARES
    ),
    _bad("subscribe, filter a#", V3, "82 07 0002 00026123 00", R.TOPIC_FILTER_INVALID, v3="4.7.1-2"),
    _bad("subscribe, empty filter", V3, "82 05 0002 0000 00", R.TOPIC_FILTER_INVALID, v3="4.7.3-1"),
    _bad("unsubscribe, no filter", V3, "A2 02 0002", P, v3="3.10.3-2"),
    _bad("unsubscribe, filter +a", V3, "A2 06 0002 00022B61", R.TOPIC_FILTER_INVALID, v3="4.7.1-3"),
    _bad("pingreq with a body (M06 a)", OLD_AND_NEW, "C0 02 C000", M),
    _bad("pingresp with a body", OLD_AND_NEW, "D0 01 00", M),
    _bad(
        "disconnect, wrong flags (M24)", OLD_AND_NEW, "E1 00", M, v3="2.2.2-2 3.14.1-1", v5="2.1.3-1 3.14.1-1"
    ),
    _bad("disconnect 3.x with a body", V3, "E0 01 00", M),
    _bad("disconnect 5, unknown reason (M24)", (V5,), "E0 02 FF 00", M),
    _bad("disconnect 5, bytes left over", (V5,), "E0 03 00 00 00", M),
    _bad("auth in 3.x", V3, "F0 00", M),
    _bad("auth, unknown reason", (V5,), "F0 02 01 00", M),
    _bad("auth, no property length", (V5,), "F0 01 18", M),
    _bad("connack, reserved flag", OLD_AND_NEW, "20 03 02 00 00", M),
    _bad("connack 3.x, reserved code", V3, "20 02 00 06", M),
    _bad("connack 5, unknown reason", (V5,), "20 03 00 92 00", M),
    _bad("suback 3.x, 0x87", V3, "90 03 0002 87", M),
    _bad("suback, empty", V3, "90 02 0002", M),
    _bad("unsuback 3.x, codes", V3, "B0 03 0002 00", M),
    _bad("unsuback 5, empty", (V5,), "B0 03 0002 00", M),
    _bad("length of five bytes (M06 b)", OLD_AND_NEW, "30 FFFFFFFF 01", M),
    _bad("length in more bytes than need be", (V5,), "C0 80 00", M, v5="1.5.5-1"),
    _bad("publish 5, response topic not UTF-8", (V5,), "30 08 000161 04 080001FF", M, v5="3.3.2-13"),
    _bad("publish 5, content type not UTF-8", (V5,), "30 08 000161 04 030001FF", M, v5="3.3.2-19"),
    _bad("publish 5, user property not UTF-8", (V5,), "30 0A 000161 06 260001FF0000", M, v5="1.5.7-1"),
    _bad("subscribe, filter not UTF-8", V3, "82 06 0002 0001FF 00", M, v3="3.8.3-1"),
    _bad("subscribe 5, filter not UTF-8", (V5,), "82 07 0002 00 0001FF 00", M, v5="3.8.3-1"),
    _bad("unsubscribe, filter not UTF-8", V3, "A2 05 0002 0001FF", M, v3="3.10.3-1"),
    _bad("unsubscribe 5, filter not UTF-8", (V5,), "A2 06 0002 00 0001FF", M, v5="3.10.3-1"),
    _bad("unsubscribe, wrong flags", OLD_AND_NEW, "A0 05 0002 000161", M, v3="3.10.1-1", v5="3.10.1-1"),
    _bad("unsubscribe, id 0", V3, "A2 05 0000 000161", P, v3="2.3.1-1"),
    _bad("unsubscribe 5, no filter", (V5,), "A2 03 0002 00", P, v5="3.10.3-2"),
    _bad("auth, wrong flags", (V5,), "F1 00", M, v5="3.15.1-1"),
)
