"""Traces: golden bytes, what is not of the form, and what a trace wants."""

from __future__ import annotations

import pytest

from contracts import trace_record
from contracts.errors import RecordError
from contracts.trace_record import TraceSwitch


def test_golden_bytes() -> None:
    switch = TraceSwitch("t1", "café", "a/+", 1_700_000_000_000)
    key, value = trace_record.encode_switch(switch)
    assert (key, value) == (b"t1", '{"client":"café","filter":"a/+","until_ms":1700000000000}'.encode())
    assert trace_record.decode_switch(key, value) == switch
    off = TraceSwitch("t1", None, None, 0)
    assert trace_record.decode_switch(*trace_record.encode_switch(off)) == off
    step = {"step": "sent", "node": "gw1", "at_ms": 1.5, "traces": ["t1"], "qos": None}
    assert trace_record.encode_step(step) == b'{"step":"sent","node":"gw1","at_ms":1.5,"traces":["t1"]}'
    assert trace_record.decode_step(trace_record.encode_step(step))["at_ms"] == 1.5


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b'{"client":"c","until_ms":1}'),
        (b"\xff", b'{"client":"c","until_ms":1}'),
        (b"t", None),
        (b"t", b"[]"),
        (b"t", b'{"client":"c"}'),
        (b"t", b'{"until_ms":1}'),
        (b"t", b'{"client":"","until_ms":1}'),
        (b"t", b'{"client":7,"until_ms":1}'),
        (b"t", b'{"filter":"a/#/b","until_ms":1}'),
        (b"t", b'{"client":"c","until_ms":-1}'),
        (b"t", b'{"client":"c","until_ms":true}'),
        (b"t", b'{"client":"c","until_ms":9007199254740993}'),
        (b"t", b"[" * 100_000),
    ],
)
def test_other_switches_are_refused(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(RecordError):
        trace_record.decode_switch(key, value)


@pytest.mark.parametrize(
    "value",
    [None, b"", b"[]", b'{"step":"x"}', b'{"step":1,"node":"n","at_ms":1,"traces":[]}', b"[" * 100_000],
)
def test_other_steps_are_refused(value: bytes | None) -> None:
    with pytest.raises(RecordError):
        trace_record.decode_step(value)


def test_what_it_wants() -> None:
    both = TraceSwitch("t", "c1", "a/+", 1)
    assert both.wants("c1", "x")
    assert both.wants("c2", "a/b")
    assert not both.wants("c2", "a/b/c")
    assert not TraceSwitch("t", "c1", None, 1).wants("c2", "a")
    assert not TraceSwitch("t", None, "#", 1).wants("c1", "$SYS/a")
