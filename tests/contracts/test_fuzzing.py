"""Whatever stands in Kafka, a decoder reads it or says RecordError: one poison record must never stop a reader (I10).

The decoders are found by their names, and what to give them follows from their signatures; so a new one is tried too.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import contracts
from contracts import (
    headers,
    publish_record,
    session_event,
    session_record,
    shared_record,
    subscription_record,
)
from contracts.application_shares import EntityMarks
from contracts.errors import RecordError
from contracts.persisted_log import Repeats
from contracts.routed_record import ROUTED_HEADERS
from tests.contracts.test_session_event import ANSWERS, EVENTS

MODULES = [
    importlib.import_module(f"contracts.{one.name}") for one in pkgutil.iter_modules(contracts.__path__)
]
DECODERS: dict[str, Callable[..., Any]] = {
    f"{module.__name__.removeprefix('contracts.')}.{name}": function
    for module in MODULES
    for name, function in vars(module).items()
    if name.startswith("decode") and inspect.isfunction(function) and function.__module__ == module.__name__
} | {"Repeats.from_json": Repeats.from_json, "EntityMarks.from_text": EntityMarks.from_text}

NAMES = sorted(
    {
        field.name
        for module in MODULES
        for kind in vars(module).values()
        if is_dataclass(kind)
        for field in fields(kind)
    }
    | {"type", "marks", "seen", "next", "sequence", "repeats", "pending", "due_at_ms"}
)
"""Of fields in JSON."""
WORDS = sorted(
    {
        "node",
        "device",
        "online",
        "DEVICE",
        "APPLICATION",
        "gw1",
        "q2_begun",
        "a/b",
        *session_event._NAMES.values(),
    }
)
HEADER_NAMES = sorted(
    {value for name, value in vars(headers).items() if name.isupper() and isinstance(value, str)}
    | {*ROUTED_HEADERS, shared_record.MEMBER, "event"}
)
MONSTERS = [
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b"9" * 5_000,
    b"1e999",
    b"-Infinity",
    b'"\\ud800"',
    b"\xff\xfe",
]
"""Deeper than Python recurses, longer than it counts, and what is no text."""

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 70_000),
    st.integers(),
    st.floats(),
    st.sampled_from(WORDS),
    st.text(max_size=5),
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=8,
)
SEEDS = [
    *(session_event.encode(one) for one in (*EVENTS, *ANSWERS)),
    session_event.encode_disconnect(session_event.DisconnectWanted("id", "c1")),
    session_record.encode(session_record.SessionRecord("online", "gw1", "b1", "c1", 60, 5, "DEVICE", 7)),
    shared_record.encode_state(shared_record.DispatchState(3, 4)),
    subscription_record.encode_value(subscription_record.SubscriptionRecord("c", "a/+", "gw1")),
    b'{"marks":{"0":7},"seen":{"c":{"0":["a"]}}}',
    b'{"due_at_ms":1}',
    b'[{"filter":"a","node":"n","kind":"node"}]',
    b'{"filter":"\\ud800","kind":"node","node":"\\udfff","qos":1}',
    b'[{"filter":"\\ud800","node":"n","kind":"node"}]',
    b"[1,2]",
    b"0:1,2:3",
]
"""Valid records of all kinds, to be spoiled."""


def spoil(value: Any, draw: st.DrawFn) -> Any:
    """A JSON value with one thing in it replaced, or left out."""
    if isinstance(value, dict) and value:
        name = draw(st.sampled_from(sorted(value)))
        if draw(st.integers(0, 9)) == 0:
            return {key: item for key, item in value.items() if key != name}
        return value | {name: spoil(value[name], draw)}
    if isinstance(value, list) and value and draw(st.booleans()):
        return [spoil(value[0], draw), *value[1:]]
    return draw(values)


@st.composite
def spoilt(draw: st.DrawFn) -> bytes:
    """A valid record, or one of which a field or a byte is another."""
    seed = draw(st.sampled_from(SEEDS))
    match draw(st.integers(0, 3)):
        case 0:
            return seed
        case 1:
            at = draw(st.integers(0, len(seed)))
            return seed[:at] + draw(st.binary(max_size=2)) + seed[at + draw(st.integers(0, 2)) :]
    try:
        return json.dumps(spoil(json.loads(seed), draw)).encode()
    except ValueError:
        return seed


records = st.one_of(
    st.binary(max_size=30),
    values.map(lambda value: json.dumps(value).encode()),
    spoilt(),
    spoilt(),
    st.sampled_from([monster for monster in MONSTERS if len(monster) < 1_000]),
    st.lists(
        st.sampled_from([b"a", b"0", b"7", b":", b"\0", b"\0\0", b",", b"$share/g/t", b"9" * 5_000]),
        max_size=6,
    ).map(b"".join),
)
header = st.tuples(st.sampled_from(HEADER_NAMES) | st.text(max_size=3), st.none() | records)
ids = st.sampled_from([b"0:1", b"1000000:1", b"9" * 5_000 + b":1"]) | records
routed = st.tuples(
    st.tuples(st.just("topic"), st.none() | records),
    st.tuples(st.just("id"), st.none() | ids),
    st.tuples(st.just("filter"), st.none() | records),
).map(list)
no_headers: st.SearchStrategy[list[tuple[str, bytes]]] = st.just([])
firsts = st.just([("event", b"acked")]) | st.lists(header, max_size=4)
member = st.just([(shared_record.MEMBER, b"c")]) | no_headers
header_lists = st.tuples(firsts, member, routed | no_headers).map(
    lambda parts: [*parts[0], *parts[1], *parts[2]]
)
BY_ANNOTATION: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(0, 1 << 62),
    "str": st.text(max_size=20) | records.map(lambda value: value.decode(errors="replace")),
    "str | None": st.none()
    | st.text(max_size=20)
    | records.map(lambda value: value.decode(errors="replace")),
    "bytes": records,
    "bytes | None": st.none() | records,
    "Sequence[tuple[str, bytes | None]]": header_lists,
    "Sequence[tuple[str, bytes | None]] | None": st.none() | header_lists,
}
"""What a decoder may be given, by what its parameters say that they are."""


def parameters_of(decode: Callable[..., Any]) -> dict[str, str]:
    """Name → type of a decoder's parameters."""
    return {
        name: str(parameter.annotation).replace("RecordHeaders", "Sequence[tuple[str, bytes | None]]")
        for name, parameter in inspect.signature(decode).parameters.items()
    }


