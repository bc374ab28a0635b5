"""From bytes to packets: one reader a packet type, in one table.

A reader gets the first byte, the body and the version, and knows nothing of a connection's state. Every fault is a
``RemoteProtocolError``.
"""

from collections.abc import Callable

from contracts.errors import TopicError
from contracts.topics import SHARE_PREFIX, canonical_filter, validate_filter, validate_topic
from edge.mqtt.errors import RemoteProtocolError, malformed, violation
from edge.mqtt.packets import (
    Auth,
    ConnAck,
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
)
from edge.mqtt.primitives import Cursor, decode_string
from edge.mqtt.properties import NO_PROPERTIES, Properties, read_properties
from edge.mqtt.protocol import PacketType, ProtocolVersion
from edge.mqtt.reading_connect import read_connect
from edge.mqtt.reason_codes import ALLOWED_CODES, SUBACK_CODES_V3, ReasonCode, reason_of_return_code

V5 = ProtocolVersion.V5

_TOPIC_CACHE_ENTRIES = 4096
"""Devices publish on few topics over and over; this bounds the cache to about 1.5 MB with the next figure."""
_TOPIC_CACHE_BYTES = 256
"""Longer topics are validated each time."""
_topics: dict[bytes, str] = {}


def read_packet(first: int, body: bytes, version: ProtocolVersion) -> Packet:
    """The packet in a frame.

    Args:
        first: The packet's first byte, already known to be one that ``version`` has.
        body: All after the fixed header.
        version: The connection's version; a CONNECT tells its own.

    Raises:
        RemoteProtocolError: The packet is malformed or breaks a rule that can be seen without the connection's state.
    """
    return READERS[first >> 4](first, body, version)


def read_publish(first: int, body: bytes, version: ProtocolVersion) -> Publish:
    """Read PUBLISH. The hot path: no cursor, and topics that were seen before are not validated again."""
    try:
        at = 2 + (body[0] << 8 | body[1])
        topic = _topics.get(body[2:at])
        if topic is None:
            topic = _new_topic(body, at, version)
        qos = first >> 1 & 3
        packet_id = 0
        if qos:
            packet_id = body[at] << 8 | body[at + 1]
            at += 2
            if not packet_id:
                raise violation("a PUBLISH has the packet identifier 0")  # [MQTT-2.2.1-3]
        properties = NO_PROPERTIES
        if version == 5:
            if body[at]:
                cursor = Cursor(body, at)
                properties = read_properties(cursor, PacketType.PUBLISH)
                at = cursor.at
            else:
                at += 1
            if not topic and properties.topic_alias is None:
                raise violation("a PUBLISH has neither a topic nor a topic alias")
    except IndexError:
        raise malformed("a PUBLISH ends before its payload") from None
    if at > len(body):
        raise malformed("a PUBLISH ends before its payload")
    return Publish(topic, body[at:], qos, first & 1 == 1, first & 8 == 8, packet_id, properties)


def _new_topic(body: bytes, end: int, version: ProtocolVersion) -> str:
    """The topic at the start of a PUBLISH, validated, and kept for the next time."""
    if end > len(body):
        raise malformed("a PUBLISH ends before its payload")
    encoded = body[2:end]
    topic = decode_string(encoded)
    if not topic and version is V5:
        return topic  # A topic alias may stand for it.
    try:
        validate_topic(topic)
    except TopicError as error:
        raise RemoteProtocolError(ReasonCode.TOPIC_NAME_INVALID, str(error)) from None
    if len(encoded) <= _TOPIC_CACHE_BYTES:
        if len(_topics) >= _TOPIC_CACHE_ENTRIES:
            _topics.clear()
        _topics[encoded] = topic
    return topic


def _packet_id(cursor: Cursor) -> int:
    packet_id = cursor.two_byte()
    if not packet_id:
        raise violation("a packet identifier is 0")  # [MQTT-2.2.1-3]
    return packet_id


