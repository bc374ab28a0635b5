"""The framer: the same packets however the stream is split, and no memory for what is only announced."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.mqtt.errors import RemoteProtocolError
from edge.mqtt.framing import Framer
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode
from tests.edge.mqtt.strategies import BOUNDED

Frame = tuple[int, bytes]


def frames_of(framer: Framer) -> list[Frame]:
    frames = []
    while (frame := framer.next_frame()) is not None:
        frames.append(frame)
    return frames


def encoded(first: int, body: bytes) -> bytes:
    length = len(body)
    return (
        bytes((first, length)) + body
        if length < 0x80
        else bytes((first, length & 0x7F | 0x80, length >> 7)) + body
    )


bodies = st.one_of(st.binary(max_size=5), st.integers(126, 300).map(bytes))


@BOUNDED
@given(st.lists(bodies, max_size=6), st.data())
def test_any_split_gives_the_same_frames(packets: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(encoded(0x30, body) for body in packets)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    framer, frames = Framer(1000), []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        framer.feed(stream[start:end])
        if data.draw(st.booleans()):  # A held connection asks for frames later.
            frames += frames_of(framer)
    frames += frames_of(framer)
    assert frames == [(0x30, body) for body in packets]
    assert framer.buffered == 0


@BOUNDED
@given(st.lists(st.binary(max_size=40), max_size=10))
def test_random_bytes_raise_the_documented_error_alone(chunks: list[bytes]) -> None:
    framer = Framer(64)
    for chunk in chunks:
        framer.feed(chunk)
        try:
            frames_of(framer)
        except RemoteProtocolError:
            return


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("00", ReasonCode.MALFORMED_PACKET),
        ("47", ReasonCode.MALFORMED_PACKET),  # "GET / HTTP/1.1"
        ("16", ReasonCode.MALFORMED_PACKET),  # a TLS ClientHello
        ("30 FFFFFFFF", ReasonCode.MALFORMED_PACKET),
        ("30 FFFFFF7F", ReasonCode.PACKET_TOO_LARGE),
        ("30 808001", ReasonCode.PACKET_TOO_LARGE),
    ],
)
def test_a_bad_header_is_refused_before_its_body(data: str, reason: ReasonCode) -> None:
    framer = Framer(16_384)
    framer.feed(bytes.fromhex(data))
    with pytest.raises(RemoteProtocolError) as caught:
        framer.next_frame()
    assert caught.value.reason_code is reason


def test_the_limit_counts_the_whole_packet() -> None:
    framer = Framer(10)
    framer.feed(b"\x30\x08" + bytes(8))
    assert framer.next_frame() == (0x30, bytes(8))
    framer.feed(b"\x30\x09")
    with pytest.raises(RemoteProtocolError, match="11 bytes"):
        framer.next_frame()


def test_announced_bytes_cost_nothing() -> None:  # M06 (c)
    framer = Framer(300_000_000)
    framer.feed(b"\x30\xff\xff\xff\x7f" + bytes(10))
    assert framer.next_frame() is None
    assert framer.buffered == 15
    assert sys.getsizeof(framer._partial) < 200


@pytest.mark.mqtt(v5="1.5.5-1")
def test_a_padded_length_is_malformed_only_where_the_standard_says_so() -> None:
    for version in ProtocolVersion:
        framer = Framer(100)
        framer.use_version(version)
        framer.feed(bytes.fromhex("C0 80 00"))
        if version is ProtocolVersion.V5:
            with pytest.raises(RemoteProtocolError):  # [MQTT-1.5.5-1]
                framer.next_frame()
        else:
            assert framer.next_frame() == (0xC0, b"")


def test_an_idle_framer_holds_nothing() -> None:
    framer = Framer(100)
    framer.feed(b"\xc0\x00" * 3)
    assert len(frames_of(framer)) == 3
    assert framer.buffered == 0
    assert framer._buffer == b""
