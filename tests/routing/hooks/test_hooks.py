"""Hooks on a batch: what transformations and rules make of messages, and who gets it."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from chispa import assert_df_equality
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

from contracts.kafka_topics import MAX_ROUTED_RECORD_BYTES, KafkaTopics
from contracts.probe_record import PROBE_KEY, PROBE_KIND, encode_headers, is_answer
from contracts.publish_record import ROUTES_DDL, MessageProperties, PublishRecord, RouteHit
from contracts.publish_record import encode_headers as publish_headers
from contracts.routed_record import RULE_STRIDE, RULES, Route, decode_route
from contracts.topics import Shape, matches
from routing.hooks.hooks import Hooks
from routing.hooks.messages import matching_hits
from routing.pipeline import route
from tests.routing import rows

TOPICS = KafkaTopics("p")
ALL = Shape(0, (), True)
RECORDS_DDL = rows.RECORDS_DDL + ", timestamp timestamp"
CAME_AT = datetime(2026, 11, 29, 7, 0, 0)


def publishes(spark: SparkSession, *found: dict[str, Any] | PublishRecord) -> DataFrame:
    default = {"key": b"t", "value": b"v", "headers": None, "partition": 2, "timestamp": CAME_AT}
    table = []
    for offset, row in enumerate(found):
        if isinstance(row, PublishRecord):
            row = {"key": row.topic.encode(), "value": row.payload, "headers": publish_headers(row)}
        table.append({**default, "offset": offset, **row})
    return spark.createDataFrame(table, RECORDS_DDL)


def hooks(spark: SparkSession, folder: Path, text: str, **files: str) -> Hooks:
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content)
    (folder / "hooks.toml").write_text(text)
    return Hooks.load(spark, folder / "hooks.toml", TOPICS)


def sql(text: str) -> str:
    return f"[[transformations]]\nsql = {json.dumps(text)}\n"


def rule(text: str, number: int = 1, name: str = "r", more: str = "") -> str:
    return f"[[rules]]\nname = {json.dumps(name)}\nnumber = {number}\nsql = {json.dumps(text)}\n{more}\n"


def routed(found: DataFrame, table: DataFrame, hooked: Hooks | None, *shapes: Shape) -> list[Row]:
    return route(found, table, shapes or (ALL,), TOPICS, 1, hooks=hooked).collect()


def told(found: list[Row]) -> list[tuple[str, str, bytes]]:
    """(node, topic, payload)."""
    return [
        (one.topic.removeprefix(TOPICS.downlink_prefix), decode_route(one.headers).topic, bytes(one.value))
        for one in found
    ]


def to_celsius(messages: DataFrame) -> DataFrame:
    """A user's function: payloads in Fahrenheit, those that are numbers."""
    value = F.col("payload").cast("string").cast("double")
    return messages.withColumn("payload", F.format_number((value - 32) * 5 / 9, 1).cast("binary")).where(
        value.isNotNull()
    )


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> str:
    """By this name a configuration finds this module's functions."""
    monkeypatch.setitem(sys.modules, "hooks_of_a_test", sys.modules[__name__])
    return "hooks_of_a_test"


def test_what_hooks_see(spark: SparkSession) -> None:
    record = PublishRecord(
        "a/b", b"p", "c1", "gw1", 2, True, 5,
        MessageProperties(60, 1, 1, "text/plain", "answers", b"\x00", (("site", "x"), ("site", "y"))),
    )  # fmt: skip
    from routing.hooks.messages import as_messages
    from routing.transforms.publishes import read_publishes

    seen = as_messages(read_publishes(publishes(spark, record, {"headers": None}), kept=["timestamp"]))
    expected = spark.createDataFrame(
        [
            ("a/b", b"p", 2, True, "c1", "gw1", 5, 60, 1, "text/plain", "answers", b"\x00",
             [("site", "x"), ("site", "y")], CAME_AT, 2, 0),
            ("t", b"v", 0, False, None, None, None, None, None, None, None, None, [], CAME_AT, 2, 1),
        ],
        "topic string, payload binary, qos int, retain boolean, client_id string, node string, protocol int, "
        "message_expiry bigint, payload_format int, content_type string, response_topic string, "
        "correlation_data binary, user_properties array<struct<name:string,value:string>>, "
        "received_at timestamp, partition int, offset bigint",
    )  # fmt: skip
    assert_df_equality(seen.drop("_record"), expected, ignore_nullable=True)


