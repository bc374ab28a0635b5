"""Applications on two gateways and a real Kafka; what the router would write, the test does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from admin.stack.gateway import MqttAddress
from contracts import session_record
from contracts.application_progress import Progress
from contracts.partitioner import partition_of
from edge.mqtt.packets import PubAck, PubComp, Publish, PubRec, PubRel, SubAck, Subscribe, Subscription
from edge.mqtt.properties import Properties
from tests.edge.gateway.persistence.client import message_headers
from tests.edge.mqtt.test_reading import read_all
from tests.live.peers import eventually
from tests.live.raw import Raw, raw_connection

if TYPE_CHECKING:
    from tests.edge.gateway.conftest import Cluster, Starting

pytestmark = pytest.mark.live

TOPIC = "a"


class Application:
    """A client at the level of packets."""

    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self.session_present = bool(raw.connack[2] & 1)

    async def next(self) -> Any:
        frame = await self.raw.packet()
        assert frame, "the gateway ended the connection"
        [packet] = read_all([frame], self.raw.version)
        return packet

    async def take(self, count: int) -> list[int]:
        """The numbers of so many messages, each acknowledged."""
        numbers = []
        for _ in range(count):
            packet = await self.next()
            assert isinstance(packet, Publish)
            numbers.append(int(packet.payload))
            self.raw.send(PubAck(packet.packet_id))
        return numbers

    async def subscribe(self, qos: int = 2) -> None:
        self.raw.send(Subscribe(1, (Subscription(TOPIC, qos),)))
        assert await self.next() == SubAck(1, (qos,))

    async def leave(self) -> None:
        self.raw.send("E000")
        await self.raw.until_end()


@asynccontextmanager
async def application(
    address: MqttAddress, client_id: str, version: int = 5, clean_start: bool = False, expiry: int = 3600
) -> AsyncIterator[Application]:
    properties = Properties(session_expiry_interval=expiry) if version == 5 else Properties()
    async with raw_connection(
        address, version, client_id, clean_start=clean_start, properties=properties
    ) as raw:
        yield Application(raw)


class Router:
    """Writes what a router would."""

    def __init__(self, cluster: Cluster, client_id: str) -> None:
        self._producer = Producer({"bootstrap.servers": cluster.kafka, "linger.ms": 5})
        self._topic = cluster.topics.application(client_id)
        self._next = 0

    def write(self, count: int, qos: int = 1) -> list[int]:
        """So many messages; returns their numbers."""
        numbers = list(range(self._next, self._next + count))
        for number in numbers:
            headers: Any = message_headers((0, number), qos, TOPIC, TOPIC)
            self._producer.produce(self._topic, b"%d" % number, b"0", headers=headers)
        self._next += count
        assert self._producer.flush(30) == 0
        return numbers

    def repeat(self, *numbers: int) -> None:
        for number in numbers:
            headers: Any = message_headers((0, number), 1, TOPIC, TOPIC)
            self._producer.produce(self._topic, b"%d" % number, b"0", headers=headers)
        assert self._producer.flush(30) == 0


@pytest.fixture
async def two(start: Starting) -> tuple[MqttAddress, MqttAddress]:
    """Two gateways."""
    starting = (start(node, application_clients="app.*") for node in ("gw1", "gw2"))
    (_, one), (_, other) = await asyncio.gather(*starting)
    return one, other


@pytest.fixture(params=["plain", "hashed"])
def client_id(unique: Callable[[str], str], request: pytest.FixtureRequest) -> str:
    """An id that nobody else has."""
    name = unique("app")
    return name if request.param == "hashed" else name.replace("-", "x")


@pytest.mark.parametrize("version", [4, 5])
async def test_what_came_while_it_was_away(
    cluster: Cluster, two: tuple[MqttAddress, MqttAddress], client_id: str, version: int
) -> None:
    router = Router(cluster, client_id)
    async with application(two[0], client_id, version) as here:
        assert not here.session_present
        await here.subscribe()
        assert await here.take(len(live := router.write(5))) == live
        await here.leave()
    away = router.write(3_000)
    router.repeat(3, 7)
    away += router.write(10)
    async with application(two[1], client_id, version) as here:
        assert here.session_present
        assert await here.take(len(away)) == away
        assert await here.take(len(back := router.write(5))) == back
        await here.leave()
    new = router.write(1)
    async with application(two[1], client_id, version) as here:  # On the same reader as before.
        assert await here.take(1) == new


async def test_what_is_not_acknowledged_comes_again_under_the_same_packet_id(
    cluster: Cluster, two: tuple[MqttAddress, MqttAddress], client_id: str
) -> None:
    router = Router(cluster, client_id)
    async with application(two[0], client_id) as here:
        await here.subscribe()
        router.write(2)
        [two_number] = router.write(1, qos=2)
        first, second, third = [await here.next() for _ in range(3)]
        here.raw.send(PubAck(second.packet_id))
        here.raw.send(PubRec(third.packet_id))
        assert await here.next() == PubRel(third.packet_id)
    for address in (two[1], two[0]):
        async with application(address, client_id) as here:
            assert await here.next() == PubRel(third.packet_id)
            again = await here.next()
            assert again == Publish(TOPIC, b"0", 1, dup=True, packet_id=first.packet_id)
    assert two_number == 2
    async with application(two[0], client_id) as here:
        assert await here.next() == PubRel(third.packet_id)
        here.raw.send(PubComp(third.packet_id))
        assert await here.take(1) == [0]
        assert await here.take(len(new := router.write(2))) == new


async def test_a_clean_start_begins_at_the_end(
    cluster: Cluster, two: tuple[MqttAddress, MqttAddress], client_id: str
) -> None:
    router = Router(cluster, client_id)
    async with application(two[0], client_id) as here:
        await here.subscribe()
        await here.leave()
    router.write(20)
    async with application(two[1], client_id, clean_start=True) as here:
        assert not here.session_present
        await here.subscribe()
        assert await here.take(len(new := router.write(2))) == new


async def test_a_slow_one_loses_nothing(cluster: Cluster, start: Starting, client_id: str) -> None:  # I10
    _, address = await start("gw1", application_clients="app.*", max_queued=50)
    router = Router(cluster, client_id)
    async with application(address, client_id) as here:
        await here.subscribe()
        numbers = router.write(5_000)
        assert await here.take(len(numbers)) == numbers


async def test_without_a_topic_nothing_is_kept(
    cluster: Cluster, start: Starting, unique: Callable[[str], str]
) -> None:
    _, address = await start("gw1", application_clients="app.*", application_id_validation=False)
    hashed, plain = unique("app"), unique("app").replace("-", "x")
    for client_id, expiry in ((hashed, 0), (plain, None)):
        async with raw_connection(
            address, 5, client_id, clean_start=False, properties=Properties(session_expiry_interval=60)
        ) as raw:
            [connack] = read_all([raw.connack], raw.version)
            assert connack.properties.session_expiry_interval == expiry  # type: ignore[union-attr]
    topics = AdminClient({"bootstrap.servers": cluster.kafka}).list_topics(timeout=10).topics
    assert cluster.topics.application(plain) in topics
    assert cluster.topics.application(hashed) not in topics
    session = await stored(cluster, hashed)
    assert isinstance(session, session_record.SessionRecord)
    assert "letters and digits" in session.warning


async def test_an_application_becomes_a_device(cluster: Cluster, start: Starting, client_id: str) -> None:
    _, as_application = await start("gw1", application_clients="app.*", app_removal_delay=0)
    _, as_device = await start("gw2", app_removal_delay=0)
    router = Router(cluster, client_id)
    async with application(as_application, client_id) as here:
        await here.subscribe()
        router.write(1)
        await here.leave()
    async with application(as_device, client_id) as here:
        assert not here.session_present
        await gone(cluster, client_id)
        await here.leave()
    async with application(as_application, client_id) as here:
        assert not here.session_present
        await here.subscribe()
        assert await here.take(len(new := router.write(2))) == new


async def test_a_topic_that_was_removed_by_hand_is_made_anew(
    cluster: Cluster, two: tuple[MqttAddress, MqttAddress], client_id: str
) -> None:
    async with application(two[0], client_id) as here:
        await here.subscribe()
        numbers = Router(cluster, client_id).write(3)
        assert await here.take(3) == numbers
        await here.leave()
    admin = AdminClient({"bootstrap.servers": cluster.kafka})
    admin.delete_topics([cluster.topics.application(client_id)])[
        cluster.topics.application(client_id)
    ].result()
    await gone(cluster, client_id)
    async with application(two[1], client_id) as here:
        assert here.session_present
        router = Router(cluster, client_id)
        assert await here.take(len(new := router.write(2))) == new


async def test_the_floor_is_told_to_the_owner(
    cluster: Cluster, two: tuple[MqttAddress, MqttAddress], client_id: str
) -> None:
    router = Router(cluster, client_id)
    async with application(two[0], client_id) as here:
        await here.subscribe()
        router.write(3)
        packets = [await here.next() for _ in range(3)]
        for packet in packets[1:]:
            here.raw.send(PubAck(packet.packet_id))
        await here.leave()
    async with application(two[1], client_id):
        pass  # The owner has applied all that came before.
    progress = await stored(cluster, client_id, session_record.progress_key(client_id))
    assert progress == Progress(0, acked=(1, 3))


async def gone(cluster: Cluster, client_id: str) -> None:
    """Wait until a client's topic is removed."""
    admin = AdminClient({"bootstrap.servers": cluster.kafka})
    name = cluster.topics.application(client_id)
    await eventually(lambda: name not in admin.list_topics(timeout=10).topics, f"{name} is removed")


async def stored(cluster: Cluster, client_id: str, key: bytes | None = None) -> object:
    """The last record of `tbmq.client.session` under a key."""

    def read() -> object:
        consumer = Consumer(
            {"bootstrap.servers": cluster.kafka, "group.id": "t", "enable.partition.eof": True}
        )
        partition = partition_of(client_id.encode(), 4)
        consumer.assign([TopicPartition(cluster.topics.sessions, partition, 0)])
        found: object = None
        try:
            while (message := consumer.poll(10)) is not None and message.error() is None:
                wanted = key or session_record.session_key(client_id)
                if message.key() == wanted and (value := message.value()) is not None:
                    found = session_record.decode(wanted, value)
        finally:
            consumer.close()
        return found

    return await asyncio.to_thread(read)
