"""Two gateways on one Kafka: one live connection per client id; a session goes on wherever its client comes back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Message, TopicPartition

from admin.demo.client import Client, ConnectionLostError
from admin.stack.gateway import MqttAddress
from contracts.publish_record import QOS_HEADERS, RETAIN_HEADERS, property_headers
from contracts.session_event import ConnectRequested, SessionEvent, WillBegun
from contracts.will_record import Will as StoredWill
from contracts.will_record import will_header
from edge.gateway.gateway import Gateway
from edge.gateway.ingress import message_properties
from edge.gateway.kafka_clients import end_offsets, record_headers
from edge.mqtt.packets import Connect, Subscription, Will
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from tests.live.peers import eventually

if TYPE_CHECKING:
    from tests.edge.gateway.conftest import Cluster, Starting

pytestmark = pytest.mark.live

V3_1_1, V5 = ProtocolVersion.V3_1_1, ProtocolVersion.V5


@pytest.fixture
async def two(start: Starting) -> tuple[MqttAddress, MqttAddress]:
    """Two gateways."""
    (_, one), (_, other) = await asyncio.gather(start("gw1"), start("gw2"))
    return one, other


async def join(
    address: MqttAddress,
    client_id: str,
    expiry: int | None = None,
    version: ProtocolVersion = V5,
    **fields: Any,
) -> Client:
    """Connect a client, without a clean start unless told otherwise."""
    properties = Properties(session_expiry_interval=expiry)
    settings: dict[str, Any] = {"clean_start": False, "properties": properties} | fields
    return await Client.connect(address.host, address.port, Connect(client_id, version, **settings))


def present(client: Client) -> bool:
    """Whether its session was there."""
    return client.connected.result().session_present


@pytest.mark.mqtt(v5="3.1.2-5 3.1.3-2 3.1.4-3 3.2.2-3")
async def test_twenty_alternations(
    two: tuple[MqttAddress, MqttAddress], unique: Callable[[str], str]
) -> None:
    """M29: each new connection goes on with the session, and the one before is told to go."""
    name = unique("tk")
    client = await join(two[0], name, 300)
    assert not present(client)
    assert await client.subscribe(Subscription("t", 1)) == (1,)
    for number in range(1, 21):
        successor = await join(two[number % 2], name, 300)
        assert present(successor)
        assert await client.ended == 0x8E
        client = successor
    await client.ping()
    await client.disconnect()


async def test_many_at_once_leave_one(
    two: tuple[MqttAddress, MqttAddress], unique: Callable[[str], str]
) -> None:
    """Forty connects of one client id at the same time: whoever is let in is alone."""
    name = unique("storm")

    async def attempt(number: int) -> Client | None:
        try:
            return await join(two[number % 2], name, 300, (V3_1_1, V5)[number // 2 % 2])
        except ConnectionLostError:
            return None

    clients = [client for client in await asyncio.gather(*map(attempt, range(40))) if client]
    assert clients
    while len([client for client in clients if not client.ended.done()]) > 1:
        await asyncio.wait(
            [client.ended for client in clients if not client.ended.done()], return_when="FIRST_COMPLETED"
        )
    [last] = [client for client in clients if not client.ended.done()]
    await last.ping()


@pytest.mark.mqtt(v3="3.1.2-6", v5="4.1.0-2")
@pytest.mark.parametrize(("version", "expiry"), [(V3_1_1, None), (V5, 0), (V5, None)])
async def test_what_dies_with_its_connection_is_not_handed_over(
    two: tuple[MqttAddress, MqttAddress],
    unique: Callable[[str], str],
    version: ProtocolVersion,
    expiry: int | None,
) -> None:
    """M27: a hundred rounds, on one gateway and over two, to hit the race."""
    for number in range(34):
        name = unique("tk0")
        first = await join(two[0], name, expiry, version, clean_start=True)
        await first.subscribe(Subscription("tk/t", 1))
        second = await join(two[number % 2], name, 60)
        assert not present(second)
        second.drop()


@pytest.mark.mqtt(v3="3.1.2-4 3.1.2-6 3.1.3-2 3.1.4-3 3.2.2-1 3.2.2-2 3.2.2-3")
async def test_a_session_ends_with_a_clean_start(
    two: tuple[MqttAddress, MqttAddress], unique: Callable[[str], str]
) -> None:
    """M28, without what is published."""
    name = unique("cs")
    found = []
    for address, clean in ((two[0], False), (two[1], True), (two[0], False), (two[1], False)):
        client = await join(address, name, version=V3_1_1, clean_start=clean)
        found.append(present(client))
        await client.disconnect()
    assert found == [False, False, False, True]


@pytest.mark.mqtt(v5="3.1.2-23 4.1.0-2")
async def test_a_session_expires(two: tuple[MqttAddress, MqttAddress], unique: Callable[[str], str]) -> None:
    """M26: by time, and by what a DISCONNECT said."""
    name, other = unique("e"), unique("e")
    for client_id in (name, other):
        client = await join(two[0], client_id, 2)
        client.drop()
        await client.ended
    client = await join(two[1], other, 0)
    assert present(client)
    client.drop()
    await asyncio.sleep(3.0)  # the expiry itself, and a little
    assert not present(await join(two[1], name, 0))
    assert not present(await join(two[0], other, 0))


async def test_a_gateway_without_a_store_offers_no_sessions(
    start: Starting, unique: Callable[[str], str]
) -> None:
    _, address = await start("gw1", persistence_store=None)
    name = unique("n")
    client = await join(address, name, 60)
    assert client.connected.result().properties.session_expiry_interval == 0
    client.drop()
    assert not present(await join(address, name, 60))


async def test_who_leaves_while_waiting_keeps_nobody_out(
    two: tuple[MqttAddress, MqttAddress], unique: Callable[[str], str]
) -> None:
    name = unique("w")
    for number in range(10):
        impatient = asyncio.create_task(join(two[number % 2], name, 60))
        await asyncio.sleep(0.002 * number)  # the CONNECT is somewhere on its way
        impatient.cancel()
        with pytest.raises((asyncio.CancelledError, ConnectionLostError)):
            await impatient
    client = await join(two[0], name, 60)
    await client.ping()


async def test_an_earlier_life_of_a_node_keeps_nobody_out(
    start: Starting, unique: Callable[[str], str]
) -> None:
    """A connection of a gateway that was killed, as its events tell, is freed by the node's new boot."""
    gateway, address = await start("gw1")
    _, other = await start("gw2")
    name = unique("old")
    request = ConnectRequested("gw1", "killed", "c-old", False, 300, 5, "DEVICE", 0)
    await told(gateway, name, request)
    assert present(await join(address, name, 300))
    elsewhere = unique("old")
    await told(gateway, elsewhere, request)
    assert present(await join(other, elsewhere, 300))


