"""Persistent sessions while parts die: nothing acknowledged is lost, QoS 2 comes exactly once, in order (I5, I6)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from tests.live.conftest import Connecting
from tests.live.peers import Peer

pytestmark = [pytest.mark.live, pytest.mark.timeout(600, func_only=True)]

PATIENCE = 120.0
MESSAGES = 400


class Subscriber:
    """paho with a session of its own: what it has not finished outlives its connections, as MQTT wants it."""

    def __init__(self, client_id: str, addresses: list[MqttAddress]) -> None:
        self.payloads: list[str] = []
        self._addresses = addresses
        self._changed = threading.Condition()
        self._is_subscribed = threading.Event()
        self._attempts = 0
        self._client = paho.Client(CallbackAPIVersion.VERSION2, client_id, clean_session=False)
        self._client.on_message = self._take
        self._client.on_disconnect = self._connect_elsewhere
        self._client.on_connect_fail = lambda *_: self._connect_elsewhere()
        self._client.on_subscribe = lambda *_: self._is_subscribed.set()
        self._client.reconnect_delay_set(1, 1)

    def start(self, topic: str) -> None:
        address = self._addresses[0]
        self._client.connect(address.host, address.port)
        self._client.loop_start()
        self._client.subscribe(topic, 2)
        assert self._is_subscribed.wait(PATIENCE)

    def stop(self) -> None:
        self._client.on_disconnect = None
        self._client.disconnect()
        self._client.loop_stop()

    def wait(self, last: str, count: int = 0) -> None:
        """Wait until so many messages have come, and this one among them: at QoS 1 some may come again."""
        with self._changed:
            came = self._changed.wait_for(
                lambda: len(self.payloads) >= count and last in self.payloads, PATIENCE
            )
        assert came, f"{len(self.payloads)} of {count} came"

    def _take(self, _client: paho.Client, _userdata: Any, message: paho.MQTTMessage) -> None:
        with self._changed:
            self.payloads.append(message.payload.decode())
            self._changed.notify()

    def _connect_elsewhere(self, *_: Any) -> None:
        self._attempts += 1
        address = self._addresses[self._attempts % len(self._addresses)]
        self._client.connect_async(address.host, address.port)  # its loop connects again, there


@contextmanager
def subscriber(stack: Stack, client_id: str, topic: str) -> Iterator[Subscriber]:
    found = Subscriber(client_id, [stack.mqtt[1], stack.mqtt[0]])
    found.start(topic)
    try:
        yield found
    finally:
        found.stop()


async def publish_to(publisher: Peer, topic: str, numbers: range, qos: int) -> None:
    """Numbered messages, each acknowledged before the next."""
    for number in numbers:
        await publisher.publish(topic, str(number), qos)


@pytest.mark.parametrize("part", ["gw2", "router", "sink", "valkey", "kafka"])
async def test_a_part_is_killed_in_the_middle(
    stack: Stack, connect: Connecting, gw1: MqttAddress, topic: str, unique: Callable[[str], str], part: str
) -> None:
    """Sessions of DEVICEs and of APPLICATIONs, at either QoS, each with a publisher of its own."""
    flows = {f"{topic}/{client}/{qos}": (client, qos) for client in ("persistent", "app") for qos in (1, 2)}
    publishers = {name: await connect(gw1) for name in flows}

    async def publish(numbers: range) -> None:
        await asyncio.gather(
            *(publish_to(publishers[name], name, numbers, qos) for name, (_, qos) in flows.items())
        )

    with ExitStack() as at_end:
        there = {
            name: at_end.enter_context(subscriber(stack, unique(client), name))
            for name, (client, _) in flows.items()
        }
        await publish(range(MESSAGES // 2))
        restarts = stack.kill(part)
        await publish(range(MESSAGES // 2, MESSAGES))
        await asyncio.to_thread(stack.wait_restarted, part, restarts)
        await publish(range(MESSAGES, MESSAGES + 1))
        expected = [str(number) for number in range(MESSAGES + 1)]
        for name, (_, qos) in flows.items():
            await asyncio.to_thread(there[name].wait, expected[-1], len(expected))
            if qos == 2:
                assert there[name].payloads == expected, name
            else:
                assert list(dict.fromkeys(there[name].payloads)) == expected, name
