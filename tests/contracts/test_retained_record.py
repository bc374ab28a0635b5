"""Retained records and copies of them: golden headers, and what is read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts import persisted_record, retained_record
from contracts.errors import RecordError
from contracts.persisted_log import Repeats
from contracts.persisted_record import Message
from contracts.publish_record import MessageProperties, PublishRecord
from contracts.retained_record import COPIES, CopyOf, RetainedRecord
from contracts.shared_record import SOURCES

RECORD = RetainedRecord(
    PublishRecord(
        "a/b", b"21.5", "c", "gw1", 1, True, 5, MessageProperties(user_properties=(("id", "9:9"),))
    ),
    2,
    17,
    (40, 3),
)
PUBLISHED = [
    ("client-id", b"c"),
    ("node", b"gw1"),
    ("protocol", b"5"),
    ("qos", b"1"),
    ("retain", b"1"),
    ("user-property:id", b"9:9"),
]


def test_golden_headers() -> None:
    headers = retained_record.encode_headers(RECORD)
    assert headers == [*PUBLISHED, ("subscriptions-read", b"40,3"), ("id", b"2:17")]
    assert retained_record.decode(b"a/b", b"21.5", headers) == RECORD
    assert retained_record.subscriptions_header({1: 3, 0: 40}) == ("subscriptions-read", b"40,3")


def test_a_tombstone_is_a_deletion() -> None:
    deletion = retained_record.decode(b"a/b", None, retained_record.encode_headers(RECORD))
    assert deletion.is_deletion
    assert not RECORD.is_deletion


@pytest.mark.parametrize(
    "headers",
    [
        None,
        PUBLISHED,
        [("subscriptions-read", b"1"), ("id", b"x")],
        [("subscriptions-read", b"1,x"), ("id", b"1:2")],
        [("id", b"1:2"), ("subscriptions-read", b"1")],
    ],
)
def test_what_is_no_retained_record(headers: list[tuple[str, bytes | None]] | None) -> None:
    with pytest.raises(RecordError):
        retained_record.decode(b"t", b"", headers)


@pytest.mark.parametrize("key", [None, b"", b"a/+", b"#", b"a\0b", b"\xff", b"x" * 65_536])
def test_a_key_that_is_no_topic(key: bytes | None) -> None:
    with pytest.raises(RecordError):
        retained_record.decode(key, b"", retained_record.encode_headers(RECORD))


@given(st.lists(st.integers(0, 1 << 60), max_size=4), st.integers(0, 1000), st.integers(0, 1 << 60))
def test_what_is_written_is_read(read: list[int], partition: int, offset: int) -> None:
    record = RetainedRecord(RECORD.record, partition, offset, tuple(read))
    assert retained_record.decode(b"a/b", b"21.5", retained_record.encode_headers(record)) == record


@pytest.mark.parametrize("is_new", [True, False])
def test_a_copy_is_a_message_of_the_persisted_log_and_no_repeat(is_new: bool) -> None:
    headers = retained_record.encode_copy_headers(RECORD, "a/+", is_new=is_new)
    assert headers == [
        *PUBLISHED,
        ("subscribed", b"new" if is_new else b"again"),
        ("topic", b"a/b"),
        ("id", b"2000002:17"),
        ("filter", b"a/+"),
    ]
    copy = persisted_record.decode(5, b"c", b"21.5", headers)
    assert isinstance(copy, Message)
    place = copy.source_partition, copy.source_offset
    assert retained_record.is_copy(copy.source_partition)
    assert retained_record.decode_copy(*place, copy.headers) == CopyOf(2, 17, is_new)
    repeats = Repeats()
    before = repeats.to_json()
    assert not any(repeats.is_repeat(*place, "c", "a/+") for _ in range(2))
    assert repeats.to_json() == before


def test_no_other_source_is_taken_for_a_copy() -> None:
    assert not any(map(retained_record.is_copy, (0, SOURCES, SOURCES + 999, 1 << 56)))
    assert retained_record.is_copy(COPIES)