def test_a_filter_and_a_new_topic(spark: SparkSession, tmp_path: Path) -> None:
    hooked = hooks(
        spark, tmp_path, sql("SELECT lower(topic) AS topic FROM messages WHERE NOT topic LIKE 'DEBUG/%'")
    )
    found = publishes(spark, {"key": b"A/B"}, {"key": b"DEBUG/B"}, {"key": b"c"})
    assert told(routed(found, rows.routes(spark, ("#", "n1")), hooked)) == [
        ("n1", "a/b", b"v"),
        ("n1", "c", b"v"),
    ]


def test_what_a_transformation_gives_back(spark: SparkSession, tmp_path: Path) -> None:
    hooked = hooks(
        spark, tmp_path, sql("SELECT upper(topic) AS topic, concat(payload, '!') AS payload FROM messages")
    )
    found = hooked.publishes(publishes(spark, {"key": b"a"}, {"key": b"$a"}), exact_guard=True)
    expected = spark.createDataFrame(
        [("A", b"v!", [], 2, 0, None), ("$a", b"v", [], 2, 1, None)],
        "topic string, value binary, headers array<struct<key:string,value:binary>>, partition int, offset bigint, "
        f"hits {ROUTES_DDL}",
    )
    assert_df_equality(found.select(*expected.columns), expected, ignore_nullable=True)


def csv_lookup(_spark: SparkSession, folder: Path) -> str:
    (folder / "devices.csv").write_text("d1,north\nd2,south\n")
    return f'format = "csv"\npath = "{folder / "devices.csv"}"\nschema = "device string, site string"\n'


def parquet_lookup(spark: SparkSession, folder: Path) -> str:
    devices(spark).write.parquet(str(folder / "devices"))
    return f'format = "parquet"\npath = "{folder / "devices"}"\n'


def jdbc_lookup(spark: SparkSession, folder: Path) -> str:
    """In the database that Spark itself brings."""
    java: Any = spark
    java._jvm.java.lang.System.setProperty("derby.stream.error.file", str(folder / "derby.log"))
    options = {"url": f"jdbc:derby:memory:{uuid.uuid4().hex};create=true", "dbtable": "devices"}
    devices(spark).write.format("jdbc").options(**options).save()
    told = ", ".join(f"{name} = {json.dumps(value)}" for name, value in options.items())
    return f'format = "jdbc"\noptions = {{ {told} }}\n'


