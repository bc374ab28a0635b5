"""The properties of MQTT 5.0 (section 2.2.2) in one table, and the value that holds a packet's properties.

A property that is absent is None (or the empty tuple where it may repeat). The table is the only place that knows
identifiers, data types, where a property may stand, whether it may repeat, and which values it may have.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from edge.mqtt.errors import LocalProtocolError, RemoteProtocolError, malformed, violation
from edge.mqtt.primitives import (
    Cursor,
    encode_binary,
    encode_byte,
    encode_four_byte,
    encode_string,
    encode_string_pair,
    encode_two_byte,
    encode_variable,
)
from edge.mqtt.protocol import PacketType as P
from edge.mqtt.reason_codes import ReasonCode

WILL = 0
"""The place of the Will Properties in CONNECT's payload; packet type 0 is reserved, so the number is free."""


@dataclass(frozen=True)
class Properties:
    """The properties of one packet.

    Without slots on purpose: what is absent then lives in the class alone, and reading a packet sets only what came.
    """

    payload_format_indicator: int | None = None
    """1 when the payload is UTF-8 text, 0 when it is unspecified bytes."""
    message_expiry_interval: int | None = None
    """Seconds that the message has left to live."""
    content_type: str | None = None
    """The publisher's name for the payload's format."""
    response_topic: str | None = None
    """The topic of the answer to a request."""
    correlation_data: bytes | None = None
    """What lets the requester tell which request an answer is for."""
    subscription_identifiers: tuple[int, ...] = ()
    """One in SUBSCRIBE; in PUBLISH those of all subscriptions that matched."""
    session_expiry_interval: int | None = None
    """Seconds that the session outlives its connection; 0xFFFFFFFF is for ever."""
    assigned_client_identifier: str | None = None
    """The client id that the server chose."""
    server_keep_alive: int | None = None
    """The keep alive in seconds that the client must use instead of its own."""
    authentication_method: str | None = None
    """The name of the method of enhanced authentication."""
    authentication_data: bytes | None = None
    """The method's own data."""
    request_problem_information: int | None = None
    """0 forbids Reason Strings and User Properties where they are not needed."""
    will_delay_interval: int | None = None
    """Seconds between the connection's end and the will's publication."""
    request_response_information: int | None = None
    """1 asks for Response Information in CONNACK."""
    response_information: str | None = None
    """What response topics are to start with."""
    server_reference: str | None = None
    """Another server to use."""
    reason_string: str | None = None
    """A sentence for diagnosis, not to be parsed."""
    receive_maximum: int | None = None
    """How many QoS 1 and 2 messages the sender of this property handles at a time."""
    topic_alias_maximum: int | None = None
    """The highest topic alias that the sender of this property accepts."""
    topic_alias: int | None = None
    """The number that stands for the topic on this connection."""
    maximum_qos: int | None = None
    """0 or 1 when the server does not do QoS 2."""
    retain_available: int | None = None
    """0 when the server does not keep retained messages."""
    user_properties: tuple[tuple[str, str], ...] = ()
    """Name and value pairs in order; names may repeat."""
    maximum_packet_size: int | None = None
    """The largest packet in bytes that the sender of this property accepts."""
    wildcard_subscription_available: int | None = None
    """0 when the server does not do wildcards."""
    subscription_identifier_available: int | None = None
    """0 when the server does not do subscription identifiers."""
    shared_subscription_available: int | None = None
    """0 when the server does not do shared subscriptions."""

    def __repr__(self) -> str:
        return (
            f"Properties({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items() if value)})"
        )


NO_PROPERTIES = Properties()
"""The shared value of packets without properties."""


class _Codec(NamedTuple):
    read: Callable[[Cursor], Any]
    write: Callable[[Any], bytes]


_BYTE = _Codec(Cursor.byte, encode_byte)
_TWO_BYTE = _Codec(Cursor.two_byte, encode_two_byte)
_FOUR_BYTE = _Codec(Cursor.four_byte, encode_four_byte)
_VARIABLE = _Codec(Cursor.variable, encode_variable)
_STRING = _Codec(Cursor.string, encode_string)
_BINARY = _Codec(Cursor.binary, encode_binary)
_STRING_PAIR = _Codec(Cursor.string_pair, encode_string_pair)


def _flag(value: Any) -> bool:
    return value in (0, 1)


def _positive(value: Any) -> bool:
    return bool(value > 0)


def _no_wildcard(value: Any) -> bool:
    return "+" not in value and "#" not in value  # [MQTT-3.3.2-14]


class PropertyRow(NamedTuple):
    """One row of the table in section 2.2.2.2."""

    identifier: int
    name: str
    codec: _Codec
    places: frozenset[int]
    repeatable: bool = False
    is_valid: Callable[[Any], bool] | None = None
    fault: ReasonCode = ReasonCode.PROTOCOL_ERROR
    """The reason code of a value that ``is_valid`` refuses."""


def _in(*places: int) -> frozenset[int]:
    return frozenset(places)


_ANSWERS = (P.CONNACK, P.PUBACK, P.PUBREC, P.PUBREL, P.PUBCOMP, P.SUBACK, P.UNSUBACK, P.DISCONNECT, P.AUTH)
_EVERYWHERE = _in(WILL, P.CONNECT, P.PUBLISH, P.SUBSCRIBE, P.UNSUBSCRIBE, *_ANSWERS)

