"""Delayed messages on a real Kafka: published once when they are due, found again after a crash, and counted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from contracts import delayed_record, publish_record
from contracts.kafka_topics import KafkaTopics
from contracts.partitioner import partition_of
from contracts.session_event import InboundExchange
from edge.gateway.kafka_clients import consumer_config, place_of, record_headers
from edge.gateway.persistence.stretch import StretchReader
from edge.mqtt.properties import Properties
from edge.mqtt.reason_codes import ReasonCode
from tests.edge.gateway.conftest import Cluster, Starting
from tests.live.peers import Peer, eventually

pytestmark = pytest.mark.live

PARTITIONS = 3


class Log:
    """What is committed in a Kafka topic of the cluster; probes are passed over."""

    def __init__(self, kafka: str, topic: str) -> None:
        self.records: list[Message] = []
        self._consumer = Consumer(consumer_config(kafka))
        self._consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])

    def look(self) -> list[Message]:
        """All of it so far."""
        while (message := self._consumer.poll(0.1)) is not None:
            if not (message.key() or b"").startswith((b"\0", b"$SYS/")):
                self.records.append(message)
        return self.records

    def close(self) -> None:
        self._consumer.close()


@pytest.fixture
def logs(cluster: Cluster) -> Iterator[tuple[Log, Log]]:
    """What was published, and what was delayed."""
    topics: KafkaTopics = cluster.topics
    found = Log(cluster.kafka, topics.publishes), Log(cluster.kafka, topics.delayed)
    yield found
    for log in found:
        log.close()


async def test_each_is_published_once_whichever_gateway_has_it(
    start: Starting, logs: tuple[Log, Log], cluster: Cluster
) -> None:
    published, delayed = logs
    (first, gw1), (second, _) = await asyncio.gather(start("gw1"), start("gw2"))
    peer = await Peer.connect(gw1, client_id="c1", properties=Properties(session_expiry_interval=600))
    began_ms = time.time_ns() // 1_000_000
    for number in range(40):
        properties = Properties(message_expiry_interval=30, user_properties=(("n", str(number)),))
        topic = f"$delayed/{1 + number % 3}/t/{number % 7}"
        assert await peer.publish(topic, str(number), 1 + number % 2, properties=properties) == 0
    await check_exchanges(cluster, "c1")

    await eventually(lambda: len(published.look()) >= 40, "all are published")
    await eventually(lambda: sum(m.value() is None for m in delayed.look()) == 40, "all are taken out")
    assert sorted(int(m.value() or b"") for m in published.look()) == list(range(40))
    for message in published.records:
        record = publish_record.decode(message.key(), message.value(), record_headers(message))
        number = int(record.payload)
        assert (record.topic, record.qos, record.client_id) == (f"t/{number % 7}", 1 + number % 2, "c1")
        assert record.properties.user_properties == (("n", str(number)),)
        assert (record.properties.published_at_ms or 0) >= began_ms + 1_000
        assert not {"due-at", "packet-id"} & dict(record_headers(message)).keys()
    counted = [gateway.counters for gateway in (first, second)]
    assert sum(one.delayed_published for one in counted) == 40
    assert sum(one.delayed_accepted for one in counted) == 40
    peer.client.drop()


async def test_no_more_wait_than_may(start: Starting, logs: tuple[Log, Log], cluster: Cluster) -> None:
    """In the whole cluster; and who writes a tombstone withdraws a message."""
    _, delayed = logs
    starting = (start(node, delayed_max=3) for node in ("gw1", "gw2"))
    (first, gw1), (second, gw2) = await asyncio.gather(*starting)
    quota = second.delayed.quota
    assert quota is not None
    peer, other = await Peer.connect(gw1), await Peer.connect(gw2)
    for number in range(3):
        assert await peer.publish("$delayed/4294967/t", str(number), 1) == 0
    await eventually(lambda: quota.waiting == 3, "the other gateway counts them")
    for late in (peer, other):
        assert await late.publish("$delayed/4294967/t", "x", 1) == ReasonCode.QUOTA_EXCEEDED
    assert (first.counters.delayed_refused, second.counters.delayed_refused) == (1, 1)
    await eventually(lambda: len(delayed.look()) == 3, "they wait")
    withdrawn = delayed.records[1]
    producer = Producer({"bootstrap.servers": cluster.kafka})
    partition, _ = place_of(withdrawn)
    producer.produce(cluster.topics.delayed, None, withdrawn.key(), partition)
    assert producer.flush(30) == 0
    await eventually(lambda: quota.waiting == 2, "one waits no more")
    assert await other.publish("$delayed/4294967/t", "x", 1) == 0
    for each in (peer, other):
        each.client.drop()


async def check_exchanges(cluster: Cluster, client_id: str) -> None:
    """QoS 2 messages that were delayed are found, had their gateway died; what was never sent is not."""
    stretches = StretchReader(cluster.kafka, cluster.topics, 4, PARTITIONS)
    source = delayed_record.SOURCES + partition_of(b"t/1", PARTITIONS)
    begun = [
        (client_id, InboundExchange(packet_id, "begun", source, 0)) for packet_id in (*range(1, 50), 999)
    ]
    loop = asyncio.get_running_loop()
    found = await loop.run_in_executor(stretches.thread, stretches.find_published, begun)
    stretches.stop()
    assert found
    assert found.keys() <= {(client_id, packet_id) for packet_id in range(1, 50)}
