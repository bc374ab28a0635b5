"""Reason codes: what MQTT 5.0 has, which packet may carry which, and what MQTT 3.x has in their place.

All mapping between the two families happens here and nowhere else.
"""

from enum import IntEnum

from edge.mqtt.protocol import PacketType


class ReasonCode(IntEnum):
    """The reason codes of MQTT 5.0, section 2.4. Values from 0x80 mean failure."""

    SUCCESS = 0x00
    NORMAL_DISCONNECTION = 0x00
    GRANTED_QOS_0 = 0x00
    GRANTED_QOS_1 = 0x01
    GRANTED_QOS_2 = 0x02
    DISCONNECT_WITH_WILL_MESSAGE = 0x04
    NO_MATCHING_SUBSCRIBERS = 0x10
    NO_SUBSCRIPTION_EXISTED = 0x11
    CONTINUE_AUTHENTICATION = 0x18
    RE_AUTHENTICATE = 0x19
    UNSPECIFIED_ERROR = 0x80
    MALFORMED_PACKET = 0x81
    PROTOCOL_ERROR = 0x82
    IMPLEMENTATION_SPECIFIC_ERROR = 0x83
    UNSUPPORTED_PROTOCOL_VERSION = 0x84
    CLIENT_IDENTIFIER_NOT_VALID = 0x85
    BAD_USER_NAME_OR_PASSWORD = 0x86
    NOT_AUTHORIZED = 0x87
    SERVER_UNAVAILABLE = 0x88
    SERVER_BUSY = 0x89
    BANNED = 0x8A
    SERVER_SHUTTING_DOWN = 0x8B
    BAD_AUTHENTICATION_METHOD = 0x8C
    KEEP_ALIVE_TIMEOUT = 0x8D
    SESSION_TAKEN_OVER = 0x8E
    TOPIC_FILTER_INVALID = 0x8F
    TOPIC_NAME_INVALID = 0x90
    PACKET_IDENTIFIER_IN_USE = 0x91
    PACKET_IDENTIFIER_NOT_FOUND = 0x92
    RECEIVE_MAXIMUM_EXCEEDED = 0x93
    TOPIC_ALIAS_INVALID = 0x94
    PACKET_TOO_LARGE = 0x95
    MESSAGE_RATE_TOO_HIGH = 0x96
    QUOTA_EXCEEDED = 0x97
    ADMINISTRATIVE_ACTION = 0x98
    PAYLOAD_FORMAT_INVALID = 0x99
    RETAIN_NOT_SUPPORTED = 0x9A
    QOS_NOT_SUPPORTED = 0x9B
    USE_ANOTHER_SERVER = 0x9C
    SERVER_MOVED = 0x9D
    SHARED_SUBSCRIPTIONS_NOT_SUPPORTED = 0x9E
    CONNECTION_RATE_EXCEEDED = 0x9F
    MAXIMUM_CONNECT_TIME = 0xA0
    SUBSCRIPTION_IDENTIFIERS_NOT_SUPPORTED = 0xA1
    WILDCARD_SUBSCRIPTIONS_NOT_SUPPORTED = 0xA2


FAILURE = 0x80
"""The first failing reason code; in MQTT 3.1.1 also the one failing return code of SUBACK."""

_PUBLISH_ANSWERS = frozenset({0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99})
_RELEASE_ANSWERS = frozenset({0x00, 0x92})

