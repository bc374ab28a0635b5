"""Publishes within a transaction: what is to be retained stands in both Kafka topics, or in neither."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from confluent_kafka import Message, Producer

from contracts import publish_record, retained_record
from contracts.publish_record import QOS_HEADERS, RETAIN_HEADERS
from contracts.retained_record import subscriptions_header
from edge.gateway.kafka_clients import partition_count, place_of, record_headers, transaction_config
from edge.gateway.publications import Publication, publish
from edge.gateway.state_reading import StaleStateError, log_end, read_state
from tests.edge.gateway.conftest import Cluster

pytestmark = pytest.mark.live

READ = subscriptions_header({0: 3, 1: 4})
ROUTES = publish_record.routes_header([])


def publication(topic: bytes, value: bytes, *, retain: bool) -> Publication:
    return Publication(topic, value, [("client-id", b"c"), QOS_HEADERS[1], RETAIN_HEADERS[retain]], ROUTES)


@pytest.fixture
def producer(cluster: Cluster) -> Iterator[Producer]:
    producer = Producer(transaction_config(cluster.kafka, f"{cluster.topics.prefix}-test"))
    producer.init_transactions(30)
    producer.begin_transaction()
    yield producer
    producer.purge()
    producer.flush()


def records(cluster: Cluster, topic: str) -> list[Message]:
    """All that is committed, once the transactions' ends stand in each partition."""
    while True:
        with contextlib.suppress(StaleStateError):
            return read_all(cluster, topic)


def read_all(cluster: Cluster, topic: str) -> list[Message]:
    partitions = partition_count(cluster.kafka, topic)
    ends = {partition: log_end(cluster.kafka, topic, partition) for partition in range(partitions)}
    return [
        message
        for partition, end in ends.items()
        if end
        for message in read_state(cluster.kafka, topic, partition, end)
    ]


def test_what_is_to_be_retained_names_its_place(cluster: Cluster, producer: Producer) -> None:
    topics = cluster.topics
    wanted = [
        publication(b"a", b"1", retain=True),
        publication(b"b", b"2", retain=False),
        publication(b"c", b"", retain=True),
    ]
    publish(producer, topics, wanted, READ, 30)
    producer.commit_transaction(30)
    published = {message.key(): place_of(message) for message in records(cluster, topics.publishes)}
    assert published.keys() == {b"a", b"b", b"c"}
    retained = {
        message.key(): (
            retained_record.decode(message.key(), message.value(), record_headers(message)),
            message.value(),
        )
        for message in records(cluster, topics.retained)
    }
    assert retained.keys() == {b"a", b"c"}
    for key, (record, _) in retained.items():
        assert (record.partition, record.offset) == published[key]
        assert record.subscriptions_read == (3, 4)
        assert record.record.routes == ()
    assert retained[b"a"][1] == b"1"
    assert retained[b"c"][1] is None  # compaction forgets it
    assert retained[b"c"][0].is_deletion


def test_what_is_rolled_back_is_nowhere(cluster: Cluster, producer: Producer) -> None:
    publish(producer, cluster.topics, [publication(b"a", b"1", retain=True)], READ, 30)
    producer.abort_transaction(30)
    assert not records(cluster, cluster.topics.publishes)
    assert not records(cluster, cluster.topics.retained)
