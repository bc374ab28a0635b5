"""The whole way from the persisted log to a client: a real Kafka, a real store, and the MQTT core."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from contracts import persisted_record
from contracts.partitioner import partition_of
from contracts.persisted_log import PartitionFold
from contracts.persisted_record import Event, EventKind, packet_id
from edge.gateway.appender import Appender
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.kafka_clients import consumer_config, partition_count, producer_config, record_headers
from edge.gateway.local_subscriptions import LocalSubscriptions, Subscription
from edge.gateway.persistence.persistence import Persistence
from edge.gateway.source_marks import SourceMarks
from edge.mqtt.events import DeliveryCompleted
from edge.mqtt.packets import PubAck, PubComp, Publish, PubRec, PubRel
from stores import Store, open_store
from tests.edge.gateway.conftest import Cluster
from tests.edge.gateway.persistence.client import PlayedConnection, message_headers

PATIENCE = 120.0


class Log:
    """`tbmq.msg.persisted` as router and sink see it."""

    def __init__(self, cluster: Cluster, client_id: str) -> None:
        self.cluster, self.client_id = cluster, client_id
        self.partitions = partition_count(cluster.kafka, cluster.topics.persisted)
        self.partition = partition_of(client_id.encode(), self.partitions)
        self._producer = Producer(producer_config(cluster.kafka))
        self._sources = 0

    def write(self, count: int, qos: int = 1, first: int | None = None) -> list[bytes]:
        """Messages as the router writes them; with `first`, those of an earlier source offset once more."""
        start = self._sources if first is None else first
        payloads = [b"%d" % number for number in range(start, start + count)]
        for number, payload in enumerate(payloads, start):
            headers: Any = message_headers((0, number), qos)
            self._producer.produce(
                self.cluster.topics.persisted, payload, self.client_id.encode(), headers=headers
            )
        assert not self._producer.flush(PATIENCE)
        self._sources = max(self._sources, start + count)
        return payloads

    def write_event(self, kind: EventKind, *offsets: int) -> None:
        value, headers = persisted_record.encode_event(kind, offsets)
        key, topic = self.client_id.encode(), self.cluster.topics.persisted
        self._producer.produce(topic, value, key, headers=cast(Any, headers))
        assert not self._producer.flush(PATIENCE)

    def read(self) -> Iterator[persisted_record.Message | Event]:
        """All of the client's partition."""
        consumer = Consumer(consumer_config(self.cluster.kafka) | {"enable.partition.eof": True})
        consumer.assign([TopicPartition(self.cluster.topics.persisted, self.partition, 0)])
        while (found := consumer.poll(PATIENCE)) is not None and found.error() is None:
            yield persisted_record.decode(
                found.offset() or 0, found.key(), found.value(), record_headers(found)
            )
        consumer.close()

    def sink(self, store: Store, up_to: int) -> None:
        """Do the sink's work for everything below an offset."""
        fold = PartitionFold(store.partition_position(self.partition))
        for record in self.read():
            if record.offset < up_to:
                fold.take(record)
        store.write(self.partition, fold.batch())


async def keep_nothing(found: object) -> None:
    """Nothing here is to be retained."""


class Gateway:
    """A gateway's persistence, and one client on it."""

    def __init__(self, log: Log, store: Store) -> None:
        self.local: LocalSubscriptions[Connection] = LocalSubscriptions()
        self.counters = Counters()
        self.appender = Appender(log.cluster.kafka)
        self.persistence = Persistence(
            log.cluster.kafka,
            log.cluster.topics,
            store,
            self.appender,
            self.counters,
            self.local,
            SourceMarks(),
            3,
            1_000,
            1 << 20,
            keep_nothing,
        )
        self.client_id = log.client_id
        self.client = PlayedConnection()

    def connect(self, sent: list[int] | None, receive_maximum: int = 10) -> None:
        self.client = PlayedConnection(self.client_id, receive_maximum)
        self.local.add(cast(Connection, self.client), "a", Subscription(2))
        self.persistence.attach(cast(Connection, self.client), sent)

    async def disconnect(self) -> list[int]:
        settled = asyncio.Event()
        sent = self.persistence.detach(cast(Connection, self.client), settled.set)
        await asyncio.wait_for(settled.wait(), PATIENCE)
        assert sent is not None
        return sent

    def answer(self, *packets: PubAck) -> None:
        for event in self.client.answer(*packets):
            if isinstance(event, DeliveryCompleted):
                self.persistence.completed(cast(Connection, self.client), event)
            else:
                self.persistence.received(cast(Connection, self.client), event)

    async def next(self) -> list[Any]:
        """What the client gets next."""
        while not (packets := self.client.packets()):
            self.client.has_changed.clear()
            await asyncio.wait_for(self.client.has_changed.wait(), PATIENCE)
        return packets

    async def take(self, count: int) -> list[bytes]:
        """So many messages, each acknowledged."""
        payloads: list[bytes] = []
        while len(payloads) < count:
            for packet in await self.next():
                assert isinstance(packet, Publish)
                payloads.append(packet.payload)
                self.answer(PubAck(packet.packet_id))
        return payloads


