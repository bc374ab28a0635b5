"""The header of the PROXY protocol, versions 1 and 2: where a connection comes from, as the proxy before us saw it.

It does no input or output: it says how many bytes it wants next, never one beyond the header, so that what follows is
left to whoever reads the socket afterwards (TLS, or MQTT). The format is HAProxy's "The PROXY protocol", sections 2.1
and 2.2. Anything that is not to the letter is refused: a reader that guesses takes a client's words for the proxy's.
"""

from __future__ import annotations

import re
import struct
from ipaddress import AddressValueError, IPv4Address, IPv6Address

_START = b"PROXY "
_SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
_SHORTEST = len(b"PROXY UNKNOWN\r\n")
_LONGEST_LINE = 107  # of version 1, with its end
_HEAD = 16  # of version 2: signature, version and command, family and transport, length
_PIECE = 4_096  # read at a time of what stands behind the addresses
_PORT = re.compile(r"0|[1-9][0-9]{0,4}")
_PROXY = 1  # the command that tells of a client; 0, LOCAL, is the proxy's own connection
_LENGTHS = {0x00: 0, 0x11: 12, 0x12: 12, 0x21: 36, 0x22: 36, 0x31: 216, 0x32: 216}
"""Of version 2: the families and transports that there are, and how long their addresses and ports are together."""
_HOSTS: dict[int, tuple[type[IPv4Address] | type[IPv6Address], int]] = {
    0x11: (IPv4Address, 4),
    0x21: (IPv6Address, 16),
}
"""Those that can be ours, TCP over IPv4 and IPv6; with the others the header is read, and tells of nobody."""


class ProxyHeaderError(Exception):
    """What came is no header."""


class ProxyHeader:
    """Reads one. Ask for `wanted` bytes, give what came to `receive`, until `is_complete`."""

    def __init__(self) -> None:
        self._data = bytearray()
        self.wanted = _SHORTEST
        """How many bytes may be read next at most."""
        self.is_complete = False
        """Whether all of it has come."""
        self.origin: tuple[str, int] | None = None
        """The client's host and port. None where the header tells none: the proxy itself asks how we are."""

    def receive(self, data: bytes) -> None:
        """Take at least one and at most `wanted` bytes that came.

        Raises:
            ProxyHeaderError: They are no header, or none that can be.
        """
        begun = self._data
        begun += data
        if begun.startswith(_START[: len(begun)]):
            self._read_line(begun)
        elif begun.startswith(_SIGNATURE[: len(begun)]):
            self._read_binary(begun)
        else:
            raise ProxyHeaderError("it starts with no header of the PROXY protocol")

    def _read_line(self, begun: bytearray) -> None:
        """Version 1: a line of text."""
        if begun.endswith(b"\r\n"):
            self.origin = _line_origin(bytes(begun))
            self.is_complete, self.wanted = True, 0
        elif b"\n" in begun or b"\r" in begun[:-1]:
            raise ProxyHeaderError("its line does not end with CR and LF")
        else:
            self.wanted = max(_SHORTEST - len(begun), 1 if begun.endswith(b"\r") else 2)
            if len(begun) + self.wanted > _LONGEST_LINE:
                raise ProxyHeaderError(f"its line has more than {_LONGEST_LINE} bytes")

    def _read_binary(self, begun: bytearray) -> None:
        """Version 2: a head, the addresses, and more, which is passed over."""
        if len(begun) < _HEAD:
            self.wanted = _HEAD - len(begun)
            return
        version_and_command, kind, length = struct.unpack("!BBH", begun[len(_SIGNATURE) : _HEAD])
        version, command = divmod(version_and_command, 16)
        if version != 2 or command > _PROXY:
            raise ProxyHeaderError(f"its version and command are 0x{version_and_command:02x}")
        if command == _PROXY:
            _check(kind, length)
        if len(begun) < _HEAD + length:
            self.wanted = min(_HEAD + length - len(begun), _PIECE)
            return
        if command == _PROXY:
            self.origin = _binary_origin(kind, bytes(begun[_HEAD : _HEAD + length]))
        self.is_complete, self.wanted = True, 0


def _line_origin(line: bytes) -> tuple[str, int] | None:
    try:
        words = line[:-2].decode("ascii").split(" ")
    except UnicodeDecodeError:
        words = []
    if words[:2] == ["PROXY", "UNKNOWN"]:
        return None
    if len(words) != 6 or words[1] not in ("TCP4", "TCP6"):
        raise ProxyHeaderError("its line is not PROXY, TCP4 or TCP6 or UNKNOWN, two addresses and two ports")
    read: type[IPv4Address] | type[IPv6Address] = IPv4Address if words[1] == "TCP4" else IPv6Address
    try:
        source, _ = (str(read(word)) for word in words[2:4])
    except AddressValueError as error:
        raise ProxyHeaderError(f"its line has an address that is none of {words[1]}") from error
    if "%" in words[2] + words[3]:
        raise ProxyHeaderError("its line has an address with a zone")
    if not all(_PORT.fullmatch(word) and int(word) <= 65_535 for word in words[4:]):
        raise ProxyHeaderError("its line has a port that is none")
    return source, int(words[4])


def _check(kind: int, length: int) -> None:
    if kind not in _LENGTHS:
        raise ProxyHeaderError(f"its family and transport are 0x{kind:02x}")
    if length < _LENGTHS[kind]:
        raise ProxyHeaderError(f"its {length} bytes are too few for two addresses")


def _binary_origin(kind: int, addresses: bytes) -> tuple[str, int] | None:
    if kind not in _HOSTS:
        return None
    read, size = _HOSTS[kind]
    [port] = struct.unpack_from("!H", addresses, 2 * size)
    return str(read(addresses[:size])), port
