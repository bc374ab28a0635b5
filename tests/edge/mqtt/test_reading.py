"""The reader against the table of packets, and against bytes that mean nothing."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.mqtt import reading
from edge.mqtt.errors import RemoteProtocolError
from edge.mqtt.framing import Framer
from edge.mqtt.packets import Packet, Publish
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reading import read_packet
from tests.edge.mqtt.packet_cases import (
    MALFORMED_CONNECTS,
    MALFORMED_PACKETS,
    PACKET_CASES,
    MalformedCase,
    PacketCase,
)
from tests.edge.mqtt.strategies import BOUNDED


def read_all(chunks: list[bytes], version: ProtocolVersion) -> list[Packet]:
    """All packets in the chunks, each fed on its own."""
    framer = Framer(10_000_000)
    framer.use_version(version)
    packets = []
    for chunk in chunks:
        framer.feed(chunk)
        while (frame := framer.next_frame()) is not None:
            packets.append(read_packet(*frame, version))
    return packets


@pytest.fixture(
    params=[(c, v) for c in PACKET_CASES for v in c.versions], ids=lambda p: f"{p[0].name} in {p[1].name}"
)
def valid(request: pytest.FixtureRequest) -> tuple[PacketCase, ProtocolVersion]:
    case: tuple[PacketCase, ProtocolVersion] = request.param
    return case


@pytest.fixture(
    params=[(c, v) for c in MALFORMED_CONNECTS + MALFORMED_PACKETS for v in c.versions],
    ids=lambda p: f"{p[0].name} in {p[1].name}",
)
def malformed(request: pytest.FixtureRequest) -> tuple[MalformedCase, ProtocolVersion]:
    case: tuple[MalformedCase, ProtocolVersion] = request.param
    return case


class TestPacketTable:
    @pytest.mark.mqtt(v3="3.1.2-9 3.1.3-1", v5="3.1.2-9 3.1.3-1")
    def test_whole(self, valid: tuple[PacketCase, ProtocolVersion]) -> None:
        case, version = valid
        assert read_all([case.data], version) == [case.packet]

    def test_byte_by_byte(self, valid: tuple[PacketCase, ProtocolVersion]) -> None:
        case, version = valid
        assert read_all([bytes((byte,)) for byte in case.data], version) == [case.packet]

    def test_with_a_tail(self, valid: tuple[PacketCase, ProtocolVersion]) -> None:
        case, version = valid
        assert read_all([case.data * 2 + case.data[:1], case.data[1:]], version) == [case.packet] * 3

    def test_cut_at_each_prefix_it_waits(self, valid: tuple[PacketCase, ProtocolVersion]) -> None:
        case, version = valid
        for end in range(len(case.data)):
            assert read_all([case.data[:end]], version) == []

    def test_cut_at_each_prefix_of_the_body_it_never_fails_otherwise(
        self, valid: tuple[PacketCase, ProtocolVersion]
    ) -> None:
        case, version = valid
        body = case.data[2:]
        for end in range(len(body)):
            with suppress(RemoteProtocolError):
                read_packet(case.data[0], body[:end], version)

    def test_malformed(self, malformed: tuple[MalformedCase, ProtocolVersion]) -> None:
        case, version = malformed
        with pytest.raises(RemoteProtocolError) as caught:
            read_all([case.data], version)
        assert caught.value.reason_code == case.reason
        assert caught.value.message

    def test_malformed_byte_by_byte(self, malformed: tuple[MalformedCase, ProtocolVersion]) -> None:
        case, version = malformed
        with pytest.raises(RemoteProtocolError) as caught:
            read_all([bytes((byte,)) for byte in case.data], version)
        assert caught.value.reason_code == case.reason

    def test_every_type_and_version_is_in_the_table(self) -> None:
        seen = {(case.data[0] >> 4, version) for case in PACKET_CASES for version in case.versions}
        wanted = {(kind, version) for kind in range(1, 16) for version in ProtocolVersion}
        assert wanted - seen == {(15, ProtocolVersion.V3_1), (15, ProtocolVersion.V3_1_1)}


class TestTopicCache:
    def test_a_topic_is_one_string_however_often_it_comes(self) -> None:
        first, second = read_all([bytes.fromhex("30 05 0003 632F31") * 2], ProtocolVersion.V3_1_1)
        assert isinstance(first, Publish)
        assert isinstance(second, Publish)
        assert first.topic is second.topic

    def test_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reading, "_TOPIC_CACHE_ENTRIES", 4)
        for number in range(20):
            reading.read_publish(0x30, b"\x00\x02" + f"{number:02}".encode(), ProtocolVersion.V3_1_1)
            assert len(reading._topics) <= 4 or number == 0

    def test_long_topics_stay_out(self) -> None:
        topic = b"x" * 65_535  # M09 (a)
        packet = reading.read_publish(0x30, b"\xff\xff" + topic, ProtocolVersion.V3_1_1)
        assert packet.topic == topic.decode()
        assert topic not in reading._topics

    def test_a_cached_topic_does_not_hide_a_cut(self) -> None:
        reading.read_publish(0x30, b"\x00\x02ab", ProtocolVersion.V3_1_1)
        with pytest.raises(RemoteProtocolError):
            reading.read_publish(0x30, b"\x00\x09ab", ProtocolVersion.V3_1_1)


def test_a_bad_connect_tells_the_version_to_answer_in() -> None:
    for case in MALFORMED_CONNECTS:
        with pytest.raises(RemoteProtocolError) as caught:
            read_all([case.data], ProtocolVersion.V5)
        assert caught.value.version is case.versions[0]
    with pytest.raises(RemoteProtocolError) as caught:  # M05 (d)
        read_all([bytes.fromhex("10 0C 0004 4D515478 04 02 003C 0000")], ProtocolVersion.V5)
    assert caught.value.version is None


def test_longest_topic_of_three_byte_characters() -> None:
    topic = "\u20ac" * 21_845  # M09 (b)
    body = b"\xff\xff" + topic.encode() + b"\0"
    assert reading.read_publish(0x30, body, ProtocolVersion.V5).topic == topic


@BOUNDED
@given(first=st.integers(0x10, 0xFF), body=st.binary(max_size=60), version=st.sampled_from(ProtocolVersion))
def test_random_bodies_raise_the_documented_error_alone(
    first: int, body: bytes, version: ProtocolVersion
) -> None:
    with suppress(RemoteProtocolError):
        read_packet(first, body, version)
