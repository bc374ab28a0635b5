"""Groups of applications on two gateways and a real Kafka; what the router would write, the test does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from admin.stack.gateway import MqttAddress
from contracts.application_shares import consumer_group, share_target
from edge.gateway.application_shares.dispatcher import EntityDispatcher
from edge.gateway.gateway import Gateway
from edge.gateway.kafka_clients import create_topics
from edge.mqtt.packets import PubAck, Publish, SubAck, Subscribe, Subscription, Unsubscribe
from edge.mqtt.properties import Properties
from tests.edge.mqtt.test_reading import read_all
from tests.live.peers import eventually
from tests.live.raw import Raw, raw_connection
from tests.new_topics import await_empty, await_leaders

if TYPE_CHECKING:
    from tests.edge.gateway.conftest import Cluster, Starting

pytestmark = pytest.mark.live

FILTER = "t/+"
GROUP = f"$share/g/{FILTER}"


class Router:
    """Writes numbered messages to the entity, as a router with four source partitions would."""

    def __init__(self, cluster: Cluster) -> None:
        self._topic = cluster.topics.application_share(FILTER)
        self._producer = Producer({"bootstrap.servers": cluster.kafka, "partitioner": "murmur2_random"})
        self.written = 0

    def write(self, count: int, qos: int = 1) -> list[int]:
        numbers = list(range(self.written, self.written + count))
        self.written += count
        self.repeat(numbers, qos)
        return numbers

    def repeat(self, numbers: list[int], qos: int = 1) -> None:
        for number in numbers:
            source = number % 4
            headers: Any = [
                ("qos", b"%d" % qos), ("topic", b"t/x"), ("id", b"%d:%d" % (source, number)),
                ("filter", FILTER.encode()),
            ]  # fmt: skip
            self._producer.produce(self._topic, b"%d" % number, b"%d" % source, headers=headers)
        assert not self._producer.flush(30)


class Member:
    """A client that acknowledges what it gets."""

    def __init__(self, raw: Raw, came: asyncio.Queue[int]) -> None:
        self.raw = raw
        self.numbers: list[int] = []
        self.serving: asyncio.Task[None] | None = None
        self._came = came

    async def subscribe(self, qos: int = 1) -> list[int]:
        self.raw.send(Subscribe(1, (Subscription(GROUP, qos),)))
        [packet] = read_all([await self.raw.packet()], self.raw.version)
        assert isinstance(packet, SubAck)
        return list(packet.reason_codes)

    def serve(self) -> None:
        self.serving = asyncio.create_task(self._serve())

    async def _serve(self) -> None:
        while frame := await self.raw.packet():
            [packet] = read_all([frame], self.raw.version)
            if isinstance(packet, Publish):
                if packet.qos:
                    self.raw.send(PubAck(packet.packet_id))
                self.numbers.append(int(packet.payload))
                self._came.put_nowait(self.numbers[-1])

    async def leave(self) -> None:
        self.raw.send("E000")
        assert self.serving is not None
        await asyncio.wait_for(self.serving, 60)


class Members:
    """Connects members; what any of them gets can be waited for."""

    def __init__(self) -> None:
        self.came: asyncio.Queue[int] = asyncio.Queue()

    @asynccontextmanager
    async def member(self, at: MqttAddress, client_id: str, qos: int = 1) -> AsyncIterator[Member]:
        asked = Properties(session_expiry_interval=3600)
        async with raw_connection(at, 5, client_id, clean_start=False, properties=asked) as raw:
            member = Member(raw, self.came)
            if not raw.connack[2] & 1:
                assert await member.subscribe(qos) == [qos]
            member.serve()
            try:
                yield member
            finally:
                assert member.serving is not None
                member.serving.cancel()

    async def take(self, count: int) -> list[int]:
        async with asyncio.timeout(60):
            return sorted([await self.came.get() for _ in range(count)])


@pytest.fixture
def entity(cluster: Cluster) -> str:
    """The Kafka topic of the filter."""
    topic = cluster.topics.of_application_share(FILTER)
    create_topics(cluster.kafka, [topic], replication=1)
    await_leaders(cluster.kafka, [topic])
    return topic.name


@pytest.fixture
async def two(start: Starting) -> tuple[tuple[Gateway, MqttAddress], tuple[Gateway, MqttAddress]]:
    one, other = await asyncio.gather(*(start(node, application_clients="app.*") for node in ("gw1", "gw2")))
    return one, other


@pytest.mark.parametrize(("version", "code"), [(4, 0x80), (5, 0x83)])
async def test_without_an_entity(
    start: Starting, caplog: pytest.LogCaptureFixture, version: int, code: int
) -> None:
    _, at = await start("gw1", application_clients="app.*")
    async with raw_connection(at, version, "app1", clean_start=False, properties=expiring(version)) as raw:
        member = Member(raw, asyncio.Queue())
        assert await member.subscribe() == [code]
    assert "share create --kafka" in caplog.text
    assert f"'{FILTER}'" in caplog.text


def expiring(version: int) -> Properties:
    return Properties(session_expiry_interval=60) if version == 5 else Properties()


@pytest.mark.usefixtures("entity")
@pytest.mark.parametrize(("published", "granted"), [(1, 1), (0, 1), (1, 0)])
async def test_each_message_goes_to_one_member(
    cluster: Cluster, two: Any, unique: Callable[[str], str], published: int, granted: int
) -> None:
    router, members = Router(cluster), Members()
    router.write(20)  # before anybody has subscribed
    (_, one), (_, other) = two
    async with (
        members.member(one, unique("app"), granted) as a,
        members.member(one, unique("app"), granted) as b,
        members.member(other, unique("app"), granted) as c,
    ):
        await balanced(cluster, 2)
        sent = router.write(400, published)
        router.repeat(sent[-20:], published)
        sent += router.write(40, published)
        assert await members.take(440) == sent
        assert all([a.numbers, b.numbers, c.numbers])
        for member in (a, b, c):  # in order, of each source
            for source in range(4):
                mine = [number for number in member.numbers if number % 4 == source]
                assert mine == sorted(mine)
        assert members.came.empty()


@pytest.mark.usefixtures("entity")
async def test_with_nobody_connected_it_waits(
    cluster: Cluster, two: Any, unique: Callable[[str], str]
) -> None:
    router, members = Router(cluster), Members()
    (_, one), (_, other) = two
    a, b = unique("app"), unique("app")
    async with members.member(one, a) as first, members.member(one, b) as second:
        assert router.write(10) == await members.take(10)
        await first.leave()
        alone = router.write(10)
        assert await members.take(10) == alone
        assert sorted(second.numbers[-10:]) == alone
        await second.leave()
    away = router.write(300)
    router.repeat(away[:5])
    async with members.member(other, a):
        assert await members.take(300) == away
        assert router.write(5) == await members.take(5)
        assert members.came.empty()


@pytest.mark.usefixtures("entity")
async def test_a_group_has_its_strategy(
    cluster: Cluster, start: Starting, unique: Callable[[str], str]
) -> None:
    router, members = Router(cluster), Members()
    _, at = await start("gw1", application_clients="app.*", share_strategies="g=sticky")
    async with members.member(at, unique("app")) as a, members.member(at, unique("app")) as b:
        assert router.write(40) == await members.take(40)
        assert sorted([a.numbers, b.numbers], key=len)[0] == []


@pytest.mark.usefixtures("entity")
async def test_a_member_that_unsubscribes_gets_no_more(
    cluster: Cluster, two: Any, unique: Callable[[str], str]
) -> None:
    router, members = Router(cluster), Members()
    (_, one), (_, other) = two
    async with members.member(one, unique("app")) as first, members.member(other, unique("app")) as second:
        await balanced(cluster, 2)
        assert router.write(20) == await members.take(20)
        had = len(first.numbers)
        first.raw.send(Unsubscribe(2, (GROUP,)))
        await balanced(cluster, 1)
        assert router.write(40) == await members.take(40)
        assert len(first.numbers) == had
        assert len(second.numbers) == 60 - had


@pytest.mark.usefixtures("entity")
async def test_what_was_not_committed_is_given_once(
    cluster: Cluster, two: Any, unique: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if gateways died when all of a round was written."""
    commit = EntityDispatcher._commit
    left = [1, 1]

    def fail(self: EntityDispatcher, consumer: Any, producer: Any, chosen: Any, taking: Any) -> None:
        if not left:
            commit(self, consumer, producer, chosen, taking)
            return
        left.pop()
        producer.begin_transaction()
        for delivery in chosen:
            self._write(producer, delivery)
        assert producer.flush(30) == 0
        raise KafkaException(KafkaError(KafkaError._FAIL, "as if it died"))

    monkeypatch.setattr(EntityDispatcher, "_commit", fail)
    router, members = Router(cluster), Members()
    (_, one), (_, other) = two
    async with members.member(one, unique("app")), members.member(other, unique("app")):
        assert router.write(60) == await members.take(60)
        assert router.write(8) == await members.take(8)
        assert not left
        assert members.came.empty()