def devices(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([("d1", "north"), ("d2", "south")], "device string, site string")


@pytest.mark.parametrize("lookup", [csv_lookup, parquet_lookup, jdbc_lookup])
def test_a_lookup_enriches(
    spark: SparkSession, tmp_path: Path, lookup: Callable[[SparkSession, Path], str]
) -> None:
    hooked = hooks(
        spark,
        tmp_path,
        f'[lookups.devices]\n{lookup(spark, tmp_path)}key = ["device"]\n'
        '[[transformations]]\nfile = "enrich.sql"\n',
        enrich__sql="SELECT array_append(user_properties, named_struct('name', 'site', 'value', site)) "
        "AS user_properties\nFROM messages LEFT JOIN devices ON device = split(topic, '/')[1]",
    )
    property = PublishRecord("dev/d1", b"v", properties=MessageProperties(user_properties=[("a", "b")]))
    found = routed(publishes(spark, property, {"key": b"dev/d9"}), rows.routes(spark, ("#", "n1")), hooked)
    sites = [[bytes(v) for k, v in one.headers if k == "user-property:site"] for one in found]
    assert sites == [[b"north"], []]
    assert ("user-property:a", b"b") in [tuple(one) for one in found[0].headers]


def test_a_function_and_a_payload_that_is_no_number(spark: SparkSession, tmp_path: Path, here: str) -> None:
    """A cast that fails gives null; it does not end the router (I10)."""
    hooked = hooks(spark, tmp_path, f'[[transformations]]\nfunction = "{here}:to_celsius"\n')
    found = publishes(spark, {"value": b"212"}, {"value": b"hot"}, {"value": b"\xff"}, {"value": b"32"})
    assert [value for _, _, value in told(routed(found, rows.routes(spark, ("t", "n1")), hooked))] == [
        b"100.0",
        b"0.0",
    ]


def test_probes_and_system_topics_pass_by(spark: SparkSession, tmp_path: Path) -> None:
    text = sql("SELECT 'x' AS topic FROM messages WHERE false") + rule(
        "SELECT 'y' AS topic, payload FROM messages"
    )
    hooked = hooks(spark, tmp_path, text)
    probe = {"key": PROBE_KEY.encode(), "value": b"", "headers": encode_headers("n1", 3)}
    table = rows.routes(spark, ("#", "n1"), ("$SYS/#", "n2"), {"route_key": PROBE_KEY, "kind": PROBE_KIND})
    found = routed(
        publishes(spark, probe, {"key": b"$SYS/x"}, {"key": b"a"}), table, hooked, ALL, Shape(1, (), True)
    )
    assert is_answer(found[0].headers)
    assert [one[:2] for one in told(found[1:])] == [("n2", "$SYS/x")]


@pytest.mark.parametrize("topic", ["''", "'a/+'", "'#'", "'$SYS/x'", "NULL", "CAST(X'ff' AS STRING)",
                                   "concat('a', char(0))", "repeat('x', 65536)"])  # fmt: skip
def test_a_topic_that_hooks_may_not_make(spark: SparkSession, tmp_path: Path, topic: str) -> None:
    table = rows.routes(
        spark, ("#", "n1"), ("$SYS/x", "n1"), {"route_key": "a", "node": "n1", "kind": "node"}
    )
    by_transformation = hooks(spark, tmp_path, sql(f"SELECT CAST({topic} AS STRING) AS topic FROM messages"))  # noqa: S608
    assert not routed(publishes(spark, {}), table, by_transformation, ALL)
    by_rule = hooks(spark, tmp_path, rule(f"SELECT CAST({topic} AS STRING) AS topic FROM messages"))  # noqa: S608
    assert [one[1] for one in told(routed(publishes(spark, {}), table, by_rule, ALL))] == ["t"]


def test_what_has_become_too_large_is_dropped(spark: SparkSession, tmp_path: Path) -> None:
    """One record that Kafka refuses would end the query (I11)."""
    size = MAX_ROUTED_RECORD_BYTES
    large = f"SELECT topic, CAST(repeat('x', {size}) AS BINARY) AS payload FROM messages"  # noqa: S608
    table = rows.routes(spark, ("#", "n1"))
    assert not routed(publishes(spark, {}), table, hooks(spark, tmp_path, sql(large)))
    found = routed(publishes(spark, {}), table, hooks(spark, tmp_path, rule(large)))
    assert [value for _, _, value in told(found)] == [b"v"]


def test_a_rule_makes_one_message_more(spark: SparkSession, tmp_path: Path) -> None:
    """Each is routed behind its message, under a source partition of its own, on its message's way."""
    hot = (
        "SELECT concat('alarm/', topic) AS topic, get_json_object(CAST(payload AS STRING), '$.t') AS payload "
        "FROM messages WHERE CAST(get_json_object(CAST(payload AS STRING), '$.t') AS INT) > 30"
    )
    hooked = hooks(
        spark, tmp_path, rule(hot) + rule("SELECT 'all' AS topic, payload FROM messages", 7, "all")
    )
    found = routed(
        publishes(spark, {"key": b"m", "value": b'{"t": 31}'}, {"key": b"m", "value": b"no"}),
        rows.routes(spark, ("#", "n1"), ("alarm/m", "n1")),
        hooked,
    )
    seven = RULES + 7 * RULE_STRIDE + 2
    assert [(decode_route(one.headers), bytes(one.value)) for one in found] == [
        (Route(2, 0, "m", "#"), b'{"t": 31}'),
        (Route(RULES + RULE_STRIDE + 2, 0, "alarm/m", "alarm/m"), b"31"),
        (Route(RULES + RULE_STRIDE + 2, 0, "alarm/m", "#"), b"31"),
        (Route(seven, 0, "all", "#"), b'{"t": 31}'),
        (Route(2, 1, "m", "#"), b"no"),
        (Route(seven, 1, "all", "#"), b"no"),
    ]
    assert {one.key for one in found} == {"2"}


def test_a_rule_is_no_input_of_rules(spark: SparkSession, tmp_path: Path) -> None:
    hooked = hooks(spark, tmp_path, rule("SELECT concat(topic, '/x') AS topic FROM messages"))
    found = told(routed(publishes(spark, {}), rows.routes(spark, ("#", "n1")), hooked))
    assert [one[1] for one in found] == ["t", "t/x"]


def test_a_rule_into_a_kafka_topic(spark: SparkSession, tmp_path: Path) -> None:
    text = rule(
        "SELECT concat('probe', topic) AS topic, payload FROM messages", more='kafka_topic = "alarms"'
    )
    hooked = hooks(spark, tmp_path, text)
    forged = PublishRecord("t", b"", routes=[RouteHit("f", "p.msg.all", "kafka")])
    table = rows.routes(spark, ("#", "n1"), {"route_key": PROBE_KEY, "kind": PROBE_KIND})
    found = routed(publishes(spark, {"key": b""}, {"key": b"t"}, forged), table, hooked)
    assert [(one.topic, one.key) for one in found] == [
        ("p.msg.downlink.basic.n1", "2"), ("alarms", "probet"), ("p.msg.downlink.basic.n1", "2"), ("alarms", "probet"),
    ]  # fmt: skip
    assert decode_route(found[1].headers) == Route(RULES + RULE_STRIDE + 2, 1, "probet", "r")


def test_fresh_routes_of_a_new_topic(spark: SparkSession, tmp_path: Path) -> None:
    """Those that match the new topic too stay; what a hook did not touch has all of its own (I2)."""
    hits = [RouteHit("#", "n1"), RouteHit("a/+", "n2"), RouteHit("+/b", "n3")]
    record = PublishRecord("a/b", b"", routes=hits)
    nobody = rows.routes(spark, ("nobody", "n9"))
    renamed = hooks(spark, tmp_path, sql("SELECT 'x/b' AS topic FROM messages"))
    assert {one[:2] for one in told(routed(publishes(spark, record), nobody, renamed))} == {
        ("n1", "x/b"),
        ("n3", "x/b"),
    }
    made = hooks(spark, tmp_path, rule("SELECT 'a/c' AS topic FROM messages"))
    assert sorted(one[:2] for one in told(routed(publishes(spark, record), nobody, made))) == [
        ("n1", "a/b"), ("n1", "a/c"), ("n2", "a/b"), ("n2", "a/c"), ("n3", "a/b"),
    ]  # fmt: skip


level = st.sampled_from(["", "a", "b"])
topic = st.lists(level, min_size=1, max_size=4).map("/".join).filter(bool)
topic_filter = st.builds(
    lambda levels, tail: "/".join([*levels, "#"] if tail else levels),
    st.lists(st.one_of(level, st.just("+")), max_size=4),
    st.booleans(),
).filter(bool)


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(topic, topic_filter), min_size=1, max_size=60))
def test_matching_agrees_with_the_oracle(spark: SparkSession, pairs: list[tuple[str, str]]) -> None:
    table = spark.createDataFrame(
        [(t, [(f, "node", "n")]) for t, f in pairs], f"topic string, hits {ROUTES_DDL}"
    )
    found = table.select(F.size(matching_hits(F.col("hits"), F.col("topic"))).alias("count")).collect()
    assert [one["count"] == 1 for one in found] == [matches(f, t) for t, f in pairs]


