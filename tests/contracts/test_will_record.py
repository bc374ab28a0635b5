"""Wills in records' headers: golden bytes, what is published of them, and what is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts import publish_record
from contracts.errors import RecordError
from contracts.publish_record import MessageProperties, PublishRecord
from contracts.session_event import ConnectRequested, encode, headers_of
from contracts.session_record import KeptWill
from contracts.session_record import encode as encode_record
from contracts.will_record import Will, decode
from contracts.will_record import encode as encode_will

PROPERTIES = MessageProperties(
    message_expiry=10,
    payload_format=1,
    content_type="text/plain",
    response_topic="r",
    correlation_data=b"\0\xff\x10",
    user_properties=(("k", "1"), ("k", "2"), ("a", "")),
)
MESSAGE = PublishRecord("st/ü", b"off", "tv", "gw1", 1, retain=True, properties=PROPERTIES)
WILL = Will("st/ü", b"off", tuple(publish_record.encode_headers(MESSAGE)), 5)


def test_golden_bytes() -> None:
    assert encode_will(Will("a/ü", b"\0", (("client-id", b"tv"), ("qos", b"1")), 5)) == [
        ("will-topic", "a/ü".encode()),
        ("will-delay", b"5"),
        ("will-payload", b"\0"),
        ("client-id", b"tv"),
        ("qos", b"1"),
    ]


def test_a_will_is_no_part_of_the_json() -> None:
    connect = ConnectRequested("gw1", "b1", "c1", True, 0, 5, "DEVICE", 7)
    assert encode(replace(connect, will=WILL)) == encode(connect)
    assert headers_of(connect) == []
    assert encode_record(KeptWill("c1", WILL, 9)) == b'{"connection":"c1","due_at_ms":9}'


def test_it_is_published_as_it_was_given_and_its_expiry_begins_to_run() -> None:
    record = publish_record.decode(WILL.topic.encode(), WILL.payload, WILL.published("c1", 1_000))
    assert record == replace(MESSAGE, properties=replace(PROPERTIES, published_at_ms=1_000))
    assert WILL.published("c1", 1_000)[-1] == ("will", b"c1")
    assert WILL.qos == 1
    assert Will("t", b"").published("c1", 1) == [("will", b"c1")]


def test_records_without_a_will() -> None:
    assert decode([]) is None
    assert decode([("other", b"1")]) is None


@pytest.mark.parametrize(
    "headers",
    [
        [("will-topic", b"t")],
        [("will-topic", b"t"), ("will-payload", b""), ("will-delay", b"0")],
        [("will-topic", b"t"), ("will-delay", b"x"), ("will-payload", b"")],
        [("will-topic", b"\xff"), ("will-delay", b"0"), ("will-payload", b"")],
    ],
)
def test_what_is_no_will(headers: list[tuple[str, bytes | None]]) -> None:
    with pytest.raises(RecordError):
        decode(headers)
