"""Each transform alone: columns in, columns out, row by row."""

from __future__ import annotations

import pytest
from chispa import assert_df_equality
from pyspark.sql import DataFrame, SparkSession

from contracts.errors import RecordError
from contracts.kafka_topics import KafkaTopics
from contracts.probe_record import PROBE_KIND
from contracts.publish_record import decode
from contracts.route_table import APP, APPSHARE, DEVICE, NODE, NODE0, SHARE, takes
from contracts.topics import Shape
from routing.transforms.candidates import explode_candidates
from routing.transforms.publishes import read_publishes
from routing.transforms.routed import address_records
from routing.transforms.targets import join_routes
from tests.routing import rows

HEADERS = "array<struct<key:string,value:binary>>"
HITS = "array<struct<filter:string,kind:string,node:string>>"
TARGETS = (
    f"topic string, value binary, headers {HEADERS}, partition int, offset bigint, filter string, node string, "
    "kind string, table_partition int, table_version bigint"
)


def same(found: DataFrame, expected: DataFrame) -> None:
    assert_df_equality(found, expected, ignore_row_order=True, ignore_nullable=True)


def test_read_publishes(spark: SparkSession) -> None:
    routes = b'[{"filter":"a/+","kind":"node","node":"n"}]'
    given = rows.publishes(
        spark,
        {"key": b"a/b", "value": None, "headers": [("x", None), ("routes", routes)], "partition": 2},
        {"key": None},
        {"key": "ü".encode(), "headers": None},
    )
    expected = spark.createDataFrame(
        [
            ("a/b", b"", [("x", None)], 2, 0, [("a/+", "node", "n")]),
            ("ü", b"v", [], 0, 2, None),
        ],
        f"topic string, value binary, headers {HEADERS}, partition int, offset bigint, hits {HITS}",
    )
    same(read_publishes(given), expected)


def test_explode_candidates(spark: SparkSession) -> None:
    given = spark.createDataFrame(
        [("a/b", 1, [("x", "node", "n")]), ("$a", 2, None)], f"topic string, offset int, hits {HITS}"
    )
    expected = spark.createDataFrame(
        [
            ("a/b", 1, "a/b", "a/b", None, None),
            ("a/b", 1, "#", "#", None, None),
            ("a/b", 1, "a/+", "a/+", None, None),
            ("a/b", 1, "x", None, "node", "n"),
            ("$a", 2, "$a", "$a", None, None),
        ],
        "topic string, offset int, filter string, route_key string, hit_kind string, node string",
    )
    found = explode_candidates(given, [Shape(0, (), True), Shape(2, (1,), False)])
    same(found.where("filter is not null"), expected)


def test_join_routes(spark: SparkSession) -> None:
    given = spark.createDataFrame(
        [
            ("k", "k", None, None, None),
            ("in-band", None, "node", "n9", None),
            ("in-band of an unknown kind", None, "other", "n9", None),
            ("in-band of no kind", None, None, "n9", None),
            ("in-band answer", None, PROBE_KIND, "n9", [("node", b"asker")]),
            ("nobody", "nobody", None, None, None),
            ("a kind and no node", "nobody", "device", None, None),
            ("p", "p", None, None, [("node", b"asker"), ("probe", b"1")]),
            ("p", "p", None, None, [("other", b"asker")]),
        ],
        f"filter string, route_key string, hit_kind string, node string, headers {HEADERS}",
    )
    table = rows.routes(
        spark, ("k", "n1"), ("k", "n2"), {"route_key": "p", "kind": PROBE_KIND, "table_partition": 3}
    )
    expected = spark.createDataFrame(
        [
            ("k", "n1", "node", 0),
            ("k", "n2", "node", 0),
            ("in-band", "n9", "node", None),
            ("p", "asker", "probe", 3),
        ],
        "filter string, node string, kind string, table_partition int",
    )
    found = join_routes(given, table)
    same(found.select("filter", "node", "kind", "table_partition"), expected)


