"""The router on a real Kafka: each trigger, new shapes, and that nothing stops it (I11)."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from contracts import probe_record
from contracts.partitioner import partition_of
from contracts.publish_record import RouteHit
from contracts.routed_record import decode_route
from tests.routing.broker import Broker, Taken
from tests.routing.running import running_router

pytestmark = [pytest.mark.live, pytest.mark.timeout(400)]


def told(records: list[Taken]) -> list[tuple[bytes | None, str]]:
    """(value, filter) of messages, sorted."""
    return sorted(
        (record.value, decode_route(record.headers).filter)
        for record in records
        if not probe_record.is_answer(record.headers)
    )


@pytest.mark.parametrize("trigger", ["realtime", "available-now", "microbatch"])
def test_each_trigger_routes_what_was_published_before_the_first_start(
    spark: SparkSession, broker: Broker, tmp_path: Path, trigger: str
) -> None:
    broker.create_nodes("n1", "n2")
    broker.subscribe("c1", "a/b", "n1")
    broker.subscribe("c2", "a/+", "n1")
    broker.subscribe("c3", "#", "n2")
    broker.publish("a/b", b"1")
    broker.publish("$SYS/a", b"-")
    broker.publish("x", b"2", [RouteHit("x", "n1")])
    broker.probe("n1", 7)
    broker.flush()
    with running_router(spark, broker, tmp_path, trigger) as router:
        at_n1 = broker.take("n1", 3 + 4, seconds=120)
        assert told(at_n1) == [(b"1", "a/+"), (b"1", "a/b"), (b"2", "x")]
        answers = [probe_record.decode_answer(r.headers) for r in at_n1 if probe_record.is_answer(r.headers)]
        assert {(a.sequence, a.source_partition, a.table_partition) for a in answers} == {
            (7, i, j) for i in (0, 1) for j in (0, 1)
        }
        assert told(broker.take("n2", 2, seconds=120)) == [(b"1", "#"), (b"2", "#")]
        if trigger == "available-now":
            router.wait()
        else:
            assert router.started.wait(120)
    # A restart goes on from the checkpoint, with another trigger too.
    broker.publish("a/b", b"3")
    broker.flush()
    with running_router(spark, broker, tmp_path, "available-now") as router:
        router.wait()
    # What was written when the router was stopped in mid-batch may come again before it.
    assert any(record.value == b"3" for record in broker.records(broker.topics.downlink("n2"), seconds=30))


def test_a_new_shape_is_in_the_plan_after_the_batch(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    broker.create_nodes("n1")
    broker.subscribe("c1", "a", "n1")
    broker.publish("a", b"1")
    broker.flush()
    with running_router(spark, broker, tmp_path) as router:
        broker.take("n1", 1, seconds=120)
        assert not router.supervisor.plan.shapes
        broker.subscribe("c2", "+/#", "n1")
        broker.flush()
        for record in broker.records(broker.topics.downlink("n1"), seconds=120):
            if decode_route(record.headers).filter == "+/#":
                break
            broker.publish("a", b"again")
            broker.flush()
        else:
            pytest.fail("the new shape was never looked for")
        assert [shape.text for shape in router.supervisor.plan.shapes] == ["1:0:#"]


def test_a_missing_kafka_topic_is_put_in_quarantine(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    broker.create_nodes("n1")
    broker.subscribe("c1", "a", "n1")
    broker.publish("a", b"1", [RouteHit("a", "ghost")])
    broker.publish("a", b"2")
    broker.flush()
    with running_router(spark, broker, tmp_path) as router:
        taken = broker.records(broker.topics.downlink("n1"), seconds=150)
        while next(taken).value != b"2":
            pass
        # The query comes back, and goes on to route, when it has found out what is missing.
        while router.supervisor.quarantined == 0:
            assert not router.errors
            router.thread.join(0.1)
        broker.publish("a", b"3", [RouteHit("a", "ghost")])
        broker.flush()
        while next(taken).value != b"3":
            pass
        assert router.supervisor.plan.quarantine == {broker.topics.downlink("ghost")}


def test_a_quarantine_ends_when_the_topic_exists(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    broker.create_nodes("n1")
    broker.subscribe("c1", "a", "n1")
    broker.delete(broker.topics.persisted)
    broker.publish("a", b"1", [RouteHit("a", "ghost"), RouteHit("a", "device", "device")])
    broker.flush()
    [persisted] = [topic for topic in broker.topics.shared() if topic.name == broker.topics.persisted]
    missing = {broker.topics.downlink("ghost"), broker.topics.persisted}
    with running_router(spark, broker, tmp_path, rollover="seamless") as router:
        while router.supervisor.plan.quarantine != missing:
            assert not router.errors
            router.thread.join(0.1)
    # Another process does not run into it again.
    with running_router(spark, broker, tmp_path, rollover="seamless") as router:
        assert router.started.wait(120)
        assert router.supervisor.plan.quarantine == missing
        assert router.supervisor.quarantined == 0
        broker.create_nodes("ghost")
        broker.create(persisted)
        while router.supervisor.plan.quarantine:
            assert not router.errors
            router.thread.join(0.1)
        broker.publish("a", b"2", [RouteHit("a", "ghost"), RouteHit("a", "device", "device")])
        broker.flush()
        assert broker.take("ghost", 1)[-1].value is not None
        partition = partition_of(b"device", persisted.partitions)
        for record in broker.records(persisted.name, partition, seconds=60):
            if record.value == b"2":
                break
        else:
            pytest.fail("nothing came to the persisted log")


def test_a_record_that_is_too_large_is_dropped(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """A foreign producer's compressed records can be larger than what the router may write."""
    broker.create_nodes("n1")
    broker.subscribe("c1", "a", "n1")
    foreign = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "compression.type": "gzip",
            "message.max.bytes": 8 << 20,
            "partitioner": "murmur2_random",
        }
    )
    large = b"0" * (4 << 20)
    foreign.produce(broker.topics.publishes, key=b"a", value=b"large headers", headers=[("x", large)])
    foreign.produce(broker.topics.publishes, key=b"a", value=large)
    assert foreign.flush(30) == 0
    broker.publish("a", b"small")
    broker.flush()
    with running_router(spark, broker, tmp_path) as router:
        assert next(broker.records(broker.topics.downlink("n1"), seconds=150)).value == b"small"
        assert router.supervisor.plan.exact_guard


