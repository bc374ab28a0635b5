"""Each transform alone: columns in, columns out, row by row."""

from __future__ import annotations

from chispa import assert_df_equality
from pyspark.sql import DataFrame, SparkSession

from contracts.kafka_topics import KafkaTopics
from contracts.probe_record import PROBE_KIND
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
            ("a/b", 1, "a/b", "a/b", None),
            ("a/b", 1, "#", "#", None),
            ("a/b", 1, "a/+", "a/+", None),
            ("a/b", 1, "x", None, "n"),
            ("$a", 2, "$a", "$a", None),
        ],
        "topic string, offset int, filter string, route_key string, node string",
    )
    found = explode_candidates(given, [Shape(0, (), True), Shape(2, (1,), False)])
    same(found.where("filter is not null"), expected)


def test_join_routes(spark: SparkSession) -> None:
    given = spark.createDataFrame(
        [
            ("k", "k", None, None),
            ("in-band", None, "n9", None),
            ("nobody", "nobody", None, None),
            ("p", "p", None, [("node", b"asker"), ("probe", b"1")]),
            ("p", "p", None, [("other", b"asker")]),
        ],
        f"filter string, route_key string, node string, headers {HEADERS}",
    )
    table = rows.routes(
        spark, ("k", "n1"), ("k", "n2"), {"route_key": "p", "kind": PROBE_KIND, "table_partition": 3}
    )
    expected = spark.createDataFrame(
        [
            ("k", "n1", "node", 0),
            ("k", "n2", "node", 0),
            ("in-band", "n9", None, None),
            ("p", "asker", "probe", 3),
        ],
        "filter string, node string, kind string, table_partition int",
    )
    found = join_routes(given, table)
    same(found.select("filter", "node", "kind", "table_partition"), expected)


def test_address_records(spark: SparkSession) -> None:
    given = spark.createDataFrame(
        [
            ("a", b"v", [("x", b"1")], 3, 9, "+", "n1", "node", 0, 5),
            ("a", b"v", [], 3, 9, "+", "missing", "node", 0, 5),
            ("a", b"v", [], 3, 9, "+", "not/valid", None, None, None),
        ],
        TARGETS,
    )
    ending = [("topic", b"a"), ("id", b"3:9"), ("filter", b"+")]
    expected = spark.createDataFrame(
        [("p.msg.downlink.basic.n1", "3", b"v", [("x", b"1"), *ending])],
        f"topic string, key string, value binary, headers {HEADERS}",
    )
    topics = KafkaTopics("p")
    same(address_records(given, topics, 1, quarantine={topics.downlink("missing")}), expected)
