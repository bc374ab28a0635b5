"""Headers of the PROXY protocol: what they tell, that none is read too far, and that what is malformed is refused."""

from __future__ import annotations

import struct
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.gateway.listeners.proxy_header import ProxyHeader, ProxyHeaderError
from tests.edge.mqtt.strategies import BOUNDED

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
V4 = IPv4Address("192.0.2.7").packed + IPv4Address("10.0.0.1").packed + struct.pack("!HH", 56_324, 8883)
V6 = IPv6Address("2001:db8::7").packed + IPv6Address("::1").packed + struct.pack("!HH", 56_324, 8883)
TLV = b"\x04\0\x02no"
NOBODY = None


def binary(kind: int, rest: bytes, command: int = 0x21, length: int | None = None) -> bytes:
    """A header of version 2."""
    return SIGNATURE + struct.pack("!BBH", command, kind, len(rest) if length is None else length) + rest


def read(stream: bytes, size: int | None = None) -> tuple[ProxyHeader, bytes]:
    """Read a header from a stream, in pieces of at most `size` bytes; returns what was left alone, too."""
    header, at = ProxyHeader(), 0
    while not header.is_complete:
        assert at < len(stream), "it wants more than there is"
        step = min(header.wanted, size or header.wanted)
        assert step > 0
        header.receive(stream[at : at + step])
        at += len(stream[at : at + step])
    return header, stream[at:]


WELL_FORMED = [
    (b"PROXY TCP4 192.0.2.7 10.0.0.1 56324 8883\r\n", ("192.0.2.7", 56_324)),
    (b"PROXY TCP4 1.1.1.1 0.0.0.0 0 0\r\n", ("1.1.1.1", 0)),
    (b"PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n", ("255.255.255.255", 65_535)),
    (b"PROXY TCP6 2001:db8::7 ::1 56324 8883\r\n", ("2001:db8::7", 56_324)),
    (b"PROXY TCP6 %b %b 65535 65535\r\n" % ((b"ffff:" * 8)[:-1], (b"ffff:" * 8)[:-1]),
     ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 65_535)),
    (b"PROXY UNKNOWN\r\n", NOBODY),
    (b"PROXY UNKNOWN %b %b 65535 65535\r\n" % ((b"ffff:" * 8)[:-1], (b"ffff:" * 8)[:-1]), NOBODY),
    (b"PROXY UNKNOWN whatever\r\n", NOBODY),
    (binary(0x11, V4), ("192.0.2.7", 56_324)),
    (binary(0x11, V4 + TLV), ("192.0.2.7", 56_324)),
    (binary(0x21, V6), ("2001:db8::7", 56_324)),
    (binary(0x21, V6 + bytes(65_535 - len(V6))), ("2001:db8::7", 56_324)),
    (binary(0x12, V4), NOBODY),
    (binary(0x22, V6), NOBODY),
    (binary(0x31, bytes(216)), NOBODY),
    (binary(0x32, bytes(216)), NOBODY),
    (binary(0x00, b""), NOBODY),
    (binary(0x00, TLV), NOBODY),
    (binary(0x00, b"", command=0x20), NOBODY),
    (binary(0x11, V4, command=0x20), NOBODY),
    (binary(0xFF, TLV, command=0x20), NOBODY),
]  # fmt: skip


@pytest.mark.parametrize(("header", "origin"), WELL_FORMED)
@pytest.mark.parametrize("size", [None, 1, 3])
def test_what_it_tells_and_not_a_byte_more(
    header: bytes, origin: tuple[str, int] | None, size: int | None
) -> None:
    for behind in (b"", b"\x10\x0d", b"\r\n", header):
        found, left = read(header + behind, size)
        assert (found.origin, left) == (origin, behind)
        assert found.wanted == 0


