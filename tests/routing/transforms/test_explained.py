"""The transforms of replay: in-band routes that no longer count, and who would get a message, and why."""

from __future__ import annotations

from typing import Any

from chispa import assert_df_equality
from pyspark.sql import DataFrame, SparkSession

from contracts.message_table import SUBSCRIPTIONS_TABLE_DDL
from contracts.route_table import routes_of
from contracts.subscription_record import SubscriptionRecord
from contracts.topics import Shape
from routing.transforms.explained import explain_clients, explain_targets
from routing.transforms.in_band import drop_in_band
from tests.routing import rows

ROUTES = (
    b'[{"filter":"a/+","kind":"node","node":"n1"},{"filter":"#","kind":"device","node":"c"},'
    b'{"filter":"a/b","node":"x"}]'
)
TARGETS = (
    "partition int, offset bigint, topic string, publisher string, published_qos int, filter string, kind string, "
    "target string, origin string, table_partition int, table_version bigint"
)


def same(found: DataFrame, expected: DataFrame) -> None:
    assert_df_equality(found, expected, ignore_row_order=True, ignore_nullable=True)


def test_drop_in_band(spark: SparkSession) -> None:
    def given(*headers: Any) -> DataFrame:
        return rows.publishes(spark, *({"headers": one} for one in headers))

    plain = [("qos", b"1")]
    broken = [("routes", b"{")]
    records = given(plain, None, broken, [*plain, ("routes", ROUTES)])
    same(drop_in_band(records), given(plain, None, broken, plain))
    left = b'[{"filter":"#","kind":"device","node":"c"}]'
    dropped = drop_in_band(records, ["a/+", "a/b"])
    same(dropped, given(plain, None, broken, [*plain, ("routes", left)]))
    same(drop_in_band(dropped, ["#"]), given(plain, None, broken, plain))


def test_explain_targets(spark: SparkSession) -> None:
    hits = (
        b'[{"filter":"a/+","kind":"node","node":"n1"},{"filter":"#","kind":"device","node":"c9"},'
        b'{"filter":"a/b","kind":"node0","node":"n3"}]'
    )
    publish = {
        "key": b"a/b",
        "headers": [("client-id", b"p"), ("qos", b"1"), ("routes", hits)],
        "partition": 2,
        "offset": 7,
    }
    table = rows.routes(
        spark,
        ("a/b", "n1"),
        ("a/+", "n1"),
        {"route_key": "a/+", "kind": "node", "node": "n9", "table_version": None},
        {"route_key": "a/b", "kind": "node0", "node": "n3"},
        {"route_key": "a/b", "kind": "device", "node": "c1", "table_partition": 1, "table_version": 4},
        ("other", "n1"),
    )
    message = (2, 7, "a/b", "p", 1)
    expected = spark.createDataFrame(
        [
            (*message, "a/b", "node", "n1", "table", 0, 1),
            (*message, "a/+", "node", "n1", "table", 0, 1),  # In-band, too, and told once.
            (*message, "a/+", "node", "n9", "assumed", 0, None),
            (*message, "a/b", "device", "c1", "table", 1, 4),
            (*message, "#", "device", "c9", "in-band", None, None),
        ],
        TARGETS,
    )
    found = explain_targets(
        rows.publishes(spark, publish), table, [Shape(2, (1,), False), Shape(0, (), True)]
    )
    same(found, expected)


def test_explain_clients(spark: SparkSession) -> None:
    held = [
        SubscriptionRecord("c1", "a", "n1", 0),
        SubscriptionRecord("c2", "a", "n1", 2),
        SubscriptionRecord("p", "a", "n1", 2, no_local=True),
        SubscriptionRecord("d", "a", "n1", 1, kind="device"),
        SubscriptionRecord("elsewhere", "a", "n2", 1),
        SubscriptionRecord("m1", "a", "n1", 1, "g"),
        SubscriptionRecord("m2", "a", "n2", 0, "g"),
    ]
    subscriptions = spark.createDataFrame(
        [
            {
                "client_id": one.client_id, "filter": one.filter, "share_group": one.share_group, "qos": one.qos,
                "no_local": one.no_local,
                "routes": [{"kind": kind, "node": node} for kind, node in routes_of(one)],
            }
            for one in held
        ],
        SUBSCRIPTIONS_TABLE_DDL,
    )  # fmt: skip

    def clients(qos: int, *targets: tuple[str, str]) -> set[tuple[Any, ...]]:
        given = spark.createDataFrame(
            [(0, 0, "a", "p", qos, "a", kind, target, "table", 0, 1) for kind, target in targets], TARGETS
        )
        found = explain_clients(given, subscriptions).collect()
        return {(row.target, row.client_id, row.share_group, row.qos) for row in found}

    assert clients(1, ("node", "n1"), ("device", "d"), ("share", "g"), ("node", "n7")) == {
        ("n1", "c1", None, 0), ("n1", "c2", None, 1), ("d", "d", None, 1),
        ("g", "m1", "g", 1), ("g", "m2", "g", 0),
        ("n7", None, None, None),  # Nobody that the table knows.
    }  # fmt: skip
    # At QoS 0 a persistent client gets it by its node, with all others there.
    assert clients(0, ("node", "n1")) == {("n1", client, None, 0) for client in ("c1", "c2", "d")}
