"""The two enumerations that everything else is keyed by: packet types and protocol versions.

This module must never import anything else of this package.
"""

from enum import IntEnum


class ProtocolVersion(IntEnum):
    """The protocol level of CONNECT, byte 7 (byte 9 in MQTT 3.1)."""

    V3_1 = 3
    V3_1_1 = 4
    V5 = 5


class PacketType(IntEnum):
    """The upper four bits of a packet's first byte (section 2.1.2)."""

    CONNECT = 1
    CONNACK = 2
    PUBLISH = 3
    PUBACK = 4
    PUBREC = 5
    PUBREL = 6
    PUBCOMP = 7
    SUBSCRIBE = 8
    SUBACK = 9
    UNSUBSCRIBE = 10
    UNSUBACK = 11
    PINGREQ = 12
    PINGRESP = 13
    DISCONNECT = 14
    AUTH = 15


PROTOCOL_NAMES: dict[tuple[bytes, int], ProtocolVersion] = {
    (b"MQIsdp", 3): ProtocolVersion.V3_1,
    (b"MQTT", 4): ProtocolVersion.V3_1_1,
    (b"MQTT", 5): ProtocolVersion.V5,
}
"""The pairs of protocol name and level that may open a connection."""

MAXIMUM_REMAINING_LENGTH = 268_435_455
"""What four bytes of seven bits can say (section 1.5.5)."""

MAXIMUM_PACKET_ID = 65_535
"""Packet identifiers are two bytes and never zero."""