MALFORMED = {
    "MQTT": b"\x10\x0e\x00\x04MQTT\x05\x02\x00\x0a\x00\x00\x00\x00",
    "a short packet": b"\xc0\x00",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(30),
    "HTTP": b"GET /mqtt HTTP/1.1\r\n\r\n",
    "lower case": b"proxy TCP4 1.1.1.1 1.1.1.1 1 1\r\n",
    "no space": b"PROXYTCP4 1.1.1.1 1.1.1.1 1 1\r\n",
    "two spaces": b"PROXY  TCP4 1.1.1.1 1.1.1.1 1 1\r\n",
    "a tab": b"PROXY TCP4\t1.1.1.1 1.1.1.1 1 1\r\n",
    "a space at the end": b"PROXY TCP4 1.1.1.1 1.1.1.1 1 1 \r\n",
    "no family": b"PROXY 1.1.1.1 1.1.1.1 1 1\r\n",
    "an unknown family": b"PROXY UDP4 1.1.1.1 1.1.1.1 1 1\r\n",
    "more than UNKNOWN": b"PROXY UNKNOWNS\r\n",
    "one address": b"PROXY TCP4 1.1.1.1 1 1\r\n",
    "one port": b"PROXY TCP4 1.1.1.1 1.1.1.1 1\r\n",
    "three ports": b"PROXY TCP4 1.1.1.1 1.1.1.1 1 1 1\r\n",
    "a name": b"PROXY TCP4 localhost 1.1.1.1 1 1\r\n",
    "three numbers": b"PROXY TCP4 1.1.1 1.1.1.1 1 1\r\n",
    "256": b"PROXY TCP4 1.1.1.256 1.1.1.1 1 1\r\n",
    "a leading zero": b"PROXY TCP4 1.1.1.01 1.1.1.1 1 1\r\n",
    "a wrong destination": b"PROXY TCP4 1.1.1.1 1.1.1.x 1 1\r\n",
    "IPv6 as TCP4": b"PROXY TCP4 ::1 ::1 1 1\r\n",
    "IPv4 as TCP6": b"PROXY TCP6 1.1.1.1 1.1.1.1 1 1\r\n",
    "a zone": b"PROXY TCP6 fe80::1%eth0 ::1 1 1\r\n",
    "brackets": b"PROXY TCP6 [::1] ::1 1 1\r\n",
    "a port too large": b"PROXY TCP4 1.1.1.1 1.1.1.1 65536 1\r\n",
    "a port with a zero": b"PROXY TCP4 1.1.1.1 1.1.1.1 01 1\r\n",
    "a port with a sign": b"PROXY TCP4 1.1.1.1 1.1.1.1 +1 1\r\n",
    "a negative port": b"PROXY TCP4 1.1.1.1 1.1.1.1 -1 1\r\n",
    "a port with an underscore": b"PROXY TCP4 1.1.1.1 1.1.1.1 1_0 1\r\n",
    "a port of other digits": "PROXY TCP4 1.1.1.1 1.1.1.1 ١ 1\r\n".encode(),
    "an empty port": b"PROXY TCP4 1.1.1.1 1.1.1.1  1\r\n",
    "a wrong destination port": b"PROXY TCP4 1.1.1.1 1.1.1.1 1 x\r\n",
    "no CR": b"PROXY TCP4 1.1.1.1 1.1.1.1 1 1\n",
    "no LF": b"PROXY TCP4 1.1.1.1 1.1.1.1 1 1\r\0",
    "CR in the line": b"PROXY TCP4 1.1.1.1\r1.1.1.1 1 1\r\n",
    "LF in the line": b"PROXY TCP4 1.1.1.1\n1.1.1.1 1 1\r\n",
    "no ASCII": b"PROXY UNKNOWN \xff\r\n",
    "108 bytes": b"PROXY UNKNOWN " + b"x" * 92 + b"\r\n",
    "a line without end": b"PROXY UNKNOWN " + b"x" * 1_000,
    "a signature that breaks off": SIGNATURE[:-1] + b"\r" + bytes(20),
    "version 1 in binary": binary(0x11, V4, command=0x11),
    "version 3": binary(0x11, V4, command=0x31),
    "an unknown command": binary(0x11, V4, command=0x22),
    "an unknown family in binary": binary(0x41, V4),
    "an unknown transport": binary(0x13, V4),
    "no transport": binary(0x10, V4),
    "a transport without family": binary(0x01, b""),
    "too few bytes for IPv4": binary(0x11, V4[:-1]),
    "none for IPv4": binary(0x11, b""),
    "too few bytes for IPv6": binary(0x21, V6[:-1]),
    "IPv4 as IPv6": binary(0x21, V4),
    "too few bytes for a Unix socket": binary(0x31, bytes(215)),
}


@pytest.mark.parametrize("size", [None, 1])
@pytest.mark.parametrize("junk", MALFORMED.values(), ids=MALFORMED)
def test_what_is_malformed_is_refused(junk: bytes, size: int | None) -> None:
    """As soon as it can be known: no more is waited for."""
    with pytest.raises(ProxyHeaderError):
        read(junk, size)


@pytest.mark.parametrize("header", [header for header, _ in WELL_FORMED if len(header) < 1_000])
def test_a_piece_of_it_is_not_all(header: bytes) -> None:
    for length in range(1, len(header)):
        found = ProxyHeader()
        at = 0
        while at < length:
            step = min(found.wanted, length - at)
            found.receive(header[at : at + step])
            at += step
        assert not found.is_complete
        assert 0 < found.wanted <= len(header) - length


@BOUNDED
@given(st.sampled_from([header for header, _ in WELL_FORMED]), st.data())
def test_any_bytes_are_a_header_or_refused(header: bytes, data: st.DataObject) -> None:
    """One byte changed, or any bytes behind a beginning: it ends, and with nothing but its own error."""
    at = data.draw(st.integers(0, min(len(header), 300) - 1))
    changed = header[:at] + data.draw(st.binary(min_size=1, max_size=30)) + header[at + 1 :]
    try:
        found, _ = read(changed + bytes(70_000))
    except ProxyHeaderError:
        return
    assert found.is_complete