PROPERTY_TABLE: tuple[PropertyRow, ...] = (
    PropertyRow(0x01, "payload_format_indicator", _BYTE, _in(P.PUBLISH, WILL), is_valid=_flag),
    PropertyRow(0x02, "message_expiry_interval", _FOUR_BYTE, _in(P.PUBLISH, WILL)),
    PropertyRow(0x03, "content_type", _STRING, _in(P.PUBLISH, WILL)),
    PropertyRow(0x08, "response_topic", _STRING, _in(P.PUBLISH, WILL), is_valid=_no_wildcard),
    PropertyRow(0x09, "correlation_data", _BINARY, _in(P.PUBLISH, WILL)),
    PropertyRow(0x0B, "subscription_identifiers", _VARIABLE, _in(P.PUBLISH, P.SUBSCRIBE), True, _positive),
    PropertyRow(0x11, "session_expiry_interval", _FOUR_BYTE, _in(P.CONNECT, P.CONNACK, P.DISCONNECT)),
    PropertyRow(0x12, "assigned_client_identifier", _STRING, _in(P.CONNACK)),
    PropertyRow(0x13, "server_keep_alive", _TWO_BYTE, _in(P.CONNACK)),
    PropertyRow(0x15, "authentication_method", _STRING, _in(P.CONNECT, P.CONNACK, P.AUTH)),
    PropertyRow(0x16, "authentication_data", _BINARY, _in(P.CONNECT, P.CONNACK, P.AUTH)),
    PropertyRow(0x17, "request_problem_information", _BYTE, _in(P.CONNECT), is_valid=_flag),
    PropertyRow(0x18, "will_delay_interval", _FOUR_BYTE, _in(WILL)),
    PropertyRow(0x19, "request_response_information", _BYTE, _in(P.CONNECT), is_valid=_flag),
    PropertyRow(0x1A, "response_information", _STRING, _in(P.CONNACK)),
    PropertyRow(0x1C, "server_reference", _STRING, _in(P.CONNACK, P.DISCONNECT)),
    PropertyRow(0x1F, "reason_string", _STRING, _in(*_ANSWERS)),
    PropertyRow(0x21, "receive_maximum", _TWO_BYTE, _in(P.CONNECT, P.CONNACK), is_valid=_positive),
    PropertyRow(0x22, "topic_alias_maximum", _TWO_BYTE, _in(P.CONNECT, P.CONNACK)),
    PropertyRow(  # [MQTT-3.3.2-8]
        0x23,
        "topic_alias",
        _TWO_BYTE,
        _in(P.PUBLISH),
        is_valid=_positive,
        fault=ReasonCode.TOPIC_ALIAS_INVALID,
    ),
    PropertyRow(0x24, "maximum_qos", _BYTE, _in(P.CONNACK), is_valid=_flag),
    PropertyRow(0x25, "retain_available", _BYTE, _in(P.CONNACK), is_valid=_flag),
    PropertyRow(0x26, "user_properties", _STRING_PAIR, _EVERYWHERE, True),
    PropertyRow(0x27, "maximum_packet_size", _FOUR_BYTE, _in(P.CONNECT, P.CONNACK), is_valid=_positive),
    PropertyRow(0x28, "wildcard_subscription_available", _BYTE, _in(P.CONNACK), is_valid=_flag),
    PropertyRow(0x29, "subscription_identifier_available", _BYTE, _in(P.CONNACK), is_valid=_flag),
    PropertyRow(0x2A, "shared_subscription_available", _BYTE, _in(P.CONNACK), is_valid=_flag),
)

_ROWS = {row.identifier: row for row in PROPERTY_TABLE}


def read_properties(cursor: Cursor, place: int) -> Properties:
    """The properties at the cursor, which may stand in ``place`` (a packet type, or ``WILL``).

    Raises:
        RemoteProtocolError: 0x81 for an unknown or misplaced identifier or a broken value, 0x82 for one that repeats
            though it may not, and the row's own fault for a value out of range.
    """
    length = cursor.variable()
    if length == 0:
        return NO_PROPERTIES
    if length > cursor.remaining:
        raise malformed("the property length is larger than the packet")
    inner = Cursor(cursor.data, cursor.at, cursor.at + length)
    values: dict[str, Any] = {}
    while inner.at < inner.end:
        _read_property(inner, place, values)
    cursor.at = inner.end
    properties = Properties.__new__(Properties)
    properties.__dict__.update(values)
    return properties


def _read_property(cursor: Cursor, place: int, values: dict[str, Any]) -> None:
    identifier = cursor.variable()
    row = _ROWS.get(identifier)
    if row is None or place not in row.places:
        raise malformed(f"property {identifier:#04x} is unknown or does not belong in this packet")
    value = row.codec.read(cursor)
    if row.is_valid is not None and not row.is_valid(value):
        raise RemoteProtocolError(row.fault, f"property {row.name} has a value that is not allowed")
    if row.repeatable:
        values[row.name] = (*values.get(row.name, ()), value)
    elif row.name in values:
        raise violation(f"property {row.name} stands twice in one packet")
    else:
        values[row.name] = value


def encode_properties(properties: Properties, place: int) -> bytes:
    """The properties as they stand in ``place``, with their length in front.

    Raises:
        LocalProtocolError: A property does not belong there, or its value is out of range.
    """
    if properties is NO_PROPERTIES:
        return b"\0"
    encoded = encode_property_fields(properties, place)
    return encode_variable(len(encoded)) + encoded


def encode_property_fields(properties: Properties, place: int) -> bytes:
    """The same without the length in front."""
    parts: list[bytes] = []
    for row in PROPERTY_TABLE:
        value = getattr(properties, row.name)
        if value is None or (value == () and row.repeatable):
            continue
        if place not in row.places:
            raise LocalProtocolError(f"property {row.name} does not belong in this packet")
        for single in value if row.repeatable else (value,):
            if row.is_valid is not None and not row.is_valid(single):
                raise LocalProtocolError(f"property {row.name} must not be {single!r}")
            parts += (bytes((row.identifier,)), row.codec.write(single))
    return b"".join(parts)