@pytest.mark.parametrize("decode", DECODERS.values(), ids=DECODERS)
def test_a_decoder_reads_it_or_says_record_error(decode: Callable[..., Any]) -> None:
    parameters = {name: BY_ANNOTATION[kind] for name, kind in parameters_of(decode).items()}

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.fixed_dictionaries(parameters))
    def check(arguments: dict[str, Any]) -> None:
        with suppress(RecordError):
            assert_texts(decode(**arguments))

    check()


def assert_texts(found: object) -> None:
    """Every string in it can be written again: who reads a record often writes parts of it on."""
    if isinstance(found, str):
        found.encode()
    elif is_dataclass(found):
        for field in fields(found):
            assert_texts(getattr(found, field.name))
    elif isinstance(found, dict):
        for item in found.items():
            assert_texts(item)
    elif isinstance(found, Iterable) and not isinstance(found, bytes):
        for item in found:
            assert_texts(item)


def shapes(monster: bytes) -> dict[str, list[tuple[str, bytes]]]:
    """Lists of headers with a monster in each place where a decoder looks."""
    source = monster + b":1"
    return {
        "everywhere": [(name, monster) for name in (*HEADER_NAMES, *ROUTED_HEADERS)],
        "in the value of an event": [("event", b"acked")],
        "in the id of a dispatcher": [
            (shared_record.MEMBER, b"c"), ("topic", b"t"), ("id", source), ("filter", b"f")
        ],
        "in the answer of a probe": [("probe", monster), ("topic", b"t"), ("id", b"0:1"), ("filter", b"\0probe")],
    }  # fmt: skip


@pytest.mark.parametrize("decode", DECODERS.values(), ids=DECODERS)
@pytest.mark.parametrize("shape", shapes(b""))
@pytest.mark.parametrize("monster", MONSTERS, ids=lambda monster: repr(monster[:9]))
def test_no_decoder_chokes_on_a_monster(decode: Callable[..., Any], shape: str, monster: bytes) -> None:
    arguments: dict[str, Any] = {}
    for name, kind in parameters_of(decode).items():
        if kind == "int":
            arguments[name] = 1
        elif kind == "str":
            arguments[name] = monster.decode(errors="replace")
        elif "tuple" in kind:
            arguments[name] = shapes(monster)[shape]
        else:
            arguments[name] = (
                b"c" if name == "key" and len(arguments) < 2 and shape != "everywhere" else monster
            )
    with suppress(RecordError):
        assert_texts(decode(**arguments))


@pytest.mark.parametrize("half", [b"\\ud800", b"\\uDFFFx", b"\xed\xa0\x80"])
def test_half_a_surrogate_pair_is_no_text(half: bytes) -> None:
    """Neither UTF-8 nor Arrow could be made of it: a gateway, or the router, would stop at each publish it matches."""
    for decode in (
        lambda: subscription_record.decode(b"c\0#", b'{"filter":"#","node":"%b","qos":1}' % half),
        lambda: publish_record.decode_routes(b'[{"filter":"#","kind":"node","node":"%b"}]' % half),
        lambda: session_event.decode_event(session_event.encode(EVENTS[-1]).replace(b'"c1"', b'"%b"' % half)),
    ):
        with pytest.raises(RecordError):
            decode()
    whole = subscription_record.decode(b"c\0#", b'{"filter":"#","node":"\\ud83d\\ude00","qos":1}')
    assert whole.node == "\U0001f600"


def test_all_decoders_are_found() -> None:
    assert len(DECODERS) >= 19
