"""The persisted log's records: golden bytes, what is refused, and that no publisher can forge an event."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.errors import RecordError
from contracts.persisted_record import Event, EventKind, Message, decode, encode_event, encode_key, packet_id

ROUTED = [("topic", b"city/oslo"), ("id", b"2:41"), ("filter", b"city/+")]


def test_golden() -> None:
    assert encode_event(EventKind.ACKED, [7, 9]) == (b"[7,9]", [("event", b"acked")])
    assert encode_event(EventKind.RECEIVED, [7]) == (b"[7]", [("event", b"received")])
    assert encode_event(EventKind.CLEARED) == (b"", [("event", b"cleared")])
    assert encode_key("kø") == b"k\xc3\xb8"


def test_a_message_keeps_its_value_and_headers() -> None:
    headers = [("client-id", b"p"), ("correlation-data", b"\0\xff"), *ROUTED]
    assert decode(5, b"c", b"\xff\0", headers) == Message(
        5, "c", 2, 41, "city/oslo", "city/+", b"\xff\0", headers
    )
    assert isinstance(message := decode(5, b"c", None, headers), Message)
    assert message.value == b""


@given(st.sampled_from([EventKind.ACKED, EventKind.RECEIVED]), st.lists(st.integers(0, 2**63)))
def test_events_round_trip(kind: EventKind, offsets: list[int]) -> None:
    assert decode(8, b"c", *encode_event(kind, offsets)) == Event(8, "c", kind, tuple(offsets))


def test_cleared_round_trips() -> None:
    assert decode(8, b"c", *encode_event(EventKind.CLEARED)) == Event(8, "c", EventKind.CLEARED)


def test_a_publish_with_an_event_header_stays_a_message() -> None:
    assert isinstance(decode(5, b"c", b"[1]", [("event", b"acked"), *ROUTED]), Message)


@pytest.mark.parametrize(
    ("key", "value", "headers"),
    [
        (None, b"[1]", [("event", b"acked")]),
        (b"a\0b", b"[1]", [("event", b"acked")]),
        (b"\xff", b"[1]", [("event", b"acked")]),
        (b"c", b"[1]", []),
        (b"c", b"[1]", None),
        (b"c", b"[1]", [("event", b"eaten")]),
        (b"c", b"[1]", [("event", None)]),
        (b"c", None, [("event", b"acked")]),
        (b"c", b"{}", [("event", b"acked")]),
        (b"c", b"[true]", [("event", b"acked")]),
        (b"c", b"[-1]", [("event", b"received")]),
        (b"c", b"[1.5]", [("event", b"received")]),
        (b"c", b"x", [("event", b"received"), ("more", b"")]),
        (b"c", b"x", [("client-id", b""), ("filter", b"f")]),
    ],
)
def test_what_is_neither_is_refused(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]] | None
) -> None:
    with pytest.raises(RecordError):
        decode(5, key, value, headers)


def test_packet_ids_follow_from_the_offset() -> None:
    assert [packet_id(offset) for offset in (0, 1, 65_534, 65_535, 10 * 65_535 + 6)] == [1, 2, 65_535, 1, 7]