def test_an_application_whose_topic_is_removed_and_comes_back(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    """Others are routed to all the time (I11), and from when its topic is there again, it misses nothing."""
    app = broker.topics.of_application("app1")
    broker.create_nodes("n1")
    broker.create(app)
    broker.subscribe("c1", "a", "n1")
    broker.subscribe("app1", "a", "n1", qos=1, kind="app", target="app1")
    broker.publish("a", b"1")
    broker.flush()
    with running_router(spark, broker, tmp_path, rollover="seamless") as router:
        assert next(broker.records(app.name, seconds=150)).value == b"1"
        broker.delete(app.name)
        # Told by a record that cannot be written, or by the table of the next generation, whichever comes first.
        while app.name not in router.supervisor.missing:
            assert not router.errors
            broker.publish("a", b"2")
            broker.flush()
            router.thread.join(0.5)
        broker.publish("a", b"3")
        broker.flush()
        others = (record.value for record in broker.records(broker.topics.downlink("n1"), seconds=150))
        while next(others) != b"3":
            pass
        broker.create(app)
        broker.publish("a", b"4")
        broker.flush()
        while router.supervisor.missing:
            assert not router.errors
            router.thread.join(0.1)
        own = (record.value for record in broker.records(app.name, seconds=150))
        while next(own) != b"4":
            pass
