"""Session records: keys, golden bytes, round trips, and what is none."""

from __future__ import annotations

import pytest

from contracts.application_progress import Progress
from contracts.errors import RecordError
from contracts.session_event import NEVER, ConnectRequested, InboundExchange, Subscription
from contracts.session_record import (
    CONNECTED,
    OFFLINE,
    Kept,
    KeptWill,
    Part,
    SessionRecord,
    WillPart,
    decode,
    decode_key,
    encode,
    exchange_key,
    headers_of,
    progress_key,
    session_key,
    subscription_key,
    will_key,
)
from contracts.will_record import Will

SESSION = SessionRecord(CONNECTED, "gw1", "b1", "c1", 60, 5, "DEVICE", 7, is_persistent=True)
ADMINISTERED = SessionRecord(
    CONNECTED, "gw1", "b1", "c1", 60, 5, "DEVICE", 7,
    user_name="ü", address="::1", keep_alive=60, clean_start=True, is_cleared=True,
)  # fmt: skip
PENDING = ConnectRequested("gw2", "b2", "c2", True, 0, 4, "DEVICE", 9)


def test_keys() -> None:
    assert session_key("ü") == "ü".encode()
    assert subscription_key("id", "a/#") == b"id\0a/#"
    assert exchange_key("id", 12) == b"id\0\0q2:12"
    assert progress_key("id") == b"id\0\0app"
    assert will_key("id", "c1") == b"id\0\0will:c1"
    assert decode_key(b"id\0\0will:c1") == ("id", WillPart("c1"))
    assert decode_key(b"id\0\0app") == ("id", Part.PROGRESS)
    assert decode_key(b"id") == ("id", None)
    assert decode_key(b"id\0a/#") == ("id", "a/#")
    assert decode_key(b"id\0\0q2:12") == ("id", 12)


@pytest.mark.parametrize(
    "key",
    [
        None,
        b"",
        b"\0a",
        b"id\0",
        b"id\0\0",
        b"id\0\0q2:",
        b"id\0\0q2:x",
        b"id\0\0app2",
        b"id\0\0will:",
        b"\xff",
    ],
)
def test_what_is_no_key(key: bytes | None) -> None:
    with pytest.raises(RecordError):
        decode_key(key)


@pytest.mark.parametrize(
    ("key", "record"),
    [
        (b"id", SESSION),
        (b"id", ADMINISTERED),
        (b"id", SessionRecord(OFFLINE, "gw1", "b1", "c1", NEVER, 3, "DEVICE", 7, 8, True, PENDING)),
        (b"id\0a", Subscription("a", 1, subscription_id=5)),
        (b"id\0\0q2:3", InboundExchange(3, "confirmed", 1, 2)),
        (b"id\0\0app", Progress(7, acked=(9, 10), received=(8,))),
        (b"id\0\0will:c1", KeptWill("c1", Will("t", b"gone"))),
        (b"id\0\0will:c1", KeptWill("c1", Will("t", b"gone", (("qos", b"2"),), 60), 1_000, 7)),
    ],
)
def test_a_record_comes_back(key: bytes, record: SessionRecord | Kept) -> None:
    assert decode(key, encode(record), headers_of(record)) == record


def test_golden_bytes() -> None:
    assert encode(SESSION) == (
        b'{"state":"connected","node":"gw1","boot":"b1","connection":"c1","expiry":60,"protocol":5,'
        b'"client_type":"DEVICE","connected_at_ms":7,"is_persistent":true}'
    )


@pytest.mark.parametrize(
    "value", [b"", b"[]", b"{}", b'{"filter":"a"}', encode(SESSION).replace(b"60", b"6.5")]
)
def test_what_is_no_session(value: bytes) -> None:
    with pytest.raises(RecordError):
        decode(b"id", value)


def test_when_a_session_expires() -> None:
    offline = SessionRecord(OFFLINE, "n", "b", "c", 60, 5, "DEVICE", 1, ended_at_ms=5_000)
    assert offline.expires_at_ms == 65_000
    assert SESSION.expires_at_ms is None
    assert SessionRecord(OFFLINE, "n", "b", "c", NEVER, 5, "DEVICE", 1, 5_000).expires_at_ms is None