def _read_acknowledgement(packet_class: type[PubAck], kind: PacketType) -> Callable[..., PubAck]:
    codes = ALLOWED_CODES[kind]

    def read(_first: int, body: bytes, version: ProtocolVersion) -> PubAck:
        if len(body) == 2 and (body[0] or body[1]):
            return packet_class(body[0] << 8 | body[1])
        cursor = Cursor(body)
        packet_id = _packet_id(cursor)
        if version is not V5:
            cursor.finish()
        reason = _reason(cursor, codes)
        return packet_class(packet_id, reason, _closing_properties(cursor, kind))

    return read


def _reason(cursor: Cursor, codes: frozenset[int]) -> int:
    reason = cursor.byte()
    if reason not in codes:
        raise malformed(f"this packet must not carry the reason code {reason:#04x}")
    return reason


def _closing_properties(cursor: Cursor, kind: PacketType) -> Properties:
    """Properties that end the packet, and that may be left out together with their length."""
    if not cursor.remaining:
        return NO_PROPERTIES
    properties = read_properties(cursor, kind)
    cursor.finish()
    return properties


def _read_connack(_first: int, body: bytes, version: ProtocolVersion) -> ConnAck:
    cursor = Cursor(body)
    flags = cursor.byte()
    if flags > 1:
        raise malformed("CONNACK has a reserved flag set")  # [MQTT-3.2.2-1]
    if version is not V5:
        reason = reason_of_return_code(cursor.byte())
        cursor.finish()
        if reason is None:
            raise malformed("CONNACK has a reserved return code")
        return ConnAck(flags == 1, reason)
    code = _reason(cursor, ALLOWED_CODES[PacketType.CONNACK])
    properties = read_properties(cursor, PacketType.CONNACK)
    cursor.finish()
    return ConnAck(flags == 1, code, properties)


def _read_subscribe(_first: int, body: bytes, version: ProtocolVersion) -> Subscribe:
    cursor = Cursor(body)
    packet_id = _packet_id(cursor)
    properties = read_properties(cursor, PacketType.SUBSCRIBE) if version is V5 else NO_PROPERTIES
    if len(properties.subscription_identifiers) > 1:
        raise violation("a SUBSCRIBE has more than one subscription identifier")
    subscriptions = []
    while cursor.remaining:
        topic_filter = _filter(cursor)
        subscriptions.append(_subscription(topic_filter, cursor.byte(), version))
    if not subscriptions:
        raise violation("a SUBSCRIBE has no topic filter")  # [MQTT-3.8.3-2]
    return Subscribe(packet_id, tuple(subscriptions), properties)


def _filter(cursor: Cursor) -> str:
    """The next filter, in its canonical form: from here on, a queue is a share group like any other."""
    topic_filter = cursor.string()
    try:
        validate_filter(topic_filter)  # [MQTT-4.8.2-1], [MQTT-4.8.2-2]
    except TopicError as error:
        raise RemoteProtocolError(ReasonCode.TOPIC_FILTER_INVALID, str(error)) from None
    return canonical_filter(topic_filter)


def _subscription(topic_filter: str, options: int, version: ProtocolVersion) -> Subscription:
    if version is ProtocolVersion.V3_1:
        options &= 3  # MQTT 3.1 reserves the other bits without a word on their value.
    elif options & (0xC0 if version is V5 else 0xFC):
        raise malformed("subscription options have a reserved bit set")  # [MQTT-3.8.3-5]
    qos, handling = options & 3, options >> 4 & 3
    if qos == 3 or handling == 3:
        raise violation("subscription options have a QoS or retain handling of 3")
    no_local = options & 4 == 4
    if no_local and topic_filter.startswith(SHARE_PREFIX):
        raise violation("a shared subscription must not have No Local")  # [MQTT-3.8.3-4]
    return Subscription(topic_filter, qos, no_local, options & 8 == 8, handling)


