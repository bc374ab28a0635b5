"""The data representations of section 1.5: integers, strings, binary data.

Reading goes through a ``Cursor`` over the body of one packet; every fault is a ``RemoteProtocolError``.
Writing goes through the ``encode_*`` functions; a value that does not fit is a ``LocalProtocolError``.
"""

from edge.mqtt.errors import LocalProtocolError, malformed
from edge.mqtt.protocol import MAXIMUM_REMAINING_LENGTH

_MAXIMUM_LENGTH = 0xFFFF
"""Strings and binary data carry a length of two bytes."""


class Cursor:
    """A reading position in the body of one packet.

    Args:
        data: The body, that is, the packet without its fixed header.
        at: Where to start.
        end: Where to stop; the end of ``data`` by default.
    """

    __slots__ = ("at", "data", "end")

    def __init__(self, data: bytes, at: int = 0, end: int | None = None) -> None:
        self.data = data
        self.at = at
        self.end = len(data) if end is None else end

    @property
    def remaining(self) -> int:
        """How many bytes are left."""
        return self.end - self.at

    def take(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        start, stop = self.at, self.at + count
        if stop > self.end:
            raise malformed("the packet ends in the middle of a field")
        self.at = stop
        return self.data[start:stop]

    def byte(self) -> int:
        """One byte."""
        if self.at >= self.end:
            raise malformed("the packet ends in the middle of a field")
        self.at += 1
        return self.data[self.at - 1]

    def two_byte(self) -> int:
        """A Two Byte Integer, big-endian."""
        return int.from_bytes(self.take(2), "big")

    def four_byte(self) -> int:
        """A Four Byte Integer, big-endian."""
        return int.from_bytes(self.take(4), "big")

    def variable(self) -> int:
        """A Variable Byte Integer, in the fewest bytes possible [MQTT-1.5.5-1]."""
        value = 0
        for shift in (0, 7, 14, 21):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if byte == 0 and shift:
                    raise malformed("a variable byte integer is longer than it need be")
                return value
        raise malformed("a variable byte integer is longer than four bytes")

    def binary(self) -> bytes:
        """Binary Data: a length of two bytes, then that many bytes."""
        return self.take(self.two_byte())

    def string(self) -> str:
        """A UTF-8 Encoded String."""
        return decode_string(self.binary())

    def string_pair(self) -> tuple[str, str]:
        """A UTF-8 String Pair."""
        return self.string(), self.string()

    def finish(self) -> None:
        """Check that nothing is left."""
        if self.at != self.end:
            raise malformed(f"{self.remaining} bytes are left over at the end of the packet")


def decode_string(data: bytes) -> str:
    """Text from UTF-8, well formed, without U+0000 and without surrogates; a BOM is kept [MQTT-1.5.4-3]."""
    if 0 in data:
        raise malformed("a string has the character U+0000")  # [MQTT-1.5.4-2]
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise malformed("a string is not well-formed UTF-8") from None  # [MQTT-1.5.4-1]


def encode_byte(value: int) -> bytes:
    """One byte."""
    return _fixed(value, 1)


def encode_two_byte(value: int) -> bytes:
    """A Two Byte Integer."""
    return _fixed(value, 2)


def encode_four_byte(value: int) -> bytes:
    """A Four Byte Integer."""
    return _fixed(value, 4)


def _fixed(value: int, size: int) -> bytes:
    try:
        return int(value).to_bytes(size, "big")
    except OverflowError:
        raise LocalProtocolError(f"{value} does not fit in {size} bytes") from None


def encode_variable(value: int) -> bytes:
    """A Variable Byte Integer, 0 to 268,435,455."""
    if 0 <= value < 0x80:
        return bytes((value,))
    if not 0 <= value <= MAXIMUM_REMAINING_LENGTH:
        raise LocalProtocolError(f"{value} is outside of a variable byte integer's range")
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def encode_binary(value: bytes) -> bytes:
    """Binary Data of at most 65,535 bytes."""
    if len(value) > _MAXIMUM_LENGTH:
        raise LocalProtocolError(f"{len(value)} bytes are more than a field of 65,535 can hold")
    return len(value).to_bytes(2, "big") + value


def encode_string(value: str) -> bytes:
    """A UTF-8 Encoded String of at most 65,535 bytes."""
    if "\0" in value:
        raise LocalProtocolError("a string must not have the character U+0000")
    try:
        return encode_binary(value.encode("utf-8"))
    except UnicodeEncodeError:
        raise LocalProtocolError("a string must not have surrogates") from None


def encode_string_pair(value: tuple[str, str]) -> bytes:
    """A UTF-8 String Pair."""
    return encode_string(value[0]) + encode_string(value[1])
