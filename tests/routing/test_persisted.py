"""Routes of all kinds, by QoS: the same plan on batch and stream says what the contracts say, on a real Kafka."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from contracts.partitioner import partition_of
from contracts.probe_record import encode_application_headers, encode_persisted_headers
from contracts.publish_record import RouteHit, decode_routes
from contracts.route_table import APP, DEVICE, NODE, NODE0, routes_of, takes
from contracts.routed_record import decode_route
from contracts.subscription_record import SubscriptionRecord
from contracts.topics import matches
from routing.pipeline import route
from routing.records import source_options
from routing.routes.datasource import MqttRoutes
from routing.survey import survey_table
from tests.routing.broker import Broker
from tests.routing.running import running_router

PARTITIONS = 4
"""Of the persisted log: contracts' default."""

SUBSCRIPTIONS = [
    SubscriptionRecord("plain 0", "p/+", "n1", 0),
    SubscriptionRecord("plain 2", "p/+", "n2", 2),
    SubscriptionRecord("both", "p/#", "n1", 1),
    SubscriptionRecord("device 0", "#", "n1", 0, kind="device"),
    *(SubscriptionRecord(f"device/é/{n}", "p/+", "n2", n % 3, kind="device") for n in range(40)),
    *(SubscriptionRecord(f"quiet {n}", "q/#", "n1", 1, kind="device") for n in range(5)),
    *(SubscriptionRecord(f"app {n}", "p/+", "n1", n, kind="app", target=f"app{n}") for n in range(3)),
]
HITS = [
    RouteHit("p/1", "n1", NODE0),
    RouteHit("p/1", "n2", NODE),
    RouteHit("p/1", "late", DEVICE),
    RouteHit("p/1", "app0", APP),
]

Told = Counter[tuple[str, str, str, bytes]]
"""(Kafka topic, key where it is a client id, filter, value) → how often."""


def told(
    topic: str, key: bytes | None, filter: str, value: bytes | None, broker: Broker
) -> tuple[str, str, str, bytes]:
    is_persisted = topic == broker.topics.persisted
    return topic, (key or b"").decode() if is_persisted else "", filter, bytes(value or b"")


def expected(broker: Broker) -> Told:
    routes = {(one.filter, *made) for one in SUBSCRIPTIONS for made in routes_of(one)}
    routes = {(f, k, to) for f, k, to in routes if k != NODE0 or (f, NODE, to) not in routes}
    found: Told = Counter()
    for topic in ("p/1", "q/1"):
        hits = [(hit.filter, hit.kind, hit.node) for hit in HITS] if topic == "p/1" else []
        for qos in range(3):
            for filter, kind, to in [*(one for one in routes if matches(one[0], topic)), *hits]:
                if takes(kind, qos):
                    place = broker.topics.persisted if kind == DEVICE else broker.topics.downlink(to)
                    if kind == APP:
                        place = broker.topics.application_prefix + to
                    found[place, to if kind == DEVICE else "", filter, b"%d" % qos] += 1
    return found


@pytest.mark.live
@pytest.mark.timeout(400)
def test_batch_and_stream_agree_with_the_contracts(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    broker.create_nodes("n1", "n2")
    broker.create(*(broker.topics.of_application(f"app{n}") for n in range(3)))
    for one in SUBSCRIPTIONS:
        broker.subscribe(one.client_id, one.filter, one.node, qos=one.qos, kind=one.kind, target=one.target)
    for qos in range(3):
        broker.publish("p/1", b"%d" % qos, HITS, qos)
        broker.publish("q/1", b"%d" % qos, (), qos)
    broker.flush()

    publishes = spark.read.format("kafka").options(**source_options(broker.bootstrap, broker.topics)).load()
    routes = spark.read.format(MqttRoutes.name()).options(
        kafka=broker.bootstrap, topic_prefix=broker.topics.prefix, snapshot_dir=str(tmp_path / "batch")
    )
    shapes = survey_table(broker.bootstrap, broker.topics, tmp_path / "batch").shapes
    batch = route(publishes, routes.load(), sorted(shapes, key=str), broker.topics, 1).collect()
    in_batch = Counter(
        told(row.topic, row.key.encode(), decode_route(row.headers).filter, row.value, broker)
        for row in batch
    )
    assert in_batch == expected(broker)

    with running_router(spark, broker, tmp_path, "available-now") as router:
        router.wait()
    streamed: Told = Counter()
    partitions: dict[str, set[int]] = {}
    places = [(broker.topics.downlink(node), 0) for node in ("n1", "n2")]
    places += [(broker.topics.application(f"app{n}"), 0) for n in range(3)]
    for name, partition in [*places, *((broker.topics.persisted, number) for number in range(PARTITIONS))]:
        for record in broker.records_so_far(name, partition):
            taken = told(name, record.key, decode_route(record.headers).filter, record.value, broker)
            streamed[taken] += 1
            partitions.setdefault(taken[1], set()).add(partition)
    assert streamed == in_batch
    # Who must know a client's partition without writing to it computes what Spark's producer does.
    del partitions[""]
    assert len(partitions) > 30
    assert partitions == {client: {partition_of(client.encode(), PARTITIONS)} for client in partitions}


def test_a_marker_of_applications_names_each() -> None:
    hits = decode_routes(encode_application_headers(["a", "b"])[-1][1])
    assert [(hit.node, hit.kind) for hit in hits] == [("a", APP), ("b", APP)]


@pytest.mark.parametrize("partitions", [1, 4, 50])
def test_a_marker_of_the_persisted_log_names_each_partition_once(partitions: int) -> None:
    headers = encode_persisted_headers(partitions)
    hits = decode_routes(headers[-1][1])
    assert [partition_of(hit.node.encode(), partitions) for hit in hits] == list(range(partitions))
    assert all(hit.node.startswith("\0") for hit in hits)  # No client can have that id.