@pytest.mark.parametrize("is_hit", [False, True])
def test_routes_are_taken_by_qos(spark: SparkSession, is_hit: bool) -> None:
    """As the contract has it, whatever a producer wrote for a QoS."""
    kinds = [NODE, NODE0, DEVICE, APP, SHARE, APPSHARE, "other"]
    qos_headers: list[list[tuple[str, bytes | None]]] = [
        [], [("qos", None)], [("qos", b"0")], [("qos", b"1")], [("qos", b"2")],
        [("a", None), ("b", b""), ("qos", b"2")],
        [("client-id", b"c"), ("node", b"n"), ("protocol", b"5"), ("qos", b"1"), ("retain", b"0")],
        [("qos", b"0"), ("qos", b"1")], [("qos", b"1"), ("qos", b"0")], [("qos", b"02")], [("qos", b"0" * 19 + b"1")],
        [("QoS", b"1")], [("user-property:qos", b"1")],
    ]  # fmt: skip
    given = spark.createDataFrame(
        [
            (offset, *(("f", None, kind, kind) if is_hit else ("f", f"k{kind}", None, None)), headers)
            for offset, headers in enumerate(qos_headers)
            for kind in kinds
        ],
        f"offset int, filter string, route_key string, hit_kind string, node string, headers {HEADERS}",
    )
    table = rows.routes(spark, *({"route_key": f"k{kind}", "node": kind, "kind": kind} for kind in kinds))
    found = {(row.offset, row.node) for row in join_routes(given, table).collect()}
    assert found == {
        (offset, kind)
        for offset, headers in enumerate(qos_headers)
        for kind in kinds
        if takes(kind, decode(b"t", b"", headers).qos)
    }


@pytest.mark.parametrize("value", [b"", b"3", b"x", b"-1", b" 1", b"1\n", b"\xff", b"0" * 20 + b"1"])
def test_a_qos_that_nobody_can_read_counts_as_none(spark: SparkSession, value: bytes) -> None:
    with pytest.raises(RecordError):
        decode(b"t", b"", [("qos", value)])
    given = spark.createDataFrame(
        [("f", "k", None, None, [("qos", value)])],
        f"filter string, route_key string, hit_kind string, node string, headers {HEADERS}",
    )
    table = rows.routes(
        spark, ("k", "n"), *({"route_key": "k", "node": "n", "kind": kind} for kind in (NODE0, DEVICE))
    )
    assert {row.kind for row in join_routes(given, table).collect()} == {NODE, NODE0}


def test_address_records(spark: SparkSession) -> None:
    given = spark.createDataFrame(
        [
            ("a", b"v", [("x", b"1")], 3, 9, "+", "n1", "node", 0, 5),
            ("a", b"v", [], 3, 9, "+", "missing", "node", 0, 5),
            ("a", b"v", [], 3, 9, "+", "not/valid", "node", None, None),
            ("a", b"v", [], 3, 9, "+", "any id/é", "device", 0, 5),
            ("a", b"v", [], 3, 9, "+", "", "device", 0, 5),
            ("a", b"v", [], 3, 9, "+", "suffix", "app", 0, 5),
            ("a", b"v", [], 3, 9, "+", "missing", "app", 0, 5),
            ("a", b"v", [], 3, 9, "+", "not/valid", "app", None, None),
            ("a", b"v", [], 3, 9, "+", "slw.x", "appshare", 0, 5),
            ("a", b"v", [], 3, 9, "+", "missing", "appshare", 0, 5),
            ("a", b"v", [], 3, 9, "+", "not/valid", "appshare", None, None),
            ("a", b"v", [], 3, 9, "+", "x" * 101, "appshare", None, None),
            ("a", b"v", [], 3, 9, "+", "é" * 32_768, "device", 0, 5),
            ("a", b"v", [], 3, 9, "+", "n1", "node0", 0, 5),
        ],
        TARGETS,
    )
    ending = [("topic", b"a"), ("id", b"3:9"), ("filter", b"+")]
    expected = spark.createDataFrame(
        [
            ("p.msg.downlink.basic.n1", "3", b"v", [("x", b"1"), *ending]),
            ("p.msg.persisted", "any id/é", b"v", ending),
            ("p.msg.app.suffix", "3", b"v", ending),
            ("p.msg.app.shared.slw.x", "3", b"v", ending),
            ("p.msg.downlink.basic.n1", "3", b"v", ending),
        ],
        f"topic string, key string, value binary, headers {HEADERS}",
    )
    topics = KafkaTopics("p")
    gone = {topics.downlink("missing"), topics.application("missing"), topics.application_share("missing")}
    same(address_records(given, topics, 1, quarantine=gone), expected)
    nothing = {
        *gone, topics.downlink("n1"), topics.persisted, topics.application("suffix"),
        topics.application_share("+/x"),
    }  # fmt: skip
    assert address_records(given, topics, 1, quarantine=nothing).isEmpty()