@pytest.fixture
def log(cluster: Cluster, unique: Callable[[str], str]) -> Log:
    return Log(cluster, unique("client"))


@pytest.fixture
def open_store_here(tmp_path: Path) -> Callable[[], Store]:
    return lambda: open_store(f"sqlite:///{tmp_path}/store.db")


@asynccontextmanager
async def running(log: Log, store: Store) -> AsyncIterator[Gateway]:
    gateway = Gateway(log, store)
    gateway.persistence.start()
    try:
        yield gateway
    finally:
        gateway.persistence.stop()


@pytest.mark.live
class TestPersistence:
    async def test_store_then_log_then_live(self, log: Log, open_store_here: Callable[[], Store]) -> None:
        expected = log.write(100)
        log.sink(open_store_here(), up_to=40)
        expected += log.write(50)
        async with running(log, open_store_here()) as gateway:
            gateway.connect(sent=[])
            assert await gateway.take(150) == expected
            assert await gateway.take(len(live := log.write(20))) == live

    async def test_nothing_in_the_store_at_all(self, log: Log, open_store_here: Callable[[], Store]) -> None:
        expected = log.write(30)
        async with running(log, open_store_here()) as gateway:
            gateway.connect(sent=[])
            assert await gateway.take(30) == expected

    @pytest.mark.parametrize("sunk", [0, 3, 1_000])
    async def test_another_gateway_goes_on(
        self, log: Log, open_store_here: Callable[[], Store], sunk: int
    ) -> None:
        log.write(6, qos=2)
        async with running(log, open_store_here()) as first:
            first.connect(sent=[], receive_maximum=4)
            one, two, three, four = await first.next()
            first.answer(PubRec(one.packet_id), PubRec(two.packet_id))
            assert await first.next() == [PubRel(one.packet_id), PubRel(two.packet_id)]
            first.answer(PubComp(two.packet_id))
            [five] = await first.next()
            sent = await first.disconnect()
        log.sink(open_store_here(), up_to=sunk)
        async with running(log, open_store_here()) as second:
            second.connect(sent=sent, receive_maximum=9)
            packets = await second.next()
            assert packets[0] == PubRel(one.packet_id)
            second.answer(PubComp(one.packet_id))
            packets = [*packets[1:], *second.client.packets()]
            again = [(p.packet_id, p.payload, p.dup) for p in packets if isinstance(p, Publish)]
            assert again == [
                (three.packet_id, b"2", True), (four.packet_id, b"3", True), (five.packet_id, b"4", True),
                (packet_id(5), b"5", False),
            ]  # fmt: skip

    @pytest.mark.parametrize("sunk", [0, 5, 8, 12, 1_000])
    async def test_repeats_of_the_router(
        self, log: Log, open_store_here: Callable[[], Store], sunk: int
    ) -> None:
        expected = log.write(8)
        log.write(6, first=2)
        expected += log.write(4)
        log.sink(open_store_here(), up_to=sunk)
        async with running(log, open_store_here()) as gateway:
            gateway.connect(sent=[])
            assert await gateway.take(12) == expected
            log.write(4, first=8)
            assert log.write(1) == await gateway.take(1)

    async def test_cleared_before_it_came(self, log: Log, open_store_here: Callable[[], Store]) -> None:
        log.write(5)
        log.sink(open_store_here(), up_to=3)
        log.write_event(EventKind.CLEARED)
        async with running(log, open_store_here()) as gateway:
            gateway.connect(sent=[])
            assert log.write(3) == await gateway.take(3)

    async def test_more_than_is_kept_in_memory(self, log: Log, open_store_here: Callable[[], Store]) -> None:
        async with running(log, open_store_here()) as gateway:
            gateway.connect(sent=[])
            assert log.write(1) == await gateway.take(1)
            expected = log.write(2_500)
            assert await gateway.take(2_500) == expected

    async def test_acknowledged_is_never_sent_again(
        self, log: Log, open_store_here: Callable[[], Store]
    ) -> None:
        log.write(50)
        async with running(log, open_store_here()) as gateway:
            for _ in range(5):
                gateway.connect(sent=None)
                await gateway.take(10)
                await gateway.disconnect()
            gateway.connect(sent=None)
            assert log.write(1) == await gateway.take(1)
            await gateway.disconnect()
        acked = {
            o for r in log.read() if isinstance(r, Event) and r.kind is EventKind.ACKED for o in r.offsets
        }
        assert len(acked) == 51
