"""A client comes back to another gateway: from its CONNACK on, what is published leads there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from contracts import subscription_record
from contracts.kafka_topics import subscription_partition
from contracts.subscription_record import DEVICE_KIND, NODE_KIND
from edge.gateway.gateway import Gateway
from edge.gateway.kafka_clients import record_headers
from edge.mqtt.properties import Properties
from edge.mqtt.states import State
from tests.edge.gateway.conftest import Cluster, Starting
from tests.edge.gateway.test_auto_subscribe_on_kafka import SubscriptionLog
from tests.live.peers import V5, Peer, eventually, within

pytestmark = pytest.mark.live

LASTING = Properties(session_expiry_interval=600)


def hold_back(gateway: Gateway, topic: str) -> list[Callable[[], None]]:
    """Have a gateway's records for one Kafka topic wait in a list until they are called."""
    held: list[Callable[[], None]] = []
    append = gateway._appender.append

    def hold(name: str, *args: Any) -> None:
        if name == topic:
            held.append(lambda: append(name, *args))
        else:
            append(name, *args)

    gateway._appender.append = hold  # type: ignore[method-assign, assignment]
    return held


def routes_of_last_publish(cluster: Cluster) -> bytes:
    """What its publisher's gateway knew that the router might not; there is no router here."""
    consumer = Consumer(
        {"bootstrap.servers": cluster.kafka, "group.id": "test", "enable.partition.eof": True}
    )
    consumer.assign([TopicPartition(cluster.topics.publishes, number, 0) for number in range(3)])
    found = b""
    ends = 0
    while ends < 3:
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error() is not None:
            ends += 1
        elif message.key() == b"a/b":
            found = dict(record_headers(message)).get("routes") or b""
    consumer.close()
    return found


@pytest.mark.parametrize("kind", [DEVICE_KIND, NODE_KIND])
async def test_a_message_of_qos_0_right_after_connack(cluster: Cluster, start: Starting, kind: str) -> None:
    """Whether the session is to last, or to end with this connection."""
    _, gw2 = await start("gw2")
    gateway, gw1 = await start("gw1")
    away = await Peer.connect(gw2, V5, "c", properties=LASTING)
    await away.subscribe("a/b", qos=0)
    away.client.drop()
    await asyncio.wait([away.client.ended])
    held = hold_back(gateway, cluster.topics.subscriptions)
    properties = LASTING if kind == DEVICE_KIND else Properties()
    coming = asyncio.ensure_future(Peer.connect(gw1, V5, "c", clean_start=False, properties=properties))
    await eventually(lambda: bool(held), "gw1 writes that the client is there")
    [back] = gateway.sessions
    assert back.core.state is State.AWAITING_ACCEPT
    assert not coming.done()
    for append in held:
        append()
    peer = await within(coming)
    await peer.publish("a/b", "x", 0)
    await peer.publish("fence", "", 1)
    assert b'"gw1"' in routes_of_last_publish(cluster)
    peer.client.drop()


async def test_a_gateway_writes_again_that_a_client_is_there(cluster: Cluster, start: Starting) -> None:
    """As another that stood still, and goes on, may have it where it was before."""
    _, gw1 = await start("gw1")
    peer = await Peer.connect(gw1, V5, "c", properties=LASTING)
    await peer.subscribe("t", qos=0)
    log = SubscriptionLog(cluster)
    here, count = log.look("c", "t")
    assert here is not None
    assert (here.node, count) == ("gw1", 1)
    producer = Producer({"bootstrap.servers": cluster.kafka})
    late = subscription_record.encode_value(replace(here, node="gw2"))
    key, partition = subscription_record.encode_key("c", "t"), subscription_partition("t", 2)
    producer.produce(cluster.topics.subscriptions, late, key, partition)
    assert producer.flush(60) == 0
    await eventually(lambda: log.look("c", "t") == (here, 3), "it says so")
    log.close()
    peer.client.drop()
