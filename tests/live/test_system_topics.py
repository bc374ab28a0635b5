"""$SYS over gateways, through the router: M12, who comes and goes, and who may not publish there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, TopicPartition

from admin.demo.client import ConnectionLostError
from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from contracts import historical_record, state_record
from contracts.historical_record import HistoricalRecord
from contracts.kafka_topics import KafkaTopics
from contracts.state_record import GatewayState, RouterState
from edge.mqtt.packets import Publish, Will
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode
from tests.live.conftest import Connecting
from tests.live.peers import V3_1_1, V5, Peer, sibling

pytestmark = pytest.mark.live


async def came_until(peer: Peer, fence: str) -> list[Publish]:
    """All that came before a fence."""
    came: list[Publish] = []
    while not came or came[-1].topic != fence:
        came += await peer.take()
    return came[:-1]


async def test_leading_wildcards_never_match_what_the_broker_publishes(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, unique: Callable[[str], str]
) -> None:
    """M12, [MQTT-4.7.2-1]: `#`, `+/x`, `+/#`, shared `#` get nothing; `#` beside `$SYS/#` gets each message once."""
    name = unique("visitor")
    told = f"$SYS/brokers/{gw1.node}/clients/{name}/connected"
    fence = sibling(told, f"{topic}/fence")
    wildcards = [await connect(gw2) for _ in range(4)]
    filters = ("#", "+/brokers", "+/#", f"$share/{unique('g')}/#")
    for peer, filter in zip(wildcards, filters, strict=True):
        await peer.subscribe(filter, fence, qos=1)
    both, one = await connect(gw2), await connect(gw2)
    await both.subscribe("#", "$SYS/#", fence, qos=1)
    await one.subscribe("$SYS/brokers/+/clients/+/connected", fence, qos=1)
    await connect(gw1, client_id=name)
    publisher = await connect(gw1)
    await came_until(one, told)  # A gateway tells of clients a little later, all together.
    await publisher.publish(fence, "fence")
    for peer in wildcards:
        assert not any(message.topic.startswith("$") for message in await came_until(peer, fence))
    assert sum(message.topic == told for message in await came_until(both, fence)) == 1
    assert not any(message.topic == told for message in await came_until(one, fence))


async def test_who_comes_and_goes(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, unique: Callable[[str], str]
) -> None:
    """Also over gateways: that a client was taken over is told where it was."""
    watcher, name = await connect(gw2), unique("visitor")
    await watcher.subscribe(f"$SYS/brokers/+/clients/{name}/+", qos=1)
    await connect(gw1, V3_1_1, name, user_name="ann", keep_alive=33)
    [here] = await watcher.take()
    said = json.loads(here.payload)
    assert here.topic == f"$SYS/brokers/{gw1.node}/clients/{name}/connected"
    assert (said["clientid"], said["username"], said["ipaddress"]) == (name, "ann", "127.0.0.1")
    assert (said["proto_ver"], said["keepalive"], said["clean_start"]) == (4, 33, True)
    assert not here.retain
    await connect(gw2, V5, name)
    gone, there = sorted(await watcher.take(2), key=lambda message: message.topic)
    assert gone.topic == f"$SYS/brokers/{gw1.node}/clients/{name}/disconnected"
    assert json.loads(gone.payload)["reason"] == "takenover"
    assert json.loads(gone.payload)["connected_at"] == said["connected_at"]
    assert there.topic == f"$SYS/brokers/{gw2.node}/clients/{name}/connected"


async def test_values_of_all_gateways_come_to_any(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress
) -> None:
    watcher = await connect(gw2)
    here = f"$SYS/brokers/{gw1.node}"
    wanted = {"$SYS/brokers", f"{here}/version", f"{here}/uptime", f"{here}/metrics/messages/received"}
    await watcher.subscribe(*wanted, qos=1)
    values: dict[str, str] = {}
    while (
        values.keys() != wanted or "," not in values["$SYS/brokers"]
    ):  # what is retained may be from the start
        values |= {message.topic: message.payload.decode() for message in await watcher.take()}
    assert values["$SYS/brokers"] == f"{gw1.node},{gw2.node}"
    assert int(values[f"{here}/uptime"]) >= 0
    late, everything = await connect(gw2), await connect(gw2)
    await everything.subscribe("#", "+/#", qos=1)
    await late.subscribe(f"{here}/#", qos=1)
    assert any(message.retain for message in await late.take(20))
    assert not any(message.topic.startswith("$") for message in everything.inbox)  # [MQTT-4.7.2-1], retained


@pytest.mark.parametrize(("version", "reason"), [(V5, ReasonCode.NOT_AUTHORIZED), (V3_1_1, 0)])
async def test_clients_may_not_publish_there(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, version: ProtocolVersion, reason: int
) -> None:
    """Nor may their wills go there."""
    forged = f"$SYS/forged/{topic}"
    fence = sibling(forged, f"{topic}/fence")
    watcher, forger = await connect(gw2), await connect(gw1, version)
    await watcher.subscribe("$SYS/forged/#", fence, qos=2)
    for qos in range(3):
        assert await forger.publish(forged, "x", qos) == (reason if qos else 0)
    with pytest.raises(ConnectionLostError):
        await connect(gw1, version, will=Will(forged, b"will", 1))
    await forger.publish(fence, "fence")
    assert [message.topic for message in await watcher.take()] == [fence]


@pytest.mark.timeout(120)
async def test_each_gateway_writes_its_counters(
    connect: Connecting, stack: Stack, gw1: MqttAddress, topic: str
) -> None:
    """What stands in `tbmq.sys.historical.data` has in it what has just been counted."""
    publisher = await connect(gw1)
    await publisher.publish(topic, "x", qos=1)
    consumer = Consumer(
        {
            "bootstrap.servers": stack.kafka,
            "group.id": "history",
            "auto.offset.reset": "earliest",
            "log_level": 2,
        }
    )
    consumer.assign([TopicPartition(KafkaTopics().historical, 0, 0)])
    seen: dict[str, HistoricalRecord] = {}
    # The publisher stays, so sooner or later a record has all three.
    wanted = ("connections_now", "publishes", "durable")
    while len(seen) < 2 or not all(seen[gw1.node].counters[name] for name in wanted):
        message = await asyncio.to_thread(consumer.poll, 0.5)
        if message is not None and message.error() is None:
            record = historical_record.decode(message.key(), message.value())
            seen[record.node] = record
    consumer.close()
    assert set(seen) == {"gw1", "gw2"}


@pytest.mark.timeout(180)
async def test_gateways_and_the_router_say_how_they_are(
    connect: Connecting, stack: Stack, gw1: MqttAddress, topic: str
) -> None:
    """What stands in `tbmq.sys.state`: both gateways and the router, and that its probes are answered."""
    client = await connect(gw1)
    await client.subscribe(topic)
    consumer = Consumer(
        {
            "bootstrap.servers": stack.kafka,
            "group.id": "states",
            "auto.offset.reset": "earliest",
            "log_level": 2,
        }
    )
    consumer.assign([TopicPartition(KafkaTopics().states, 0, 0)])
    gateways: dict[str, GatewayState] = {}
    router: RouterState | None = None

    def has_told() -> bool:
        here = gateways.get(gw1.node)
        return (
            here is not None
            and len(gateways) == 2
            and here.connections > 0
            and here.router.latency_ms is not None
            and here.router.backlog is not None
            and router is not None
            and router.state in ("running", "rolling_over")
        )

    while not has_told():
        message = await asyncio.to_thread(consumer.poll, 0.5)
        if message is not None and message.error() is None:
            state = state_record.decode(message.key(), message.value())
            if isinstance(state, GatewayState):
                gateways[state.node] = state
            else:
                router = state
    consumer.close()
    here = gateways[gw1.node]
    assert here.listeners["tcp"] == f"{gw1.host}:{gw1.port}"
    assert here.router.generation is not None
    assert len(here.router.table_version) == 2
    assert here.router.outstanding_probes < 100