ALLOWED_CODES: dict[PacketType, frozenset[int]] = {
    PacketType.CONNACK: frozenset({0x00, *range(0x80, 0x8B), 0x8C, 0x90, 0x95, 0x97, *range(0x99, 0xA0)})
    - {0x9E},
    PacketType.PUBACK: _PUBLISH_ANSWERS,  # [MQTT-3.4.2-1]
    PacketType.PUBREC: _PUBLISH_ANSWERS,  # [MQTT-3.5.2-1]
    PacketType.PUBREL: _RELEASE_ANSWERS,  # [MQTT-3.6.2-1]
    PacketType.PUBCOMP: _RELEASE_ANSWERS,  # [MQTT-3.7.2-1]
    PacketType.SUBACK: frozenset(
        {0, 1, 2, 0x80, 0x83, 0x87, 0x8F, 0x91, 0x97, 0x9E, 0xA1, 0xA2}
    ),  # [MQTT-3.9.3-2]
    PacketType.UNSUBACK: frozenset({0x00, 0x11, 0x80, 0x83, 0x87, 0x8F, 0x91}),  # [MQTT-3.11.3-2]
    PacketType.DISCONNECT: frozenset({0x00, 0x04, *range(0x80, 0x84), 0x87, 0x89, 0x8B, *range(0x8C, 0x91)})
    | frozenset(range(0x93, 0xA3)),  # [MQTT-3.14.2-1]
    PacketType.AUTH: frozenset({0x00, 0x18, 0x19}),  # [MQTT-3.15.2-1]
}
"""Which reason codes each packet may carry (the tables of sections 3.2 to 3.15)."""

SUBACK_CODES_V3 = frozenset({0, 1, 2, FAILURE})
"""SUBACK of MQTT 3.1.1 [MQTT-3.9.3-2]."""

_RETURN_CODES: dict[int, int] = {
    ReasonCode.SUCCESS: 0,
    ReasonCode.UNSUPPORTED_PROTOCOL_VERSION: 1,
    ReasonCode.CLIENT_IDENTIFIER_NOT_VALID: 2,
    ReasonCode.SERVER_UNAVAILABLE: 3,
    ReasonCode.SERVER_BUSY: 3,
    ReasonCode.SERVER_SHUTTING_DOWN: 3,
    ReasonCode.USE_ANOTHER_SERVER: 3,
    ReasonCode.SERVER_MOVED: 3,
    ReasonCode.QUOTA_EXCEEDED: 3,
    ReasonCode.CONNECTION_RATE_EXCEEDED: 3,
    ReasonCode.BAD_USER_NAME_OR_PASSWORD: 4,
    ReasonCode.BAD_AUTHENTICATION_METHOD: 4,
    ReasonCode.NOT_AUTHORIZED: 5,
    ReasonCode.BANNED: 5,
}

_REASONS_OF_RETURN_CODES: tuple[ReasonCode, ...] = (
    ReasonCode.SUCCESS,
    ReasonCode.UNSUPPORTED_PROTOCOL_VERSION,
    ReasonCode.CLIENT_IDENTIFIER_NOT_VALID,
    ReasonCode.SERVER_UNAVAILABLE,
    ReasonCode.BAD_USER_NAME_OR_PASSWORD,
    ReasonCode.NOT_AUTHORIZED,
)


def return_code(reason: int) -> int | None:
    """The CONNACK return code of MQTT 3.x for a reason code, or None when only a bare close says it."""
    return _RETURN_CODES.get(reason)


def reason_of_return_code(code: int) -> ReasonCode | None:
    """The reason code for a CONNACK return code of MQTT 3.x, or None for a reserved one."""
    return _REASONS_OF_RETURN_CODES[code] if code < len(_REASONS_OF_RETURN_CODES) else None


def suback_code(reason: int, *, is_v5: bool) -> int:
    """The SUBACK code for a reason code: itself in MQTT 5.0, else granted QoS or the one failure 0x80."""
    return reason if is_v5 or reason < FAILURE else FAILURE


def connack_code(reason: int) -> int:
    """The reason code with which CONNACK of MQTT 5.0 says a reason: itself, or the nearest that CONNACK may carry."""
    if reason in ALLOWED_CODES[PacketType.CONNACK]:
        return reason
    return ReasonCode.SERVER_UNAVAILABLE if reason == ReasonCode.SERVER_SHUTTING_DOWN else FAILURE
