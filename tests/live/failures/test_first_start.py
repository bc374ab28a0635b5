"""P08 (a): gateways are up, clients subscribe and publish, and only then the router starts for the first time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from admin.kafka_topics import topic_administration
from admin.stack import gateway, router
from admin.stack.data_folder import DataFolder
from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress, gateway_part
from admin.stack.ports import LOOPBACK, free_ports
from admin.stack.router import router_part
from admin.stack.supervisor import Supervisor
from contracts.kafka_topics import KafkaTopics
from tests.live.conftest import Connecting

pytestmark = [pytest.mark.live, pytest.mark.timeout(900, func_only=True)]


async def test_nothing_is_skipped(
    stack: Stack, connect: Connecting, tmp_path: Path, topic: str, unique: Callable[[str], str]
) -> None:
    prefix = unique("late")
    options = ("--topic-prefix", prefix)
    with topic_administration(stack.kafka) as administration:
        administration.create(KafkaTopics(prefix).shared(publish_partitions=4))
    addresses = [
        MqttAddress(node, LOOPBACK, port) for node, port in zip(("a", "b"), free_ports(2), strict=True)
    ]
    data = DataFolder(tmp_path, lock=-1)
    with Supervisor(data.logs) as supervisor:
        for address in addresses:
            part = gateway_part(address, stack.kafka)
            supervisor.start(replace(part, command=[*part.command, *options]))
        for address in addresses:
            await asyncio.to_thread(
                supervisor.wait_for, address.node, gateway.LISTENING, gateway.SECONDS_TO_START
            )
        publisher, subscriber = await connect(addresses[0]), await connect(addresses[1])
        await subscriber.subscribe(topic, f"{topic}/+", qos=1)
        for number in range(10):
            await publisher.publish(topic, str(number))
            await publisher.publish(f"{topic}/{number}", "any")
        assert subscriber.inbox == []
        supervisor.start(router_part(data, stack.kafka, 4, options))
        came = await subscriber.take(20, router.SECONDS_TO_START)
        assert [int(each.payload) for each in came if each.topic == topic] == list(range(10))
        for peer in (publisher, subscriber):
            peer.client.drop()
