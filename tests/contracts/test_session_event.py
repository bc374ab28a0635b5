"""Session events and answers: golden bytes, round trips, and what is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.application_progress import Progress
from contracts.errors import RecordError
from contracts.session_event import (
    ADMINISTRATIVE_ACTION,
    CHANGE,
    CLEAR,
    NEVER,
    ApplicationProgress,
    ChangeWanted,
    CommandGiven,
    ConnectionEnded,
    ConnectRequested,
    DisconnectWanted,
    ExchangeBegun,
    ExchangeConfirmed,
    ExchangeReleased,
    Granted,
    InboundExchange,
    Refused,
    SessionAnswer,
    SessionEvent,
    Subscribed,
    Subscription,
    Unsubscribed,
    WillBegun,
    decode_answer,
    decode_disconnect,
    decode_event,
    encode,
    encode_disconnect,
    headers_of,
)
from contracts.will_record import Will

CONNECT = ConnectRequested(
    "gw1", "b1", "c1", clean_start=False, expiry=NEVER, protocol=5, client_type="DEVICE", at_ms=7
)
SUBSCRIBED = Subscribed(
    "gw1", "c1", (Subscription("a/ü", 1), Subscription("$share/g/+", 2, True, True, 2, 7))
)
EVENTS: list[SessionEvent] = [
    CONNECT,
    ConnectionEnded("gw1", "b1", "c1", None, 7),
    ConnectionEnded("gw1", "b1", "c1", 60, 7, will_delay=5),
    ConnectionEnded("gw1", "b1", "c1", 60, 7, is_will_left=True),
    ConnectionEnded("gw1", "b1", "c1", 60, 7, is_unfed=True),
    replace(CONNECT, will=Will("a/ü", b"\0\xff", (("qos", b"1"), ("user-property:k", b"1")), 5)),
    replace(CONNECT, will=Will("a", b"")),
    replace(CONNECT, user_name="ü", address="192.0.2.7", keep_alive=60),
    CommandGiven("k1", CLEAR),
    CommandGiven("k1", CHANGE, (Subscription("a/ü", 1),), ("$share/g/+",)),
    WillBegun("c1", 1 << 40),
    SUBSCRIBED,
    Unsubscribed("gw1", "c1", ("a", "b/#")),
    ExchangeBegun("c1", 65_535, 3, 1 << 40),
    ExchangeConfirmed("c1", 1),
    ExchangeReleased("c1", 1),
    ApplicationProgress("c1", Progress(7, '{"marks":{},"seen":{}}', (9, 12, 20, 21), (8,))),
    ApplicationProgress("c1", Progress(0)),
]
ANSWERS: list[SessionAnswer] = [
    Granted("id", "c1", False, 0),
    Granted("id", "c1", True, 60, (Subscription("a"),), (InboundExchange(1, "confirmed", 2, 3),), True, True),
    Granted("id", "c1", True, 60, application=Progress(7, acked=(9, 10))),
    Refused("c1", 0x8E),
    ChangeWanted("id", "c1", "k1", (Subscription("a", 1, by_administrator=True),), ("b",)),
]


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_comes_back(event: SessionEvent) -> None:
    assert decode_event(encode(event), headers_of(event)) == event


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_comes_back(answer: SessionAnswer) -> None:
    assert decode_answer(encode(answer)) == answer


@pytest.mark.parametrize(
    "wanted",
    [
        DisconnectWanted("id", "c1"),
        DisconnectWanted("id", "c1", True),
        DisconnectWanted("id", "c1", reason_code=ADMINISTRATIVE_ACTION),
    ],
)
def test_a_disconnect_comes_back(wanted: DisconnectWanted) -> None:
    assert decode_disconnect(encode_disconnect(wanted)) == wanted


def test_golden_bytes() -> None:
    assert encode(CONNECT) == (
        b'{"type":"connect","node":"gw1","boot":"b1","connection":"c1","clean_start":false,"expiry":4294967295,'
        b'"protocol":5,"client_type":"DEVICE","at_ms":7}'
    )
    assert (
        encode(SUBSCRIBED)
        == (
            '{"type":"subscribed","node":"gw1","connection":"c1","subscriptions":[{"filter":"a/ü","qos":1},{"filter":'
            '"$share/g/+","qos":2,"no_local":true,"retain_as_published":true,"retain_handling":2,"subscription_id":7}]}'
        ).encode()
    )


def test_unknown_fields_are_passed_over() -> None:
    assert decode_event(encode(CONNECT)[:-1] + b',"later":{"x":[1]}}') == CONNECT


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"{}",
        b"[]",
        b"\xff",
        b'{"type":"granted","client_id":"i","connection":"c","session_present":true,"expiry":0}',
        b'{"type":["connect"]}',
        encode(CONNECT).replace(b'"gw1"', b'"../x"'),
        encode(CONNECT).replace(b"4294967295", b"1e999"),
        encode(CONNECT).replace(b"false", b"0"),
        encode(CONNECT).replace(b'"at_ms":7', b'"at_ms":true'),
        b'{"type":"unsubscribed","node":"n","connection":"c","filters":[1]}',
        b'{"type":"subscribed","node":"n","connection":"c","subscriptions":["a"]}',
        b"[" * 100_000,
        b'{"type":"command","command":"k","action":"change"}',
        b'{"type":"command","command":"k","action":"change","filters":["$share/x"]}',
        b'{"type":"command","command":"k","action":"change","subscriptions":[{"filter":"a","qos":3}]}',
    ],
)
def test_what_is_no_event(value: bytes | None) -> None:
    with pytest.raises(RecordError):
        decode_event(value)
