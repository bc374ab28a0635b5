"""Records → changes → state, against contracts.route_table: whole or by parts, the same routes come out."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.kafka_topics import KafkaTopics
from contracts.route_table import APP, APPSHARE, DEVICE, NODE, NODE0, SHARE, routes_of
from contracts.subscription_record import SubscriptionRecord, decode, encode_key, encode_value
from routing.routes import table
from routing.routes.changes import Latest, read_changes
from routing.routes.table import CHANGES_SCHEMA, empty_state, merge, supersede, topics_of

Log = Sequence[tuple[bytes, bytes | None]]

records = st.builds(
    SubscriptionRecord,
    client_id=st.sampled_from(["c1", "c2", "n1"]),
    filter=st.sampled_from(["a", "a", "a/+", "$exclusive/a"]),
    node=st.sampled_from(["n1", "n2"]),
    qos=st.integers(0, 2),
    share_group=st.sampled_from([None, None, None, "g", "h"]),
    kind=st.sampled_from(["node", "device", "device", "app", "app", "other"]),
    target=st.sampled_from([None, "", "n1", "c1"]),
)
entries = st.builds(
    lambda record, gone: (
        encode_key(record.client_id, record.subscribed_filter),
        None if gone else encode_value(record),
    ),
    records,
    st.sampled_from([False, False, True]),
)


def state_of(log: Log, block: int, gathered: int = 1) -> pa.Table:
    """Read a log in blocks, as a partition's reader does, which gathers so many changes before it merges them."""
    state, pending = empty_state(), CHANGES_SCHEMA.empty_table()
    for start in range(0, len(log), block):
        latest: Latest = {}
        for offset, (key, value) in enumerate(log[start : start + block], start):
            latest[key] = (offset, value)
        pending = supersede(pending, read_changes(latest)[0])
        if pending.num_rows >= gathered:
            state, pending = merge(state, pending), CHANGES_SCHEMA.empty_table()
    return merge(state, pending)


def rows(state: pa.Table) -> list[tuple[str, str, str]]:
    """(filter, kind, target) of the rows that the route table shows, sorted."""
    shown = state.filter(state["first"]).select(["route_key", "kind", "node"]).to_pylist()
    return sorted((row["route_key"], row["kind"], row["node"]) for row in shown)


def oracle(log: Log) -> list[tuple[str, str, str]]:
    last = dict(log)
    live = [decode(key, value) for key, value in last.items() if value is not None]
    routes = {(record.filter, *route) for record in live for route in routes_of(record)}
    return sorted(
        (filter, kind, to) for filter, kind, to in routes if kind != NODE0 or (filter, NODE, to) not in routes
    )


@settings(deadline=None)  # The first example loads much of Arrow.
@given(st.lists(entries, max_size=25), st.integers(1, 8), st.integers(1, 12), st.integers(1, 4))
def test_the_table_agrees_with_the_oracle(log: Log, block: int, gathered: int, rows_at_once: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "BLOCK_ROWS", rows_at_once)
        state = state_of(log, block, gathered)
    assert rows(state) == oracle(log)
    topics = KafkaTopics("x")
    names = {
        NODE: topics.downlink_prefix + "{}", NODE0: topics.downlink_prefix + "{}",
        APP: topics.application_prefix + "{}", DEVICE: topics.persisted, SHARE: topics.shares,
        APPSHARE: topics.application_share_prefix + "{}",
    }  # fmt: skip
    assert topics_of(state, topics) == {names[kind].format(to) for _, kind, to in oracle(log)}


@pytest.mark.parametrize("block", [1, 9])
def test_a_client_that_becomes_persistent_and_back(block: int) -> None:
    def step(qos: int, kind: str) -> tuple[bytes, bytes | None]:
        record = SubscriptionRecord("c", "a", "n", qos, kind=kind)
        return encode_key("c", "a"), encode_value(record)

    log = [step(1, "node")]
    assert rows(state_of(log, block)) == [("a", NODE, "n")]
    log.append(step(1, "device"))
    assert rows(state_of(log, block)) == [("a", DEVICE, "c"), ("a", NODE0, "n")]
    log.append(step(0, "device"))
    assert rows(state_of(log, block)) == [("a", NODE, "n")]
    log += [step(2, "device"), step(2, "node")]
    assert rows(state_of(log, block)) == [("a", NODE, "n")]
    log.append((encode_key("c", "a"), None))
    assert state_of(log, block).num_rows == 0


def test_a_node_row_stands_for_the_lesser_one_and_gives_way_again() -> None:
    device = (encode_key("d", "a"), encode_value(SubscriptionRecord("d", "a", "n", 1, kind="device")))
    other = (encode_key("e", "a"), encode_value(SubscriptionRecord("e", "a", "n", 1, kind="device")))
    plain = (encode_key("p", "a"), encode_value(SubscriptionRecord("p", "a", "n", 1)))
    both = [("a", DEVICE, "d"), ("a", DEVICE, "e")]
    for log in ([device, other, plain], [plain, device, other], [device, plain, other]):
        assert rows(state_of(log, 1)) == [*both, ("a", NODE, "n")]
        assert rows(state_of([*log, (plain[0], None)], 1)) == [*both, ("a", NODE0, "n")]


@pytest.mark.parametrize(
    ("fields", "routes"),
    [
        ({}, [(NODE, "n")]),
        ({"kind": None, "qos": None}, [(NODE, "n")]),
        ({"kind": "device"}, [(NODE, "n")]),
        ({"kind": "device", "qos": None}, [(NODE, "n")]),
        ({"kind": "device", "qos": -1}, [(NODE, "n")]),
        ({"kind": "device", "qos": 7}, [(DEVICE, "é"), (NODE0, "n")]),
        ({"kind": "device", "qos": "1"}, [(DEVICE, "é"), (NODE0, "n")]),
        ({"kind": "device", "qos": 1.5}, [(DEVICE, "é"), (NODE0, "n")]),
        ({"kind": "device", "qos": True}, [(DEVICE, "é"), (NODE0, "n")]),
        ({"kind": "device", "qos": 10**40}, [(DEVICE, "é"), (NODE0, "n")]),
        ({"kind": "device", "qos": float("inf")}, []),
        ({"kind": "device", "qos": []}, [(NODE, "n")]),
        ({"kind": "device", "qos": [1]}, []),
        ({"kind": "app", "qos": 1}, [(NODE0, "n")]),
        ({"kind": "app", "qos": 1, "target": None}, [(NODE0, "n")]),
        ({"kind": "app", "qos": 1, "target": "t"}, [(APP, "t"), (NODE0, "n")]),
        ({"kind": "app", "qos": 1, "target": 7}, [(APP, "7"), (NODE0, "n")]),
        ({"kind": "app", "qos": 0, "target": "t"}, [(NODE, "n")]),
    ],
)
def test_strange_fields_are_read_as_the_contract_does(
    fields: dict[str, object], routes: list[tuple[str, str]]
) -> None:
    value = json.dumps({"filter": "a", "node": "n", **fields}).encode()
    state = state_of([(encode_key("é", "a"), value)], 1)
    assert rows(state) == [("a", *route) for route in routes]


def test_a_key_that_is_no_text_is_unreadable() -> None:
    value = encode_value(SubscriptionRecord("c", "a", "n", 1, kind="device"))
    changes, unreadable = read_changes({b"\xff\0a": (0, value), b"c\0a": (1, value)})
    assert unreadable == 1
    assert [row["key"] for row in changes.to_pylist() if row["live"]] == [b"c\0a", b"c\0a"]
