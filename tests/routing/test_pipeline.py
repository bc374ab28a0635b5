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
from contracts.probe_record import (
    PROBE_KEY,
    PROBE_KIND,
    ProbeAnswer,
    decode_answer,
    encode_headers,
    is_answer,
)
from contracts.publish_record import PublishRecord, RouteHit, decode, routes_header
from contracts.publish_record import encode_headers as publish_headers
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


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(topic, min_size=1, max_size=30),
    st.sets(st.tuples(topic_filter, st.sampled_from(["n1", "n2"])), min_size=1, max_size=30),
)
def test_the_join_agrees_with_the_oracle(
    spark: SparkSession, names: list[str], table: set[tuple[str, str]]
) -> None:
    shapes = {shape for f, _ in table if (shape := shape_of(f))}
    publishes = rows.publishes(spark, *({"key": name.encode()} for name in names))
    found = sorted(
        (decode_route(row.headers).offset, *told(row))
        for row in routed(publishes, rows.routes(spark, *table), *shapes)
    )
    expected = sorted((i, node, f) for i, name in enumerate(names) for f, node in table if matches(f, name))
    assert found == expected


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
