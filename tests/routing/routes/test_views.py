"""The subscription table in a Spark session: as of a moment, with assumptions, as subscriptions, and its changes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, Row, SparkSession

from contracts.kafka_topics import KafkaTopic, KafkaTopics, subscription_partition
from contracts.subscription_record import SubscriptionRecord, encode_key, encode_value
from routing.errors import PastTableError
from routing.moments import encode_offsets
from routing.routes.assumptions import Assumptions
from routing.routes.past import LAG_SETTING, PastPartition
from tests.conftest import LiveKafka
from tests.routing.broker import Broker

pytestmark = pytest.mark.live
P = subscription_partition("a", 2)
PATIENCE = 90


@pytest.fixture
def table(spark: SparkSession, broker: Broker) -> Callable[..., DataFrame]:
    """The table with some options."""

    def load(**options: str) -> DataFrame:
        given = {"kafka": broker.bootstrap, "topic_prefix": broker.topics.prefix} | options
        return spark.read.format("mqtt_routes").options(**given).load()

    return load


def at(offset: int) -> str:
    """So many records of the partition of the filter `a`, and none of the other."""
    return encode_offsets({P: offset, 1 - P: 0})


def routes(table: DataFrame) -> set[tuple[str, str, int | None]]:
    rows = table.collect()
    assert len(rows) == len({(row.route_key, row.kind, row.node) for row in rows})
    return {(row.kind, row.node, row.table_version) for row in rows}


def write(broker: Broker) -> None:
    """Six records: c1 and c2 subscribe on n1, c1 moves to n2, c2 leaves, c3 and a group come."""
    broker.subscribe("c1", "a", "n1", qos=1)
    broker.subscribe("c2", "a", "n1")
    broker.subscribe("c1", "a", "n2", qos=2)
    broker.unsubscribe("c2", "a")
    broker.subscribe("c3", "a", "n2", qos=1, kind="device")
    broker.subscribe("c4", "a", "n2", share_group="g", online=False)
    broker.flush()


def test_the_table_as_of_a_moment(broker: Broker, table: Callable[..., DataFrame]) -> None:
    write(broker)
    # That no node has a Kafka topic here is no matter: a table of the past may name what is gone.
    assert routes(table(as_of=at(0))) == set()
    assert routes(table(as_of=at(2))) == {("node", "n1", 2)}
    assert routes(table(as_of=at(3))) == {("node", "n1", 3), ("node", "n2", 3)}
    now = {("node", "n2", 6), ("device", "c3", 6), ("share", "g", 6)}
    assert routes(table(as_of="latest")) == routes(table(as_of=at(6))) == now
    with pytest.raises(Exception, match="ends at 6"):
        table(as_of=at(7)).collect()
    with pytest.raises(Exception, match="time zone"):
        table(as_of="2026-01-01").collect()


def test_assumptions_are_told_from_what_stands_in_the_log(
    broker: Broker, table: Callable[..., DataFrame]
) -> None:
    write(broker)

    def assume(add: list[dict[str, Any]], remove: list[dict[str, Any]] = []) -> set[Any]:  # noqa: B006
        return routes(table(as_of=at(2), assume=Assumptions.of(add, remove).encode()))

    added = {"client_id": "new", "filter": "a", "node": "n1"}
    # Somebody at n1 has the filter: one more changes nothing. At n9 nobody has.
    assert assume([added]) == {("node", "n1", 2)}
    assert assume([{**added, "node": "n9"}]) == {("node", "n1", 2), ("node", "n9", None)}
    one, both = [{"client_id": "c1", "filter": "a"}], [{"client_id": c, "filter": "a"} for c in ("c1", "c2")]
    assert assume([], one) == {("node", "n1", 2)}
    assert assume([], both) == set()
    assert assume([added], both) == {("node", "n1", None)}


def test_subscriptions(broker: Broker, table: Callable[..., DataFrame]) -> None:
    write(broker)
    broker.write_subscription("bad", "a", b"{")
    broker.flush()
    assumed = Assumptions.of([{"client_id": "new", "filter": "$share/g/a", "node": "n9"}]).encode()
    found = {row.client_id: row for row in table(view="subscriptions", assume=assumed).collect()}
    assert set(found) == {"c1", "c3", "c4", "new"}
    one, three, four, new = (found[client] for client in ("c1", "c3", "c4", "new"))
    assert (one.filter, one.subscriber, one.node, one.qos, one.offset) == ("a", "node", "n2", 2, 2)
    assert one.routes == [Row(kind="node", node="n2")]
    assert three.routes == [Row(kind="node0", node="n2"), Row(kind="device", node="c3")]
    assert (four.share_group, four.online, four.routes) == ("g", False, [Row(kind="share", node="g")])
    assert (new.node, new.share_group, new.offset, new.changed_at) == ("n9", "g", None, None)
    assert abs(one.changed_at.timestamp() - time.time()) < 3600


def test_changes_as_a_batch_and_as_a_stream(
    spark: SparkSession, broker: Broker, table: Callable[..., DataFrame], tmp_path: Path
) -> None:
    write(broker)
    broker.producer.produce(broker.topics.subscriptions, key=b"no separator", value=b"{}", partition=P)
    broker.flush()
    told = [
        ("subscribed", "c1", None, "n1", 0), ("subscribed", "c2", None, "n1", 1), ("subscribed", "c1", None, "n2", 2),
        ("unsubscribed", "c2", None, None, 3), ("subscribed", "c3", None, "n2", 4), ("subscribed", "c4", "g", "n2", 5),
    ]  # fmt: skip

    def of(changes: DataFrame) -> list[tuple[Any, ...]]:
        rows = changes.select("change", "client_id", "share_group", "node", "offset", "filter").collect()
        assert {row.filter for row in rows} <= {"a"}
        return sorted((tuple(row)[:5] for row in rows), key=lambda row: row[4])

    assert of(table(view="changes")) == told
    assert of(table(view="changes", start=at(1), end=at(3))) == told[1:3]
    changes = (
        spark.readStream.format("mqtt_routes")
        .option("kafka", broker.bootstrap)
        .option("topic_prefix", broker.topics.prefix)
        .option("view", "changes")
        .load()
    )

    def drain() -> list[tuple[Any, ...]]:
        writer = changes.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.trigger(availableNow=True).start(str(tmp_path / "changes"), format="parquet")
        assert query.awaitTermination(PATIENCE)
        return of(spark.read.parquet(str(tmp_path / "changes")))

    assert drain() == told
    broker.unsubscribe("c3", "a")
    broker.flush()
    assert drain() == [*told, ("unsubscribed", "c3", None, None, 7)]


def test_what_cannot_be_asked_for_is_told(
    spark: SparkSession, broker: Broker, table: Callable[..., DataFrame]
) -> None:
    with pytest.raises(Exception, match="no view 'clients'"):
        table(view="clients").collect()
    stream = spark.readStream.format("mqtt_routes").option("kafka", broker.bootstrap).load()
    with pytest.raises(Exception, match='"view", "changes"'):
        stream.writeStream.format("noop").start().awaitTermination(PATIENCE)


def test_what_compaction_may_have_removed_is_an_error(
    kafka: LiveKafka, unique: Callable[[str], str], broker: Broker
) -> None:
    """In a topic that is compacted at once: c1's first record is replaced behind the moment, and goes."""
    topics = KafkaTopics(unique("compacted"))
    subscriptions = topics.shared(2, 2)[1]
    fast = {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.001", LAG_SETTING: "0"}
    broker.create(KafkaTopic(subscriptions.name, 2, {**subscriptions.config, **fast}))
    producer = Producer({"bootstrap.servers": kafka.bootstrap})

    def put(client: str, node: str) -> None:
        value = encode_value(SubscriptionRecord(client, "a", node))
        producer.produce(subscriptions.name, value, encode_key(client, "a"), partition=P)
        producer.flush(30)

    def past(end: int, *, is_proved: bool = False) -> PastPartition:
        return PastPartition(kafka.bootstrap, topics, P, end, is_proved, {})

    def nodes(end: int, **options: bool) -> set[str]:
        return {row["node"] for batch in past(end, **options).routes() for row in batch.to_pylist()}

    put("c1", "n1")
    put("c2", "n2")
    assert nodes(2) == {"n1", "n2"}
    put("c1", "n3")
    assert nodes(2) == {"n1", "n2"}  # What replaced it is in the active segment, which is never compacted.
    until = time.monotonic() + PATIENCE
    number = 3
    while nodes(2, is_proved=True) != {"n2"}:
        assert time.monotonic() < until, "Kafka did not compact"
        put("filler", "n9")  # A new segment, so that those before it are compacted.
        number += 1
    with pytest.raises(PastTableError, match="offset 2 can't be told"):
        nodes(2)
    with pytest.raises(PastTableError):
        past(2).latest()
    put("c1", "n4")
    put("c1", "n5")
    # At the end all is there; and behind a key that stands twice, nothing is compacted.
    assert nodes(number + 2) == {"n2", "n5", "n9"}