def _read_suback(_first: int, body: bytes, version: ProtocolVersion) -> SubAck:
    cursor = Cursor(body)
    packet_id = _packet_id(cursor)
    properties = read_properties(cursor, PacketType.SUBACK) if version is V5 else NO_PROPERTIES
    codes = ALLOWED_CODES[PacketType.SUBACK] if version is V5 else SUBACK_CODES_V3
    return SubAck(packet_id, _reasons(cursor, codes), properties)


def _reasons(cursor: Cursor, codes: frozenset[int]) -> tuple[int, ...]:
    reasons = tuple(cursor.take(cursor.remaining))
    if not reasons or not codes.issuperset(reasons):
        raise malformed("an acknowledgement has no reason code, or one that it must not carry")
    return reasons


def _read_unsubscribe(_first: int, body: bytes, version: ProtocolVersion) -> Unsubscribe:
    cursor = Cursor(body)
    packet_id = _packet_id(cursor)
    properties = read_properties(cursor, PacketType.UNSUBSCRIBE) if version is V5 else NO_PROPERTIES
    filters = []
    while cursor.remaining:
        filters.append(_filter(cursor))
    if not filters:
        raise violation("an UNSUBSCRIBE has no topic filter")  # [MQTT-3.10.3-2]
    return Unsubscribe(packet_id, tuple(filters), properties)


def _read_unsuback(_first: int, body: bytes, version: ProtocolVersion) -> UnsubAck:
    cursor = Cursor(body)
    packet_id = _packet_id(cursor)
    if version is not V5:
        cursor.finish()
        return UnsubAck(packet_id)
    properties = read_properties(cursor, PacketType.UNSUBACK)
    return UnsubAck(packet_id, _reasons(cursor, ALLOWED_CODES[PacketType.UNSUBACK]), properties)


def _read_pingreq(_first: int, body: bytes, _version: ProtocolVersion) -> PingReq:
    Cursor(body).finish()
    return PingReq()


def _read_pingresp(_first: int, body: bytes, _version: ProtocolVersion) -> PingResp:
    Cursor(body).finish()
    return PingResp()


def _read_disconnect(_first: int, body: bytes, version: ProtocolVersion) -> Disconnect:
    cursor = Cursor(body)
    if version is not V5:
        cursor.finish()
    if not body:
        return Disconnect()
    reason = _reason(cursor, ALLOWED_CODES[PacketType.DISCONNECT])
    return Disconnect(reason, _closing_properties(cursor, PacketType.DISCONNECT))


def _read_auth(_first: int, body: bytes, _version: ProtocolVersion) -> Auth:
    if not body:
        return Auth()
    cursor = Cursor(body)
    reason = _reason(cursor, ALLOWED_CODES[PacketType.AUTH])
    properties = read_properties(cursor, PacketType.AUTH)
    cursor.finish()
    return Auth(reason, properties)


READERS: dict[int, Callable[[int, bytes, ProtocolVersion], Packet]] = {
    PacketType.CONNECT: read_connect,
    PacketType.CONNACK: _read_connack,
    PacketType.PUBLISH: read_publish,
    PacketType.PUBACK: _read_acknowledgement(PubAck, PacketType.PUBACK),
    PacketType.PUBREC: _read_acknowledgement(PubRec, PacketType.PUBREC),
    PacketType.PUBREL: _read_acknowledgement(PubRel, PacketType.PUBREL),
    PacketType.PUBCOMP: _read_acknowledgement(PubComp, PacketType.PUBCOMP),
    PacketType.SUBSCRIBE: _read_subscribe,
    PacketType.SUBACK: _read_suback,
    PacketType.UNSUBSCRIBE: _read_unsubscribe,
    PacketType.UNSUBACK: _read_unsuback,
    PacketType.PINGREQ: _read_pingreq,
    PacketType.PINGRESP: _read_pingresp,
    PacketType.DISCONNECT: _read_disconnect,
    PacketType.AUTH: _read_auth,
}
"""The reader of each packet type."""
