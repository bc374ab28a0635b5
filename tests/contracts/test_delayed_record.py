"""The delayed record: its golden bytes, what `$delayed/…` may say, and what becomes of its headers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts import delayed_record
from contracts.delayed_record import Delayed, parse_delayed
from contracts.errors import RecordError, TopicError


@pytest.mark.parametrize(
    ("topic", "parsed"),
    [
        ("$delayed/0/a", Delayed(0, "a")),
        ("$delayed/15/a/b", Delayed(15, "a/b")),
        ("$delayed/4294967//a", Delayed(4_294_967, "/a")),
        ("$delayed/007/$app/x", Delayed(7, "$app/x")),
    ],
)
def test_what_it_says(topic: str, parsed: Delayed) -> None:
    assert parse_delayed(topic) == parsed


@pytest.mark.parametrize(
    "topic",
    [
        "$delayed/", "$delayed/5", "$delayed/5/", "$delayed//a", "$delayed/a/b", "$delayed/-1/a", "$delayed/+1/a",
        "$delayed/1.5/a", "$delayed/4294968/a", "$delayed/99999999999999999999/a", "$delayed/٣/a", "$delayed/ 5/a",
        "$delayed/5/$delayed/5/a", "$delayed/5/$SYS/x", "$delayed/5/$exclusive/x", "$delayed/5/a/#",
    ],
)  # fmt: skip
def test_what_is_invalid(topic: str) -> None:
    with pytest.raises(TopicError):
        parse_delayed(topic)


@given(
    st.integers(0, delayed_record.MAX_DELAY),
    st.text(st.characters(exclude_characters="\0+#$", exclude_categories=["Cs"]), min_size=1),
)
def test_any_topic_can_be_delayed(seconds: int, topic: str) -> None:
    assert parse_delayed(f"$delayed/{seconds}/{topic}") == (seconds, topic)


def test_golden() -> None:
    key = delayed_record.encode_key("é/b", "id7")
    assert key == b"\xc3\xa9/b\0id7"
    assert delayed_record.decode_key(key) == (b"\xc3\xa9/b", "id7")
    assert delayed_record.due_header(1_000) == ("due-at", b"1000")
    assert delayed_record.decode_due([("qos", b"1"), ("due-at", b"1000")]) == 1_000


@pytest.mark.parametrize("key", [None, b"", b"a", b"\0id"])
def test_keys_of_another_form(key: bytes | None) -> None:
    with pytest.raises(RecordError):
        delayed_record.decode_key(key)


@pytest.mark.parametrize(
    "headers", [None, [], [("due-at", b"1"), ("qos", b"1")], [("due-at", b"x")], [("due-at", None)]]
)
def test_headers_of_another_form(headers: list[tuple[str, bytes | None]] | None) -> None:
    with pytest.raises(RecordError):
        delayed_record.decode_due(headers)


def test_the_expiry_begins_when_it_is_published() -> None:
    headers: list[tuple[str, bytes | None]] = [
        ("qos", b"2"), ("message-expiry", b"60"), ("published-at", b"5"), ("user-property:due-at", b"x"),
        ("packet-id", b"5"), ("due-at", b"9"),
    ]  # fmt: skip
    assert delayed_record.published_headers(headers, 77, "gw1") == [
        ("qos", b"2"), ("message-expiry", b"60"), ("published-at", b"77"), ("user-property:due-at", b"x"),
    ]  # fmt: skip


@pytest.mark.parametrize(("taken_by", "node"), [(b"gw2", b"gw2"), (b"", b"gw1"), (None, b"gw1")])
def test_what_no_gateway_took_is_its_publishers(taken_by: bytes | None, node: bytes) -> None:
    """Somebody has to see to it that retained records stand in the right order (edge.gateway.retained.tail)."""
    assert delayed_record.published_headers([("node", taken_by), ("due-at", b"9")], 77, "gw1") == [
        ("node", node)
    ]
