"""Auto-subscribe rules on a real Kafka: the record is there without a SUBSCRIBE, and again when the session goes on."""

from __future__ import annotations

import asyncio

import pytest
from confluent_kafka import Consumer, TopicPartition

from contracts import subscription_record
from contracts.subscription_record import SubscriptionRecord
from edge.mqtt.properties import Properties
from tests.edge.gateway.conftest import Cluster, Starting
from tests.live.peers import V3_1_1, V5, Peer, eventually

pytestmark = pytest.mark.live

RULES = '[{"filter": "to/${clientid}", "qos": 1, "retain_handling": 1}, {"filter": "user/${username}/#", "qos": 2}]'


class SubscriptionLog:
    """The newest record of each key in the partitions of some filters."""

    def __init__(self, cluster: Cluster) -> None:
        self._consumer = Consumer({"bootstrap.servers": cluster.kafka, "group.id": "test"})
        self._consumer.assign([TopicPartition(cluster.topics.subscriptions, n, 0) for n in range(2)])
        self._found: dict[bytes | None, tuple[bytes | None, int]] = {}

    def look(self, client_id: str, filter: str) -> tuple[SubscriptionRecord | None, int]:
        """The subscription as it stands, and how many records its key has had."""
        while (message := self._consumer.poll(0.1)) is not None:
            before = self._found.get(message.key(), (None, 0))
            self._found[message.key()] = (message.value(), before[1] + 1)
        key = subscription_record.encode_key(client_id, filter)
        value, count = self._found.get(key, (None, 0))
        return (None if value is None else subscription_record.decode(key, value)), count

    def close(self) -> None:
        self._consumer.close()


async def test_clients_are_subscribed_without_asking(cluster: Cluster, start: Starting) -> None:
    _, gw1 = await start("gw1", auto_subscribe=RULES)
    log = SubscriptionLog(cluster)
    lasting = Properties(session_expiry_interval=600)
    peer = await Peer.connect(gw1, V5, "c1", user_name="ann", properties=lasting)
    other = await Peer.connect(gw1, V3_1_1, "#")

    def record(filter: str) -> SubscriptionRecord | None:
        return log.look("c1", filter)[0]

    await eventually(lambda: record("user/ann/#") is not None, "the second rule is applied")
    found = record("to/c1")
    assert found is not None
    assert (found.qos, found.retain_handling, found.kind) == (1, 1, "device")
    assert await peer.unsubscribe("to/c1") == (0,)
    assert await other.unsubscribe("to/#") == ()
    assert log.look("#", "to/#") == (None, 0)
    peer.client.drop()
    await asyncio.wait([peer.client.ended])
    back = await Peer.connect(gw1, V5, "c1", clean_start=False, user_name="ann", properties=lasting)
    await eventually(lambda: record("to/c1") is not None, "the rule is applied again")
    await back.subscribe("to/c1", qos=2)  # its own word is the last
    await eventually(lambda: (r := record("to/c1")) is not None and r.qos == 2, "it subscribes itself")
    for each in (back, other):
        each.client.drop()
    log.close()
