"""From packets to bytes: one writer a packet type, in one table.

Each writer returns the body; ``write_packet`` puts the fixed header in front. What a version does not have is left out
(a reason code in MQTT 3.1.1) where that loses nothing but diagnosis, and refused where it would change the meaning.
"""

from collections.abc import Callable
from typing import Any

from contracts.errors import TopicError
from contracts.topics import validate_filter, validate_topic
from edge.mqtt.errors import LocalProtocolError
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
    UnsubAck,
    Unsubscribe,
    Will,
)
from edge.mqtt.primitives import (
    encode_binary,
    encode_byte,
    encode_string,
    encode_two_byte,
    encode_variable,
)
from edge.mqtt.properties import NO_PROPERTIES, WILL, Properties, encode_properties
from edge.mqtt.protocol import PROTOCOL_NAMES, PacketType, ProtocolVersion
from edge.mqtt.reason_codes import ALLOWED_CODES, return_code, suback_code

V5 = ProtocolVersion.V5
_NAMES = {version: name for (name, _level), version in PROTOCOL_NAMES.items()}


def write_packet(packet: Packet, version: ProtocolVersion) -> bytes:
    """The packet as it goes onto the wire.

    Raises:
        LocalProtocolError: The packet breaks a rule of ``version``.
    """
    kind, flags, write = WRITERS[type(packet)]
    if type(packet) is Publish:
        flags = _publish_flags(packet)
    body = write(packet, version)
    return bytes((kind << 4 | flags,)) + encode_variable(len(body)) + body


def _properties(properties: Properties, place: int, version: ProtocolVersion) -> bytes:
    return encode_properties(properties, place) if version is V5 else b""


def _packet_id(packet_id: int) -> bytes:
    if not 1 <= packet_id <= 0xFFFF:
        raise LocalProtocolError(f"packet identifier {packet_id} is not in 1 to 65,535")  # [MQTT-2.2.1-3]
    return packet_id.to_bytes(2, "big")


def _topic(topic: str) -> bytes:
    try:
        validate_topic(topic)
    except TopicError as error:
        raise LocalProtocolError(str(error)) from None
    return encode_string(topic)


def _filter(topic_filter: str) -> bytes:
    try:
        validate_filter(topic_filter)
    except TopicError as error:
        raise LocalProtocolError(str(error)) from None
    return encode_string(topic_filter)


def _write_connect(packet: Connect, version: ProtocolVersion) -> bytes:
    if packet.version is not version:
        raise LocalProtocolError("a CONNECT is written in its own version")
    if packet.password is not None and packet.user_name is None and version is not V5:
        raise LocalProtocolError("a password needs a user name")  # [MQTT-3.1.2-22] of 3.1.1
    flags = 2 * packet.clean_start
    flags |= 0x80 * (packet.user_name is not None) | 0x40 * (packet.password is not None)
    parts = [encode_string(packet.client_id)]
    if packet.will is not None:
        flags |= 4 | _qos(packet.will.qos) << 3 | 0x20 * packet.will.retain
        parts.append(_write_will(packet.will, version))
    if packet.user_name is not None:
        parts.append(encode_string(packet.user_name))
    if packet.password is not None:
        parts.append(encode_binary(packet.password))
    head = encode_binary(_NAMES[version]) + bytes((version, flags)) + encode_two_byte(packet.keep_alive)
    return head + _properties(packet.properties, PacketType.CONNECT, version) + b"".join(parts)


def _write_will(will: Will, version: ProtocolVersion) -> bytes:
    return _properties(will.properties, WILL, version) + _topic(will.topic) + encode_binary(will.payload)


def _qos(qos: int) -> int:
    if qos not in (0, 1, 2):
        raise LocalProtocolError(f"QoS {qos} is not 0, 1 or 2")  # [MQTT-3.3.1-4]
    return qos


def _write_connack(packet: ConnAck, version: ProtocolVersion) -> bytes:
    if packet.session_present and packet.reason_code:
        raise LocalProtocolError("a refused connection has no session")  # [MQTT-3.2.2-6]
    if version is V5:
        code = _reason(packet.reason_code, PacketType.CONNACK)
        tail = encode_properties(packet.properties, PacketType.CONNACK)
        return bytes((packet.session_present, code)) + tail
    old_code = return_code(packet.reason_code)
    if old_code is None:
        raise LocalProtocolError(f"MQTT 3.x has no return code for reason {packet.reason_code:#04x}")
    return bytes((packet.session_present, old_code))


def _reason(reason: int, kind: PacketType) -> int:
    if reason not in ALLOWED_CODES[kind]:
        raise LocalProtocolError(f"{kind.name} must not carry the reason code {reason:#04x}")
    return reason


def _publish_flags(packet: Publish) -> int:
    if packet.dup and not packet.qos:
        raise LocalProtocolError("DUP needs a QoS above 0")  # [MQTT-3.3.1-2]
    return 8 * packet.dup | _qos(packet.qos) << 1 | packet.retain


