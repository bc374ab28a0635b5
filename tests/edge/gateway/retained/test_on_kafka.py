"""The tail and the writer on a real Kafka: what stands in a wrong order, or has expired, is put right there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial

import pytest
from confluent_kafka import Consumer, Message, TopicPartition

from contracts import publish_record, retained_record
from contracts.partitioner import partition_of
from contracts.publish_record import MessageProperties, PublishRecord
from contracts.retained_record import RetainedRecord
from edge.gateway.appender import Appender
from edge.gateway.counters import Counters
from edge.gateway.kafka_clients import consumer_config, record_headers
from edge.gateway.local_subscriptions import LocalSubscriptions
from edge.gateway.log_barrier import LogBarrier
from edge.gateway.retained.retention import Retention
from tests.edge.gateway.conftest import Cluster
from tests.live.peers import eventually

pytestmark = pytest.mark.live

PATIENCE = 120.0
PARTITIONS = 4


def retained(
    topic: str, offset: int, payload: bytes = b"x", node: str = "gw1", expired_s: float | None = None
) -> RetainedRecord:
    """A record; `expired_s` seconds ago it expired."""
    said = MessageProperties()
    if expired_s is not None:
        now_ms = time.time_ns() // 1_000_000
        said = MessageProperties(message_expiry=1, published_at_ms=now_ms - round(1_000 * (expired_s + 1)))
    return RetainedRecord(PublishRecord(topic, payload, node=node, retain=True, properties=said), 0, offset)


def release(passed: list[asyncio.Event]) -> None:
    for one in passed:
        one.set()


class Node:
    """A gateway's retained messages."""

    def __init__(self, cluster: Cluster, node: str) -> None:
        self.cluster = cluster
        self.appender = Appender(cluster.kafka)
        self.counters = Counters()
        self.retention = Retention(
            cluster.kafka, cluster.topics, PARTITIONS, node, self.appender, LocalSubscriptions(), self.counters,
            lambda: {0: 7, 1: 8},
        )  # fmt: skip
        self.barrier: LogBarrier[asyncio.Event] = LogBarrier(
            cluster.kafka, cluster.topics.retained, PARTITIONS, self.retention.tail,
            release,
        )  # fmt: skip

    async def start(self) -> None:
        self.retention.tail.start()
        await self.caught_up()
        self.retention.tail.put_right()

    async def caught_up(self) -> None:
        """Whatever was durable before is in the view."""
        passed = asyncio.Event()
        self.barrier.enter(passed)
        async with asyncio.timeout(PATIENCE):
            await passed.wait()

    async def append(self, *records: RetainedRecord) -> None:
        for record in records:
            done = asyncio.get_running_loop().create_future()
            self.retention.writer.append_again(record, done.set_result)
            assert await asyncio.wait_for(done, PATIENCE) is None
        await self.caught_up()

    def held(self, topic: str) -> int | None:
        found = self.retention.view.get(topic)
        return None if found is None else found.offset

    def stop(self) -> None:
        self.appender.flush(PATIENCE)
        self.barrier.stop()
        self.retention.stop()


def in_log(cluster: Cluster, topic: str) -> list[tuple[int, bool]]:
    """Places of a topic's records in the order of the log, and which are tombstones."""
    consumer = Consumer(consumer_config(cluster.kafka) | {"enable.partition.eof": True})
    consumer.assign([TopicPartition(cluster.topics.retained, partition_of(topic.encode(), PARTITIONS), 0)])
    found = []
    while (message := consumer.poll(PATIENCE)) is not None and message.error() is None:
        if message.key() == topic.encode():
            record = retained_record.decode(message.key(), message.value(), record_headers(message))
            found.append((record.offset, message.value() is None))
    consumer.close()
    return found


Starting = Callable[[str], Awaitable[Node]]


@pytest.fixture
def start(cluster: Cluster) -> Iterator[Starting]:
    nodes: list[Node] = []

    async def start_one(node: str) -> Node:
        nodes.append(Node(cluster, node))
        await nodes[-1].start()
        return nodes[-1]

    yield start_one
    for node in nodes:
        node.stop()


async def test_the_gateway_that_came_too_late_appends_what_counts(cluster: Cluster, start: Starting) -> None:
    one, other = await start("gw1"), await start("gw2")
    await other.append(retained("t", 5, node="gw2"), retained("gone", 6, b"", node="gw2"))
    await one.append(retained("t", 3), retained("gone", 4))
    await eventually(lambda: in_log(cluster, "t") == [(5, False), (3, False), (5, False)], "it is put right")
    await eventually(lambda: in_log(cluster, "gone") == [(6, True), (4, False), (6, True)], "it is put right")
    for node in (one, other):
        await node.caught_up()
        assert (node.held("t"), node.held("gone")) == (5, None)
    assert (one.counters.retained_put_right, other.counters.retained_put_right) == (2, 0)


async def test_a_gateway_that_starts_puts_right_what_it_finds(cluster: Cluster, start: Starting) -> None:
    first = await start("gw1")
    await first.append(retained("t", 5, node="away"), retained("t", 3, node="away"), retained("u", 1))
    assert in_log(cluster, "t") == [(5, False), (3, False)]
    await start("gw2")
    await eventually(lambda: in_log(cluster, "t") == [(5, False), (3, False), (5, False)], "it is put right")
    assert in_log(cluster, "u") == [(1, False)]


async def test_what_has_expired_gets_its_tombstone(cluster: Cluster, start: Starting) -> None:  # M20
    writing = await start("gw1")
    await writing.append(
        retained("mine", 1, expired_s=-0.2),
        retained("of another", 2, node="gw2", expired_s=-0.2),
        retained("long ago", 3, node="away", expired_s=100),
    )
    await eventually(lambda: in_log(cluster, "mine") == [(1, False), (1, True)], "it is put right")
    await eventually(lambda: len(writing.retention.view) == 0, "the other one expires, too")
    assert in_log(cluster, "of another") == [(2, False)]
    assert in_log(cluster, "long ago") == [(3, False)]
    await start("gw3")
    await eventually(lambda: in_log(cluster, "long ago") == [(3, False), (3, True)], "it is put right")
    assert in_log(cluster, "of another") == [(2, False)]  # clocks differ


def noted(durable: asyncio.Event, *_: object) -> None:
    durable.set()


async def test_what_a_killed_gateway_had_published_is_retained(cluster: Cluster, start: Starting) -> None:
    """A QoS 2 message that stands in `tbmq.msg.all` alone, and one that is not to be retained."""
    node = await start("gw1")
    published: list[Message] = []
    for topic, retain in (("kept", True), ("not", False), ("newer", True)):
        record = PublishRecord(topic, b"x", node="gw2", qos=2, retain=retain)
        durable = asyncio.Event()
        node.appender.append(
            cluster.topics.publishes, b"x", topic.encode(), publish_record.encode_headers(record),
            partial(noted, durable),
        )  # fmt: skip
        await asyncio.wait_for(durable.wait(), PATIENCE)
    consumer = Consumer(consumer_config(cluster.kafka) | {"enable.partition.eof": True})
    consumer.assign([TopicPartition(cluster.topics.publishes, partition, 0) for partition in range(3)])
    while len(published) < 3:
        message = consumer.poll(PATIENCE)
        assert message is not None
        if message.error() is None:
            published.append(message)
    consumer.close()
    newer = partition_of(b"newer", 3)
    await node.append(RetainedRecord(PublishRecord("newer", b"y", retain=True), newer, 99))
    await node.retention.keep_found(published)
    await node.caught_up()
    assert (node.held("not"), node.held("newer")) == (None, 99)
    assert node.held("kept") is not None
