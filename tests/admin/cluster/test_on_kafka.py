"""What is asked of Kafka, on a real one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from admin.cluster.cluster import ClusterSettings, ObservedCluster
from admin.cluster.kafka import KafkaObserver
from admin.cluster.sinks import SinkUrls
from admin.errors import KafkaUnavailableError
from admin.kafka_topics import topic_administration
from contracts import session_census, state_record
from contracts.kafka_topics import KafkaTopics
from contracts.session_census import Census
from edge.gateway.sessions.membership import group_of
from tests.admin.cluster.house import GATEWAY, ROUTER
from tests.conftest import LiveKafka
from tests.live.peers import eventually

pytestmark = [pytest.mark.live, pytest.mark.timeout(200)]


@pytest.fixture
def names(kafka: LiveKafka, unique: Callable[[str], str]) -> KafkaTopics:
    """A cluster's topics, which exist."""
    names = KafkaTopics(unique("seen"))
    with topic_administration(kafka.bootstrap) as administration:
        administration.create([*names.shared(2, 1, 1, 1, 1, 1), *names.of_node("gw1")])
    return names


@pytest.fixture
def cluster(kafka: LiveKafka, names: KafkaTopics, tmp_path: Path) -> Iterator[ObservedCluster]:
    """That cluster, without any part that runs."""
    sinks = SinkUrls(f"sqlite:///{tmp_path}/s.db", f"sqlite:///{tmp_path}/m.db", f"sqlite:///{tmp_path}/h.db")
    cluster = ObservedCluster(ClusterSettings(kafka.bootstrap, names.prefix, sinks))
    yield cluster
    cluster.close()


def produce(kafka: LiveKafka, topic: str, *records: tuple[bytes | None, bytes | None]) -> None:
    """Write records."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for key, value in records:
        producer.produce(topic, value, key)
    assert producer.flush(60) == 0


async def test_states_are_followed_and_forgotten(
    kafka: LiveKafka, names: KafkaTopics, cluster: ObservedCluster
) -> None:
    assert cluster.overview().nodes.living == 0
    produce(
        kafka, names.states, state_record.encode(GATEWAY), state_record.encode(ROUTER), (b"x", b"nothing")
    )
    await eventually(
        lambda: cluster.nodes == ["gw1"] and cluster.overview().router.state == "running",
        "both are seen",
        100,
    )
    assert cluster.overview().nodes.living == 1
    produce(kafka, names.states, state_record.encode(replace(GATEWAY, is_stopped=True)))
    await eventually(lambda: cluster.overview().nodes.stopped == ["gw1"], "it is seen to stop", 100)
    cluster.forget(state_record.gateway_key("gw1"))
    assert cluster.nodes == []
    again = ObservedCluster(ClusterSettings(kafka.bootstrap, names.prefix))  # reads it from Kafka
    assert again.nodes == []
    again.close()


def test_topics(kafka: LiveKafka, names: KafkaTopics, cluster: ObservedCluster) -> None:
    produce(kafka, names.publishes, *((b"a/b", b"x" * 100) for _ in range(5)))
    listed = cluster.topics.names(["gw1"])
    assert listed == cluster.topics.names([])
    described = {one.name: one for one in cluster.topics.describe(listed, ["gw1"])}
    assert {name: one.differences for name, one in described.items() if one.differences} == {}
    publishes = described[names.publishes]
    assert (publishes.role, publishes.partitions, publishes.records, publishes.replicas) == (
        "publishes",
        2,
        5,
        1,
    )
    assert publishes.size_bytes > 500
    assert publishes.retention_ms == 7 * 86_400_000
    assert described[names.states].is_compacted
    assert {one.role for one in described.values()} >= {"node", "sessions", "states", "historical"}
    [missing] = cluster.topics.describe([names.downlink("gw2")], ["gw2"])
    assert (missing.partitions, missing.differences[0].found) == (0, "missing")


def test_readers(kafka: LiveKafka, names: KafkaTopics, cluster: ObservedCluster) -> None:
    produce(kafka, names.session_requests, *((b"c", b"{}") for _ in range(5)))
    group = group_of(names.prefix)
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group})
    place = TopicPartition(names.session_requests, 0, 3, session_census.encode(Census(12, 4)))
    consumer.commit(offsets=[place], asynchronous=False)
    consumer.close()
    assert cluster.overview().sessions.total == 12
    by_name = {one.name: one for one in cluster.readers.describe(cluster.readers.names())}
    sessions = by_name[group]
    assert (sessions.kind, sessions.lag, sessions.members) == ("sessions", 2, [])
    assert [(one.offset, one.end) for one in sessions.partitions] == [(3, 5)]
    assert by_name["router"].kind == "router"
    assert {one.lag for one in by_name.values() if one.kind == "sink"} == {0}


def test_a_kafka_that_is_not_there_is_not_waited_for_again_and_again() -> None:
    observer = KafkaObserver("127.0.0.1:1")
    for _ in range(3):
        with pytest.raises(KafkaUnavailableError, match=r"No Kafka answers at 127\.0\.0\.1:1"):
            observer.group_names()
    observer.close()