def _write_publish(packet: Publish, version: ProtocolVersion) -> bytes:
    has_alias = version is V5 and packet.properties.topic_alias is not None
    topic = b"\0\0" if has_alias and not packet.topic else _topic(packet.topic)
    packet_id = _packet_id(packet.packet_id) if packet.qos else b""
    return topic + packet_id + _properties(packet.properties, PacketType.PUBLISH, version) + packet.payload


def _write_acknowledgement(packet: PubAck, version: ProtocolVersion) -> bytes:
    packet_id = _packet_id(packet.packet_id)
    if version is not V5:
        return packet_id
    kind = WRITERS[type(packet)][0]
    return packet_id + _reason_and_properties(packet.reason_code, packet.properties, kind)


def _reason_and_properties(reason: int, properties: Properties, kind: PacketType) -> bytes:
    """Both, or as little as says the same: nothing for plain success, no properties where there are none."""
    code = _reason(reason, kind)
    if properties is not NO_PROPERTIES and properties != NO_PROPERTIES:
        return bytes((code,)) + encode_properties(properties, kind)
    return bytes((code,)) if code else b""


def _write_subscribe(packet: Subscribe, version: ProtocolVersion) -> bytes:
    if not packet.subscriptions:
        raise LocalProtocolError("a SUBSCRIBE needs a topic filter")  # [MQTT-3.8.3-2]
    parts = [_packet_id(packet.packet_id), _properties(packet.properties, PacketType.SUBSCRIBE, version)]
    for subscription in packet.subscriptions:
        options = _qos(subscription.qos)
        if version is V5:
            options |= 4 * subscription.no_local | 8 * subscription.retain_as_published
            options |= subscription.retain_handling << 4
        parts += (_filter(subscription.filter), encode_byte(options))
    return b"".join(parts)


def _write_suback(packet: SubAck, version: ProtocolVersion) -> bytes:
    codes = [
        suback_code(_reason(code, PacketType.SUBACK), is_v5=version is V5) for code in packet.reason_codes
    ]
    properties = _properties(packet.properties, PacketType.SUBACK, version)
    return _packet_id(packet.packet_id) + properties + bytes(codes)


def _write_unsubscribe(packet: Unsubscribe, version: ProtocolVersion) -> bytes:
    if not packet.filters:
        raise LocalProtocolError("an UNSUBSCRIBE needs a topic filter")  # [MQTT-3.10.3-2]
    head = _packet_id(packet.packet_id) + _properties(packet.properties, PacketType.UNSUBSCRIBE, version)
    return head + b"".join(map(_filter, packet.filters))


def _write_unsuback(packet: UnsubAck, version: ProtocolVersion) -> bytes:
    if version is not V5:
        return _packet_id(packet.packet_id)
    codes = bytes(_reason(code, PacketType.UNSUBACK) for code in packet.reason_codes)
    return _packet_id(packet.packet_id) + encode_properties(packet.properties, PacketType.UNSUBACK) + codes


def _write_nothing(_packet: PingReq | PingResp, _version: ProtocolVersion) -> bytes:
    return b""


def _write_disconnect(packet: Disconnect, version: ProtocolVersion) -> bytes:
    if version is not V5:
        return b""
    return _reason_and_properties(packet.reason_code, packet.properties, PacketType.DISCONNECT)


def _write_auth(packet: Auth, version: ProtocolVersion) -> bytes:
    if version is not V5:
        raise LocalProtocolError("AUTH is of MQTT 5.0 alone")
    code = _reason(packet.reason_code, PacketType.AUTH)
    if not code and packet.properties == NO_PROPERTIES:
        return b""
    return bytes((code,)) + encode_properties(packet.properties, PacketType.AUTH)


WRITERS: dict[type[Any], tuple[PacketType, int, Callable[[Any, ProtocolVersion], bytes]]] = {
    Connect: (PacketType.CONNECT, 0, _write_connect),
    ConnAck: (PacketType.CONNACK, 0, _write_connack),
    Publish: (PacketType.PUBLISH, 0, _write_publish),
    PubAck: (PacketType.PUBACK, 0, _write_acknowledgement),
    PubRec: (PacketType.PUBREC, 0, _write_acknowledgement),
    PubRel: (PacketType.PUBREL, 2, _write_acknowledgement),
    PubComp: (PacketType.PUBCOMP, 0, _write_acknowledgement),
    Subscribe: (PacketType.SUBSCRIBE, 2, _write_subscribe),
    SubAck: (PacketType.SUBACK, 0, _write_suback),
    Unsubscribe: (PacketType.UNSUBSCRIBE, 2, _write_unsubscribe),
    UnsubAck: (PacketType.UNSUBACK, 0, _write_unsuback),
    PingReq: (PacketType.PINGREQ, 0, _write_nothing),
    PingResp: (PacketType.PINGRESP, 0, _write_nothing),
    Disconnect: (PacketType.DISCONNECT, 0, _write_disconnect),
    Auth: (PacketType.AUTH, 0, _write_auth),
}
"""For each packet class its type, the flags of its first byte, and its writer."""
