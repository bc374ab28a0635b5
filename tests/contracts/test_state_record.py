"""What parts say of themselves: golden bytes, what is not of the form, and when silence is one."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts import state_record
from contracts.errors import RecordError
from contracts.state_record import (
    Authentication,
    GatewayState,
    Latency,
    Rates,
    RouterSeen,
    RouterState,
    percentile,
    silent_after,
)

GATEWAY = GatewayState(
    "gw1", 1_700_000_000_000, 5.0, "b1", 1_690_000_000_000, "0.1", False, {"tcp": "127.0.0.1:1883"}, 2, 3,
    Rates(1.5, 2.5, 0.0), 1024, 12.5, RouterSeen(4, (7, 9), Latency(1.0, 2.0, 3.0, 4), 0, 5, (6,)),
    Authentication(("basic",), "database", None), {"": "round_robin"}, {"publishes": 5},
)  # fmt: skip
ROUTER = RouterState(
    1_700_000_000_000, 5.0, "b2", 1_690_000_000_000, "running", "0.1", "realtime", 60.0, 3, 1_695_000_000_000, 2, 1,
    1200, 0, None, ("tbmq.x",), ("tbmq.x",), 4, (10, 11),
)  # fmt: skip


def test_golden_bytes() -> None:
    key, value = state_record.encode(GATEWAY)
    assert key == b"gateway/gw1"
    assert value == (
        b'{"node":"gw1","at_ms":1700000000000,"interval_s":5.0,"boot":"b1","started_at_ms":1690000000000,'
        b'"version":"0.1","is_stopped":false,"listeners":{"tcp":"127.0.0.1:1883"},"connections":2,"subscriptions":3,'
        b'"messages":{"in_per_s":1.5,"out_per_s":2.5,"dropped_per_s":0.0},"memory_bytes":1024,"cpu_percent":12.5,'
        b'"router":{"generation":4,"table_version":[7,9],"latency_ms":{"last":1.0,"p50":2.0,"p99":3.0,"probes":4},'
        b'"outstanding_probes":0,"backlog":5,"routed":[6]},"authentication":{"providers":["basic"],"source":"database","error":null},'
        b'"share_strategies":{"":"round_robin"},"counters":{"publishes":5}}'
    )
    key, value = state_record.encode(ROUTER)
    assert key == b"router"
    assert value == (
        b'{"at_ms":1700000000000,"interval_s":5.0,"boot":"b2","started_at_ms":1690000000000,"state":"running",'
        b'"version":"0.1","trigger":"realtime","rollover_seconds":60.0,"generation":3,'
        b'"generation_started_at_ms":1695000000000,"rollovers":2,"postponed_rollovers":1,"last_rollover_ms":1200,'
        b'"restarts":0,"last_failure":null,"quarantine":["tbmq.x"],"missing":["tbmq.x"],"shapes":4,"routed":[10,11]}'
    )


@pytest.mark.parametrize("state", [GATEWAY, ROUTER])
def test_there_and_back(state: GatewayState | RouterState) -> None:
    assert state_record.decode(*state_record.encode(state)) == state


def test_what_newer_writers_add_is_passed_over_and_what_older_ones_leave_out_has_its_default() -> None:
    needed = {"node": "gw1", "at_ms": 1, "interval_s": 5, "boot": "b", "started_at_ms": 1, "news": [1]}
    assert state_record.decode(b"gateway/gw1", json.dumps(needed).encode()) == GatewayState(
        "gw1", 1, 5.0, "b", 1
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"{}"),
        (b"\xff", b"{}"),
        (b"gateway/", b"{}"),
        (b"gateway/a b", b"{}"),
        (b"gw1", b"{}"),
        (b"gateway/gw2", state_record.encode(GATEWAY)[1]),
        (b"router", None),
        (b"router", b""),
        (b"router", b"[]"),
        (b"router", b"[" * 100_000),
        (b"router", b"{}"),
        *(
            (b"router", json.dumps(json.loads(state_record.encode(ROUTER)[1]) | {name: wrong}).encode())
            for name, wrong in {
                "at_ms": True, "interval_s": float("nan"), "state": None, "quarantine": "x", "missing": [1],
                "routed": [1 << 70], "last_failure": 3, "rollover_seconds": "60",
            }.items()
        ),
        *(
            (b"gateway/gw1", json.dumps(json.loads(state_record.encode(GATEWAY)[1]) | {name: wrong}).encode())
            for name, wrong in {"messages": [], "listeners": {"a": 1}, "router": {"latency_ms": {"last": 1}}}.items()
        ),
    ],
)  # fmt: skip
def test_other_forms_are_refused(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(RecordError):
        state_record.decode(key, value)


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(value: bytes) -> None:
    for key in (b"router", b"gateway/gw1", value):
        with pytest.raises(RecordError):
            state_record.decode(key, value)


def test_silence_begins_after_some_intervals() -> None:
    assert silent_after(GATEWAY) == 18.0
    assert silent_after(replace(ROUTER, interval_s=60.0)) == 183.0


def test_percentiles() -> None:
    hundred = tuple(float(number) for number in range(1, 101))
    assert (percentile(hundred, 0.5), percentile(hundred, 0.99), percentile((3.0,), 0.99)) == (
        50.0,
        99.0,
        3.0,
    )
