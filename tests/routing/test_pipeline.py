"""The whole plan on a batch: who gets what, and that nothing that a producer writes can make it fail."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, Row, SparkSession

from contracts import headers as h
from contracts.kafka_topics import MAX_ROUTED_RECORD_BYTES, KafkaTopics
from contracts.partitioner import partition_of
from contracts.probe_record import (
    PROBE_KEY,
    PROBE_KIND,
    ProbeAnswer,
    decode_answer,
    encode_headers,
    encode_share_headers,
    is_answer,
)
from contracts.publish_record import PublishRecord, RouteHit, decode, routes_header
from contracts.publish_record import encode_headers as publish_headers
from contracts.route_table import DEVICE, NODE, NODE0, SHARE, takes
from contracts.routed_record import Route, decode_route
from contracts.topics import Shape, matches, shape_of
from routing.pipeline import route
from tests.routing import rows

TOPICS = KafkaTopics("p")
ALL = Shape(0, (), True)


def routed(publishes: DataFrame, routes: DataFrame, *shapes: Shape, **options: Any) -> list[Row]:
    return route(publishes, routes, shapes, TOPICS, options.pop("generation", 7), **options).collect()


def told(row: Row) -> tuple[str, str]:
    """(node, filter) of a routed record."""
    return row.topic.removeprefix(TOPICS.downlink_prefix), decode_route(row.headers).filter


def way(row: Row) -> tuple[str, str, str]:
    """(`downlink`, `persisted` or `shared`; node, client or group; filter) of a routed record."""
    if row.topic == TOPICS.persisted:
        return "persisted", row.key, decode_route(row.headers).filter
    if row.topic == TOPICS.shares:
        assert row.key == decode_route(row.headers).filter
        group, _, filter = row.key.removeprefix("$share/").partition("/")
        return "shared", group, filter
    return "downlink", *told(row)


def test_a_routed_record_is_golden(spark: SparkSession) -> None:
    record = PublishRecord("a/b", b"\x00payload", "c", "gw1", 1, True, routes=[RouteHit("a/+", "n2")])
    publishes = rows.publishes(
        spark,
        {
            "key": b"a/b",
            "value": record.payload,
            "headers": publish_headers(record),
            "partition": 3,
            "offset": 12,
        },
    )
    by_node = {told(row)[0]: row for row in routed(publishes, rows.routes(spark, ("a/b", "n1")))}
    assert set(by_node) == {"n1", "n2"}
    assert by_node["n1"].asDict() == {
        "topic": "p.msg.downlink.basic.n1",
        "key": "3",
        "value": bytearray(b"\x00payload"),
        "headers": [
            ("client-id", b"c"), ("node", b"gw1"), ("protocol", b"5"), ("qos", b"1"), ("retain", b"1"),
            ("topic", b"a/b"), ("id", b"3:12"), ("filter", b"a/b"),
        ],
    }  # fmt: skip
    assert decode_route(by_node["n2"].headers) == Route(3, 12, "a/b", "a/+")
    taken = decode(b"a/b", bytes(by_node["n2"].value), by_node["n2"].headers)
    assert taken == PublishRecord("a/b", b"\x00payload", "c", "gw1", 1, True)


def test_a_probe_is_answered_once_for_each_table_partition(spark: SparkSession) -> None:
    headers = encode_headers("n1", 42)
    probes = rows.publishes(
        spark, {"key": PROBE_KEY.encode(), "value": b"", "headers": headers, "partition": 1, "offset": 5}
    )
    table = rows.routes(
        spark,
        ("#", "n2"),
        *(
            {"route_key": PROBE_KEY, "kind": PROBE_KIND, "table_partition": i, "table_version": 10 + i}
            for i in (0, 1)
        ),
    )
    shapes = [ALL, Shape(1, (0,), False), Shape(1, (0,), True), *(Shape(30, (i,), True) for i in range(30))]
    answers = routed(probes, table, *shapes, generation=9)
    assert all(is_answer(row.headers) for row in answers)  # It is no message: wildcards do not get it.
    assert {row.topic for row in answers} == {TOPICS.downlink("n1")}
    assert sorted((decode_answer(row.headers) for row in answers), key=lambda one: one.table_partition) == [
        ProbeAnswer(42, 1, 5, 0, 10, 9),
        ProbeAnswer(42, 1, 5, 1, 11, 9),
    ]


level = st.sampled_from(["", "a", "b", "$x"])
topic = st.lists(level, min_size=1, max_size=4).map("/".join).filter(bool)
topic_filter = st.builds(
    lambda levels, tail: "/".join([*levels, "#"] if tail else levels),
    st.lists(st.one_of(level, st.just("+")), min_size=1, max_size=4),
    st.booleans(),
).filter(bool)


target = st.tuples(
    topic_filter, st.sampled_from([NODE, NODE0, DEVICE, SHARE]), st.sampled_from(["n1", "n2", "client/1"])
).filter(lambda one: one[1] == DEVICE or one[2] != "client/1")
WAYS = {DEVICE: "persisted", SHARE: "shared"}
message = st.tuples(topic, st.integers(0, 2), st.sets(target, max_size=3))


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(message, min_size=1, max_size=30), st.sets(target, min_size=1, max_size=30))
def test_the_join_agrees_with_the_oracle(
    spark: SparkSession,
    messages: list[tuple[str, int, set[tuple[str, str, str]]]],
    table: set[tuple[str, str, str]],
) -> None:
    shapes = {shape for f, _, _ in table if (shape := shape_of(f))}
    records = [
        PublishRecord(name, b"", qos=qos, routes=[RouteHit(f, to, kind) for f, kind, to in sorted(hits)])
        for name, qos, hits in messages
    ]
    publishes = rows.publishes(
        spark, *({"key": one.topic.encode(), "headers": publish_headers(one)} for one in records)
    )
    routes = rows.routes(spark, *({"route_key": f, "kind": kind, "node": to} for f, kind, to in table))
    found = sorted(
        (decode_route(row.headers).offset, *way(row)) for row in routed(publishes, routes, *shapes)
    )
    # A hit is not matched again: the gateway has done it.
    expected = sorted(
        (i, WAYS.get(kind, "downlink"), to, f)
        for i, (name, qos, hits) in enumerate(messages)
        for f, kind, to in [*(one for one in table if matches(one[0], name)), *hits]
        if takes(kind, qos)
    )
    assert found == expected


@pytest.mark.parametrize("qos", range(3))
def test_a_record_of_the_persisted_log_is_golden(spark: SparkSession, qos: int) -> None:
    record = PublishRecord("a/b", b"p", "c", "gw1", qos, routes=[RouteHit("a/+", "later", DEVICE)])
    publishes = rows.publishes(
        spark,
        {"key": b"a/b", "value": b"p", "headers": publish_headers(record), "partition": 3, "offset": 12},
    )
    table = rows.routes(
        spark,
        {"route_key": "a/b", "kind": DEVICE, "node": "client/é"},
        {"route_key": "a/b", "kind": NODE0, "node": "n1"},
    )
    found = {row.key: row for row in routed(publishes, table)}
    if qos == 0:
        assert [way(row) for row in found.values()] == [("downlink", "n1", "a/b")]
        return
    assert {way(row) for row in found.values()} == {
        ("persisted", "client/é", "a/b"),
        ("persisted", "later", "a/+"),
    }
    assert found["client/é"].asDict() == {
        "topic": "p.msg.persisted",
        "key": "client/é",
        "value": bytearray(b"p"),
        "headers": [
            ("client-id", b"c"), ("node", b"gw1"), ("protocol", b"5"), ("qos", b"%d" % qos), ("retain", b"0"),
            ("topic", b"a/b"), ("id", b"3:12"), ("filter", b"a/b"),
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    "row",
    [
        {"key": None},
        {"key": b""},
        {"key": b"\xff\xfe"},
        {"key": b"x" * 65_536},
        {"value": b"0" * MAX_ROUTED_RECORD_BYTES},
        {"key": PROBE_KEY.encode()},
        {"key": PROBE_KEY.encode(), "headers": [("node", b"../x")]},
        {"headers": [("routes", b'[{"filter":"t","kind":"node","node":"no.such/node"}]')]},
        {"headers": [("routes", b'[{"filter":"t","kind":"node","node":"n1\\n"}]')]},
        {"headers": [("routes", b'[{"filter":"t","kind":"node","node":""}]')]},
        {"headers": [("routes", b'[{"filter":"t","kind":"probe","node":"n1"}]')]},
        {"headers": [("routes", b'[{"filter":"t","kind":"other","node":"n1"}]')]},
        {"headers": [("routes", b'[{"filter":"t","node":"n1"}]')]},
        {"headers": [("routes", b'[{"filter":"t","kind":"device","node":"c"}]')]},
        {"headers": [("qos", b"1"), ("routes", b'[{"filter":"t","kind":"device","node":""}]')]},
        {"headers": [("qos", b"1"), ("routes", b'[{"filter":"t","kind":"node0","node":"n1"}]')]},
    ],
)  # fmt: skip
def test_what_cannot_be_routed_is_dropped(spark: SparkSession, row: dict[str, Any]) -> None:
    table = rows.routes(spark, ("x", "n1"), {"route_key": PROBE_KEY, "kind": PROBE_KIND})
    good = {"key": b"x"}
    assert [decode_route(r.headers).offset for r in routed(rows.publishes(spark, row, good), table)] == [1]


@pytest.mark.parametrize(
    "headers",
    [
        None,
        [],
        [("routes", None)],
        [("routes", b"")],
        [("routes", b"{")],
        [("routes", b"\xff")],
        [("routes", b"null")],
        [("routes", b"[]")],
        [("routes", b"[null]")],
        [("routes", b'[{"filter":"x"}]')],
        [("routes", b'{"filter":"y","node":"n2"}'), ("last", b"")],
        [("a", None), ("user-property:a", b"1"), ("user-property:a", b"1")],
    ],
)
def test_strange_headers_do_not_keep_a_message_from_its_route(
    spark: SparkSession, headers: list[tuple[str, bytes | None]] | None
) -> None:
    found = routed(
        rows.publishes(spark, {"key": b"x", "value": None, "headers": headers}),
        rows.routes(spark, ("x", "n1")),
    )
    assert {told(row) for row in found} == {("n1", "x")}
    assert bytes(found[0].value) == b""
    kept = list(headers or ())
    if kept and kept[-1][0] == h.ROUTES:
        kept.pop()
    assert [tuple(pair) for pair in found[0].headers[:-3]] == kept


def test_only_the_exact_guard_counts_headers(spark: SparkSession) -> None:
    large = [("user-property:x", b"0" * MAX_ROUTED_RECORD_BYTES)]
    publishes = rows.publishes(spark, {"key": b"x", "headers": large}, {"key": b"x"})
    table = rows.routes(spark, ("x", "n1"))
    assert len(routed(publishes, table)) == 2
    assert [decode_route(r.headers).offset for r in routed(publishes, table, exact_guard=True)] == [1]


def test_a_topic_in_quarantine_gets_nothing(spark: SparkSession) -> None:
    table = rows.routes(spark, ("x", "n1"), ("x", "n2"))
    publishes = rows.publishes(spark, {"key": b"x", "headers": [routes_header([RouteHit("x", "n3")])]})
    found = routed(publishes, table, quarantine={TOPICS.downlink("n2"), TOPICS.downlink("n3")})
    assert [told(row) for row in found] == [("n1", "x")]


def test_the_persisted_log_in_quarantine_gets_nothing(spark: SparkSession) -> None:
    table = rows.routes(spark, ("x", "n1"), {"route_key": "x", "kind": DEVICE, "node": "c"})
    hit = routes_header([RouteHit("x", "d", DEVICE)])
    publishes = rows.publishes(spark, {"key": b"x", "headers": [("qos", b"1"), hit]})
    assert len(routed(publishes, table)) == 3
    assert [way(row) for row in routed(publishes, table, quarantine={TOPICS.persisted})] == [
        ("downlink", "n1", "x")
    ]


def test_no_lambda_is_in_the_plan_of_few_shapes(spark: SparkSession) -> None:
    """Lambdas are interpreted, and take the operators that have them out of compiled code."""
    plan = route(rows.publishes(spark, {}), rows.routes(spark, ("a", "n")), [ALL], TOPICS, 1)
    assert "lambda" not in plan._jdf.queryExecution().executedPlan().toString().lower()


def test_many_shapes_take_the_generic_path_in_the_same_plan(spark: SparkSession) -> None:
    shapes = [Shape(depth, (0,), tail) for depth in range(1, 40) for tail in (False, True)]
    publishes = rows.publishes(spark, {"key": b"a/b"}, {"key": b"/".join([b"q"] * 30)})
    deep = "/".join(["+", *["q"] * 29])
    table = rows.routes(spark, ("+/b", "n1"), ("+/#", "n1"), (deep, "n2"))
    found = sorted(
        (decode_route(row.headers).offset, told(row)[1]) for row in routed(publishes, table, *shapes)
    )
    assert found == [(0, "+/#"), (0, "+/b"), (1, "+/#"), (1, deep)]


def test_no_python_is_in_the_plan(spark: SparkSession) -> None:
    plan = route(rows.publishes(spark, {}), rows.routes(spark, ("a", "n")), [ALL], TOPICS, 1)
    text = plan._jdf.queryExecution().executedPlan().toString()
    assert "Python" not in text
    assert "ArrowEval" not in text
    assert json.dumps(text).count("BroadcastHashJoin") >= 1


@pytest.mark.parametrize("qos", range(3))
def test_a_record_for_a_share_group_is_golden(spark: SparkSession, qos: int) -> None:
    record = PublishRecord("a/b", b"p", "c", "gw1", qos, routes=[RouteHit("a/+", "late/é", SHARE)])
    publishes = rows.publishes(
        spark,
        {"key": b"a/b", "value": b"p", "headers": publish_headers(record), "partition": 3, "offset": 12},
    )
    table = rows.routes(spark, {"route_key": "a/b", "kind": SHARE, "node": "g"})
    found = {row.key: row for row in routed(publishes, table)}
    assert set(found) == {"$share/g/a/b", "$share/late/é/a/+"}
    row = found["$share/g/a/b"]
    assert (row.topic, bytes(row.value)) == ("p.msg.shared", b"p")
    assert row.headers[-3:] == [("topic", b"a/b"), ("id", b"3:12"), ("filter", b"$share/g/a/b")]


def test_a_marker_is_answered_in_each_partition_of_the_log_of_shares(spark: SparkSession) -> None:
    probes = rows.publishes(
        spark, {"key": PROBE_KEY.encode(), "value": b"", "headers": encode_share_headers(7), "partition": 1}
    )
    answers = routed(probes, rows.routes(spark, ("#", "n")))
    assert all(is_answer(row.headers) and row.topic == TOPICS.shares for row in answers)
    assert sorted(partition_of(row.key.encode(), 7) for row in answers) == list(range(7))


def test_a_group_whose_key_is_too_long_is_dropped(spark: SparkSession) -> None:
    table = rows.routes(spark, {"route_key": "t", "kind": SHARE, "node": "g" * 65_520})
    assert routed(rows.publishes(spark, {"key": b"t"}), table)
    longer = rows.routes(spark, {"route_key": "t", "kind": SHARE, "node": "g" * 65_530})
    assert not routed(rows.publishes(spark, {"key": b"t"}), longer)
