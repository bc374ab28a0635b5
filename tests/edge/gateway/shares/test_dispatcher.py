"""Share groups over two gateways on a real Kafka; the test writes what the router would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from admin.stack.gateway import MqttAddress
from contracts.kafka_topics import subscription_partition
from contracts.subscription_record import DEVICE_KIND, SubscriptionRecord, encode_key, encode_value
from edge.gateway.gateway import Gateway
from edge.mqtt.packets import PubAck, PubComp, Publish, PubRec, PubRel, SubAck, Subscribe, Subscription
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from tests.edge.mqtt.test_reading import read_all
from tests.live.raw import Raw, raw_connection

if TYPE_CHECKING:
    from tests.edge.gateway.conftest import Cluster, Starting

pytestmark = pytest.mark.live

GROUP = "$share/g/t"


class Router:
    """Writes messages for the group, numbered by source offset; may repeat itself."""

    def __init__(self, cluster: Cluster) -> None:
        self._topic = cluster.topics.shares
        self._producer = Producer({"bootstrap.servers": cluster.kafka, "partitioner": "murmur2_random"})
        self.written = 0

    def write(self, count: int, qos: int = 1) -> list[str]:
        """Messages whose payloads are returned."""
        numbers = range(self.written, self.written + count)
        self.written += count
        self.repeat(numbers, qos)
        return [str(number) for number in numbers]

    def produce(self, topic: str, key: bytes, value: bytes | None, partition: int) -> None:
        self._producer.produce(topic, value, key, partition)
        assert not self._producer.flush(120)

    def repeat(self, numbers: range, qos: int = 1) -> None:
        for number in numbers:
            headers: list[tuple[str, str | bytes | None]] = [
                ("qos", b"%d" % qos), ("topic", b"t"), ("id", b"0:%d" % number), ("filter", GROUP.encode())
            ]  # fmt: skip
            self._producer.produce(self._topic, b"%d" % number, GROUP.encode(), headers=headers)
        assert not self._producer.flush(120)


class Member:
    """A client at the level of packets, which acknowledges only what it is told to."""

    def __init__(self, raw: Raw, came: asyncio.Queue[str]) -> None:
        self.raw = raw
        self.payloads: list[str] = []
        self.is_acknowledging = True
        self.serving: asyncio.Task[None] | None = None
        self._came = came

    async def next(self) -> Any:
        [packet] = read_all([await self.raw.packet()], self.raw.version)
        return packet

    async def subscribe(self, qos: int = 2) -> None:
        self.raw.send(Subscribe(1, (Subscription(GROUP, qos),)))
        assert await self.next() == SubAck(1, (qos,))

    async def serve(self) -> None:
        while frame := await self.raw.packet():
            [packet] = read_all([frame], self.raw.version)
            if isinstance(packet, PubRel):
                self.raw.send(PubComp(packet.packet_id))
                continue
            assert isinstance(packet, Publish)
            if packet.qos and self.is_acknowledging:
                self.raw.send((PubAck if packet.qos == 1 else PubRec)(packet.packet_id))
            self.payloads.append(packet.payload.decode())
            self._came.put_nowait(self.payloads[-1])

    async def leave(self, expiry: int | None = None) -> None:
        """Say goodbye, and wait until the gateway has heard it."""
        self.raw.send("E000" if expiry is None else f"E00700 05 11 {expiry:08x}")
        assert self.serving is not None
        await asyncio.wait_for(self.serving, 60)


class Members:
    """Connects members; what any of them gets can be waited for."""

    def __init__(self) -> None:
        self.came: asyncio.Queue[str] = asyncio.Queue()

    @asynccontextmanager
    async def member(self, at: MqttAddress, client_id: str, lasting: bool = True) -> AsyncIterator[Member]:
        asked = Properties(session_expiry_interval=3600 if lasting else 0)
        version = ProtocolVersion.V5
        async with raw_connection(at, version, client_id, clean_start=False, properties=asked) as raw:
            member = Member(raw, self.came)
            if not raw.connack[2] & 1:
                await member.subscribe()
            member.serving = asyncio.create_task(member.serve())
            try:
                yield member
            finally:
                member.serving.cancel()

    async def take(self, count: int) -> list[str]:
        """The next so many, whoever got them."""
        async with asyncio.timeout(60):
            return [await self.came.get() for _ in range(count)]


@pytest.fixture
def router(cluster: Cluster) -> Router:
    return Router(cluster)


@pytest.fixture
async def two(start: Starting) -> tuple[MqttAddress, MqttAddress]:
    (_, one), (_, other) = await asyncio.gather(start("gw1"), start("gw2"))
    return one, other


@pytest.mark.parametrize("qos", range(3))
@pytest.mark.parametrize("lasting", [True, False])
async def test_each_message_goes_to_one_member(
    two: tuple[MqttAddress, MqttAddress],
    router: Router,
    unique: Callable[[str], str],
    lasting: bool,
    qos: int,
) -> None:
    members = Members()
    async with (
        members.member(two[0], unique("a"), lasting) as a,
        members.member(two[1], unique("b"), lasting) as b,
        members.member(two[1], unique("c"), lasting) as c,
    ):
        sent = router.write(100, qos)
        router.repeat(range(50), qos)
        sent += router.write(50, qos)
        assert sorted(await members.take(150), key=int) == sent
        assert members.came.empty()
        for member in (a, b, c):
            assert member.payloads == sorted(member.payloads, key=int)
            assert 45 <= len(member.payloads) <= 55


async def test_members_offline(
    two: tuple[MqttAddress, MqttAddress], router: Router, unique: Callable[[str], str]
) -> None:
    """P06 without the router."""
    members, a, b = Members(), unique("a"), unique("b")
    async with members.member(two[0], a) as one, members.member(two[1], b) as other:
        both = router.write(100)
        assert sorted(await members.take(100), key=int) == both
        await one.leave()
        alone = router.write(100)
        assert await members.take(100) == alone
        await other.leave()
    parked = router.write(50)
    async with members.member(two[0], b) as back:
        assert await members.take(50) == parked
        live = router.write(10)
        assert await members.take(10) == live
        await back.leave()
    async with members.member(two[1], b):
        live = router.write(5)
        assert await members.take(5) == live


@pytest.mark.parametrize("lasting", [True, False])
async def test_what_a_member_leaves_unacknowledged_goes_to_another(
    two: tuple[MqttAddress, MqttAddress], router: Router, unique: Callable[[str], str], lasting: bool
) -> None:
    members, a = Members(), unique("a")
    async with members.member(two[0], a, lasting) as one:
        one.is_acknowledging = False
        sent = router.write(20)
        assert await members.take(20) == sent
        async with members.member(two[1], unique("b")) as other:
            await one.leave(expiry=0)
            assert await members.take(20) == sent
            assert other.payloads == sent


@pytest.mark.mqtt(v5="4.8.2-5")
@pytest.mark.parametrize("lasting", [True, False])
async def test_qos_2_that_was_sent_goes_to_nobody_else(
    two: tuple[MqttAddress, MqttAddress], router: Router, unique: Callable[[str], str], lasting: bool
) -> None:
    """Whether its PUBREC came or not [MQTT-4.8.2-5]."""
    members, a = Members(), unique("a")
    async with members.member(two[0], a, lasting) as one:
        one.is_acknowledging = False
        sent = router.write(5, 2)
        assert await members.take(5) == sent
        async with members.member(two[1], unique("b")):
            await one.leave(expiry=0)
            more = router.write(5, 2)
            assert await members.take(5) == more


async def test_another_dispatcher_goes_on(
    start: Starting, router: Router, unique: Callable[[str], str]
) -> None:
    members = Members()
    gateways: tuple[tuple[Gateway, MqttAddress], ...] = await asyncio.gather(start("gw1"), start("gw2"))
    async with members.member(gateways[1][1], unique("a"), lasting=False):
        first = router.write(100, 2)
        assert await members.take(100) == first
        await asyncio.to_thread(gateways[0][0].dispatcher.stop)
        more = router.write(100, 2)
        assert await members.take(100) == more


async def test_a_gateway_that_stood_still_cannot_say_that_a_member_is_gone(
    two: tuple[MqttAddress, MqttAddress], router: Router, cluster: Cluster, unique: Callable[[str], str]
) -> None:
    members, name = Members(), unique("a")
    stale = SubscriptionRecord(name, "t", "gw1", 2, "g", kind=DEVICE_KIND, online=False)
    async with members.member(two[1], name):
        first = router.write(5)
        assert await members.take(5) == first
        place = subscription_partition(GROUP, 2)
        router.produce(cluster.topics.subscriptions, encode_key(name, GROUP), encode_value(stale), place)
        more = router.write(5)
        assert await members.take(5) == more