async def told(gateway: Gateway, client_id: str, event: SessionEvent) -> None:
    """Wait until an event of a gateway stands in its client's log."""
    durable = asyncio.Event()
    gateway._requests.send(client_id, event, lambda _error, _message: durable.set())
    await durable.wait()


async def test_the_will_of_who_is_taken_over_comes_before_its_successor(
    two: tuple[MqttAddress, MqttAddress], cluster: Cluster, unique: Callable[[str], str]
) -> None:
    """M22, without retain: off, on, off, on … as Kafka has it, whichever gateway."""
    name, topic = unique("tv"), unique("st")
    watch = Watch(cluster)
    client = None
    for number in range(21):
        client = await join(
            two[number // 2 % 2], name, clean_start=True, version=V3_1_1, will=Will(topic, b"off", 1)
        )
        await client.publish(topic, b"on", 1)
    assert watch.values(topic) == [b"on", b"off"] * 20 + [b"on"]


def delayed(topic: str, delay: int) -> Will:
    """A will with a delay."""
    return Will(topic, b"gone", 1, properties=Properties(will_delay_interval=delay))


@pytest.mark.mqtt(v5="3.1.2-7 3.1.2-8 3.1.3-9")
@pytest.mark.parametrize(
    ("expiry", "delay", "back_at", "clean", "gone_after"),
    [
        (60, 3, 1.0, False, None),  # M23 (a): never
        (60, 2, None, False, 2.0),  # (b) at the delay
        (60, 5, 1.0, True, 1.0),  # (c) the session ends when the client comes back
        (0, 5, None, False, 0.0),  # (d) it ends at once
        (2, 10, None, False, 2.0),  # (e) it ends before the delay
    ],
)
async def test_will_delay(
    two: tuple[MqttAddress, MqttAddress],
    cluster: Cluster,
    unique: Callable[[str], str],
    expiry: int,
    delay: int,
    back_at: float | None,
    clean: bool,
    gone_after: float | None,
) -> None:
    name, topic = unique("wd"), unique("wd")
    watch = Watch(cluster)
    client = await join(two[0], name, expiry, will=delayed(topic, delay))
    client.drop()
    await client.ended
    began_at = time.time()
    if back_at is not None:
        await asyncio.sleep(back_at)
        back = await join(two[1], name, expiry, clean_start=clean)
        assert present(back) is not clean
    await asyncio.sleep(
        max(delay if back_at else 0, gone_after or 0, min(delay, expiry)) + 0.8 - (back_at or 0)
    )
    came = watch.records(topic)
    assert len(came) == (gone_after is not None)
    for at, _ in came:
        assert (gone_after or 0) - 0.1 < at - began_at < (gone_after or 0) + 0.8


@pytest.mark.mqtt(v5="3.1.2-8 3.1.3-9")
async def test_a_delayed_will_of_who_is_taken_over(
    two: tuple[MqttAddress, MqttAddress], cluster: Cluster, unique: Callable[[str], str]
) -> None:
    """M23 (f), and that it is never sent when the session goes on [MQTT-3.1.3-9]."""
    watch = Watch(cluster)
    for expiry, expected in ((0, [b"gone"]), (60, [])):
        for address in two:
            name, topic = unique("wt"), unique("wt")
            await join(two[0], name, expiry, will=delayed(topic, 1))
            await join(address, name, expiry)
            await asyncio.sleep(1.5 if expiry else 0.0)
            assert watch.values(topic) == expected


def killed(connection: str, topic: str, expiry: int = 0, **will: Any) -> ConnectRequested:
    """The connect of a client with a will, at a gateway that was killed since."""
    kept = Connect("id", V5, will=Will(topic, will.pop("payload", b"gone"), 1, **will)).will
    assert kept is not None
    properties = property_headers(replace(message_properties(kept.properties), published_at_ms=None))
    waiting = StoredWill(
        topic, kept.payload, (("client-id", b"id"), QOS_HEADERS[1], RETAIN_HEADERS[kept.retain], *properties),
        kept.properties.will_delay_interval or 0,
    )  # fmt: skip
    return ConnectRequested("gw9", "killed", connection, False, expiry, 5, "DEVICE", 0, will=waiting)


async def test_the_wills_of_a_lost_gateway(
    two: tuple[MqttAddress, MqttAddress], start: Starting, cluster: Cluster, unique: Callable[[str], str]
) -> None:
    """I8: each once, whether the gateway was about to publish it or had; those that wait, in their time."""
    gateway, _ = await start("gw3")
    watch, name, topic = Watch(cluster), unique("lost"), unique("lost")
    watcher = await join(two[1], unique("watcher"))
    await watcher.subscribe(Subscription(f"{topic}/#", 1))
    large = bytes(60_000)
    said = Properties(will_delay_interval=2, message_expiry_interval=10)
    wills = {
        "plain": killed("a", f"{topic}/plain", retain=True),
        "large": killed("b", f"{topic}/large", payload=large),
        "empty": killed("c", f"{topic}/empty", payload=b""),
        "begun": killed("d", f"{topic}/begun"),
        "there": killed("e", f"{topic}/there"),
        "waits": killed("f", f"{topic}/waits", 60, properties=said),
        "expires": killed("g", f"{topic}/expires", 1, properties=Properties(will_delay_interval=60)),
        "resumed": killed("h", f"{topic}/resumed", 60, properties=Properties(will_delay_interval=60)),
    }
    durable, began_at_ms = Durable(), time.time_ns() // 1_000_000
    gateway._appender.append(
        cluster.topics.publishes, b"gone", f"{topic}/there".encode(), [will_header("e")], durable.one()
    )
    for kind, request in wills.items():
        gateway._requests.send(f"{name}-{kind}", request, durable.one())
    gateway._requests.send(f"{name}-begun", WillBegun("d", began_at_ms), durable.one())
    gateway._requests.send(f"{name}-there", WillBegun("e", began_at_ms), durable.one())
    await durable.all()
    back = await join(two[0], f"{name}-resumed", 60)
    assert present(back)
    assert not present(await join(two[0], f"{name}-plain"))
    await eventually(lambda: bool(watch.values(f"{topic}/expires")), "the will of a session that expires")
    await eventually(lambda: bool(watch.values(f"{topic}/waits")), "the will with a delay")
    # The owners are several, and each publishes at its own pace.
    due = [kind for kind in wills if kind != "resumed"]
    await eventually(lambda: all(watch.values(f"{topic}/{kind}") for kind in due), "all wills that are due")
    ended = await join(two[0], f"{name}-resumed", clean_start=True)  # behind it, nothing is to come
    await ended.ping()
    found = {kind: watch.values(f"{topic}/{kind}") for kind in wills}
    others = {"large": [large], "empty": [b""], "resumed": []}
    assert found == {kind: others.get(kind, [b"gone"]) for kind in wills}
    [plain] = watch.messages(f"{topic}/plain")
    headers = record_headers(plain)
    assert headers[:4] == [("client-id", b"id"), ("qos", b"1"), ("retain", b"1"), ("will", b"a")]
    # M20: the expiry runs from the publication on.
    [waited] = watch.messages(f"{topic}/waits")
    found_at = int(dict(record_headers(waited))["published-at"] or b"")
    assert found_at >= began_at_ms + 2_000
    assert abs(found_at - waited.timestamp()[1]) < 60_000
    # The subscription is fresh, for no router has read it (I2).
    assert headers[4][0] == "routes"
    assert b"gw2" in (headers[4][1] or b"")


@pytest.mark.usefixtures("two")
async def test_a_will_that_waits_outlives_its_gateways_stop(
    start: Starting, cluster: Cluster, unique: Callable[[str], str]
) -> None:
    gateway, address = await start("gw3")
    name, topic = unique("ws"), unique("ws")
    watch = Watch(cluster)
    client = await join(address, name, 60, will=delayed(topic, 2))
    lingering = await join(address, f"{name}2", 60, will=delayed(topic, 2))
    began_at = time.time()
    lingering.drop()
    await lingering.ended
    await gateway.stop()
    await client.ended
    await eventually(lambda: len(watch.values(topic)) == 2, "both wills")
    assert all(at - began_at > 1.9 for at, _ in watch.records(topic))


async def test_a_connection_that_its_gateway_does_not_know(
    two: tuple[MqttAddress, MqttAddress], start: Starting, unique: Callable[[str], str]
) -> None:
    """The owner believes in one that its node knows nothing of: the node says so, and the client gets in."""
    gateway, address = await start("gw3")
    name = unique("u")
    ghost = ConnectRequested("gw3", gateway.sessions._boot, "c-ghost", False, 0, 5, "DEVICE", 0)
    durable = Durable()
    gateway._requests.send(name, ghost, durable.one())
    await durable.all()
    assert not present(await join(two[0], name))
    await join(address, name)


class Durable:
    """Waits until all that was appended is in Kafka."""

    def __init__(self) -> None:
        self._futures: list[asyncio.Future[object]] = []

    def one(self) -> Callable[[object, object], None]:
        """To be called with an append's result."""
        future = asyncio.get_running_loop().create_future()
        self._futures.append(future)
        return lambda error, _: future.set_result(error)

    async def all(self) -> None:
        """Wait, and check that nothing was refused."""
        assert not any(await asyncio.gather(*self._futures))


class Watch:
    """What is appended to the log of publishes from now on."""

    def __init__(self, cluster: Cluster) -> None:
        config = {"bootstrap.servers": cluster.kafka, "group.id": "watch", "enable.partition.eof": True}
        self._consumer = Consumer(config)
        self._topic = cluster.topics.publishes
        self._start = end_offsets(self._consumer, self._topic, 3, 10.0)

    def messages(self, topic: str) -> list[Message]:
        """Each record of an MQTT topic."""
        self._consumer.assign([TopicPartition(self._topic, p, offset) for p, offset in self._start.items()])
        found, ends = [], 0
        while ends < len(self._start):
            message = self._consumer.poll(10.0)
            assert message is not None
            if message.error() is not None:
                ends += 1
            elif message.key() == topic.encode():
                found.append(message)
        return found

    def records(self, topic: str) -> list[tuple[float, bytes]]:
        """When each record of an MQTT topic was appended, and its value."""
        return [(found.timestamp()[1] / 1_000, found.value() or b"") for found in self.messages(topic)]

    def values(self, topic: str) -> list[bytes]:
        """The values alone."""
        return [value for _, value in self.records(topic)]