async def test_an_entity_that_is_made_anew(
    cluster: Cluster, entity: str, two: Any, unique: Callable[[str], str]
) -> None:
    """Its offsets begin again, and what stands there is no repeat of what stood in the one before."""
    members = Members()
    (_, one), _ = two
    name = unique("app")
    router = Router(cluster)
    async with members.member(one, name) as here:
        assert router.write(40) == await members.take(40)
        await here.leave()
    admin = AdminClient({"bootstrap.servers": cluster.kafka})
    admin.delete_topics([entity])[entity].result()
    await eventually(lambda: entity not in admin.list_topics(timeout=10).topics, "it is removed")
    anew = cluster.topics.of_application_share(FILTER)
    create_topics(cluster.kafka, [anew], replication=1)
    await_empty(cluster.kafka, anew)
    router = Router(cluster)
    router.written = 40
    async with members.member(one, name):
        assert router.write(8) == await members.take(8)


async def balanced(cluster: Cluster, gateways: int) -> None:
    """Wait until so many gateways share the partitions."""
    group = consumer_group(cluster.topics.prefix, "g", share_target(FILTER))
    admin = AdminClient({"bootstrap.servers": cluster.kafka})

    def is_balanced() -> bool:
        described = admin.describe_consumer_groups([group])[group].result()
        shares = [len(member.assignment.topic_partitions) for member in described.members]
        return len(shares) == gateways and sum(shares) == 4 and all(shares)

    await eventually(is_balanced, f"{gateways} gateways share the entity")
