"""Cuts the stream of bytes into packets, as they come, without knowing what is in them.

It never allocates by what a header announces: memory grows only with what has arrived. A first byte that no packet has,
a length of five bytes and a length above the limit are refused as soon as they are seen.
"""

from edge.mqtt.errors import RemoteProtocolError, malformed
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode

_FIXED_FLAGS = (
    0x10,
    0x20,
    0x40,
    0x50,
    0x62,
    0x70,
    0x82,
    0x90,
    0xA2,
    0xB0,
    0xC0,
    0xD0,
    0xE0,
)  # [MQTT-2.1.3-1]
_PUBLISH_FLAGS = (0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x3A, 0x3B, 0x3C, 0x3D)
"""QoS 3 is malformed [MQTT-3.3.1-4]; DUP needs a QoS above 0 [MQTT-3.3.1-2]."""
_REPEATED_IN_3_1 = (0x38, 0x39, 0x6A, 0x8A, 0xAA)
"""MQTT 3.1 repeats PUBREL, SUBSCRIBE and UNSUBSCRIBE with DUP set, and does not tie DUP to a QoS."""


def _table(*first_bytes: int) -> bytes:
    return bytes(1 if byte in first_bytes else 0 for byte in range(256))


FIRST_BYTES: dict[ProtocolVersion, bytes] = {
    ProtocolVersion.V3_1: _table(*_FIXED_FLAGS, *_PUBLISH_FLAGS, *_REPEATED_IN_3_1),
    ProtocolVersion.V3_1_1: _table(*_FIXED_FLAGS, *_PUBLISH_FLAGS),
    ProtocolVersion.V5: _table(*_FIXED_FLAGS, *_PUBLISH_FLAGS, 0xF0),
}
"""For each version and first byte, 1 when a packet may start with it (table 2-2)."""


class Framer:
    """An incremental cutter.

    Call ``feed`` with what came, then ``next_frame`` until it says None.

    Args:
        maximum_packet_size: The largest packet in bytes, with its fixed header.
    """

    __slots__ = ("_at", "_buffer", "_first_bytes", "_is_minimal", "_maximum", "_missing", "_partial")

    def __init__(self, maximum_packet_size: int) -> None:
        self._maximum = maximum_packet_size
        # Before CONNECT has told the version: any packet's first byte; the state table lets only CONNECT through.
        self._first_bytes = FIRST_BYTES[ProtocolVersion.V5]
        self._is_minimal = False
        self._buffer = b""
        self._at = 0
        self._partial: bytearray | None = None
        self._missing = 0

    def use_version(self, version: ProtocolVersion) -> None:
        """From now on go by the rules of ``version``."""
        self._first_bytes = FIRST_BYTES[version]
        # MQTT 3.x does not forbid a padded length, and small devices that fill it in last do send one.
        self._is_minimal = version is ProtocolVersion.V5

    @property
    def buffered(self) -> int:
        """How many bytes wait, in packets that are not complete or not asked for."""
        partial = 0 if self._partial is None else len(self._partial)
        return partial + len(self._buffer) - self._at

    def feed(self, data: bytes) -> None:
        """Take what came."""
        partial = self._partial
        if partial is None:
            if self._at == len(self._buffer):
                self._buffer = data
                self._at = 0
                return
            # A bytearray grows in place, so a packet that comes in tiny pieces costs no quadratic copying.
            partial = self._partial = bytearray(self._buffer[self._at :])
            self._buffer = b""
            self._at = 0
        partial += data
        self._missing -= len(data)

    def next_frame(self) -> tuple[int, bytes] | None:
        """The next complete packet as its first byte and its body, or None until more has come.

        Raises:
            RemoteProtocolError: 0x81 for a bad fixed header, 0x95 for a packet above the limit.
        """
        if self._partial is not None:
            if self._missing > 0:
                return None
            self._buffer = bytes(self._partial)
            self._partial = None
            self._missing = 0
        buffer = self._buffer
        at = self._at
        available = len(buffer) - at
        if available < 2:
            self._wait_for(1, at, available)
            return None
        first = buffer[at]
        if not self._first_bytes[first]:
            raise malformed(f"no packet starts with {first:#04x}")
        length = buffer[at + 1]
        start = at + 2
        if length >= 0x80:
            start, length = self._long_length(at)
            if start == 0:
                self._wait_for(1, at, available)
                return None
        end = start + length
        if end - at > self._maximum:
            raise RemoteProtocolError(
                ReasonCode.PACKET_TOO_LARGE,
                f"a packet of {end - at} bytes is above the limit of {self._maximum}",
            )
        if end > len(buffer):
            self._wait_for(end - len(buffer), at, available)
            return None
        self._at = end
        return first, buffer[start:end]

    def _wait_for(self, missing: int, at: int, available: int) -> None:
        """Remember how much must come before it is worth looking again."""
        if available:
            if not self._first_bytes[self._buffer[at]]:
                raise malformed(f"no packet starts with {self._buffer[at]:#04x}")
            self._partial = bytearray(self._buffer[at:])
            self._missing = missing
        self._buffer = b""
        self._at = 0

    def _long_length(self, at: int) -> tuple[int, int]:
        """Where the body starts and how long it is, from a length of two to four bytes; (0, 0) when it is cut."""
        buffer = self._buffer
        length = buffer[at + 1] & 0x7F
        for index in (1, 2, 3):
            position = at + 1 + index
            if position >= len(buffer):
                return 0, 0
            byte = buffer[position]
            length |= (byte & 0x7F) << 7 * index
            if byte < 0x80:
                if byte == 0 and self._is_minimal:
                    raise malformed("the remaining length is longer than it need be")  # [MQTT-1.5.5-1]
                return position + 1, length
        raise malformed("the remaining length is longer than four bytes")