def test_no_hooks_no_trace(spark: SparkSession, tmp_path: Path) -> None:
    """A router without hooks has the plan that it had; hooks without rules add no explode, no shuffle and no Python."""
    found, table = publishes(spark, {}), rows.routes(spark, ("a", "n1"))

    def plan(hooked: Hooks | None) -> str:
        frame = route(found, table, [ALL], TOPICS, 1, hooks=hooked)
        return str(frame._jdf.queryExecution().executedPlan().toString())

    without = plan(None)
    for trace in ("lambda", "timestamp", "passes_by", "kafka", "% 10000"):
        assert trace not in without.split("Scan ExistingRDD")[0], trace
    filtered = plan(
        hooks(spark, tmp_path, sql("SELECT upper(topic) AS topic FROM messages WHERE payload <> 'x'"))
    )
    for operator in ("Generate explode", "BroadcastHashJoin", "Exchange"):
        assert filtered.count(operator) == without.count(operator)
    assert "user-property" not in filtered  # what no hook asks for is not computed
    ruled = plan(hooks(spark, tmp_path, rule("SELECT 'x' AS topic FROM messages")))
    assert ruled.count("Generate explode") == without.count("Generate explode") + 1
    assert ruled.count("Scan ExistingRDD") == without.count("Scan ExistingRDD")  # one source, read once
