"""MQTT clients for the live tests: the demo's client, with an inbox that a test can wait on."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from kafka.partitioner.default import murmur2

from admin.demo.client import Client
from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import Connect, Publish, Subscription
from edge.mqtt.properties import NO_PROPERTIES, Properties
from edge.mqtt.protocol import ProtocolVersion

V3_1, V3_1_1, V5 = ProtocolVersion.V3_1, ProtocolVersion.V3_1_1, ProtocolVersion.V5
PATIENCE = 60.0
"""Seconds for what must come; a bound for failures only, so generous."""

T = TypeVar("T")
_numbers = itertools.count(1)


class Peer:
    """A connected client and what it has received."""

    def __init__(self) -> None:
        self.inbox: list[Publish] = []
        self.client_id = ""
        self._client: Client | None = None
        self._came = asyncio.Event()

    @classmethod
    async def connect(
        cls, address: MqttAddress, version: ProtocolVersion = V5, client_id: str | None = None, **fields: Any
    ) -> Peer:
        """Connect; `fields` are those of `edge.mqtt.packets.Connect`."""
        peer = cls()
        peer.client_id = f"p{os.getpid()}-{next(_numbers)}" if client_id is None else client_id
        packet = Connect(peer.client_id, version, **fields)
        peer._client = await Client.connect(address.host, address.port, packet, peer._take)
        return peer

    @property
    def client(self) -> Client:
        """The client itself."""
        assert self._client is not None
        return self._client

    async def subscribe(
        self, *filters: str, qos: int = 2, identifier: int | None = None, **options: Any
    ) -> None:
        """Subscribe, all filters with the same options, and check that it was granted."""
        properties = (
            NO_PROPERTIES if identifier is None else Properties(subscription_identifiers=(identifier,))
        )
        wanted = [Subscription(filter, qos, **options) for filter in filters]
        granted = await within(self.client.subscribe(*wanted, properties=properties))
        assert granted == (qos,) * len(filters)

    async def unsubscribe(self, *filters: str) -> tuple[int, ...]:
        """Unsubscribe; returns the reason codes."""
        return await within(self.client.unsubscribe(*filters))

    async def publish(self, topic: str, payload: bytes | str = b"", qos: int = 1, **fields: Any) -> int:
        """Publish, and wait for the acknowledgement's reason code."""
        content = payload.encode() if isinstance(payload, str) else payload
        return await within(self.client.publish(topic, content, qos, **fields))

    async def take(self, count: int = 1, seconds: float = PATIENCE) -> list[Publish]:
        """Wait for so many messages, and take them out of the inbox."""
        try:
            async with asyncio.timeout(seconds):
                while len(self.inbox) < count:
                    self._came.clear()
                    await self._came.wait()
        except TimeoutError:
            raise AssertionError(f"{len(self.inbox)} of {count} messages came in {seconds:g} s") from None
        taken, self.inbox = self.inbox[:count], self.inbox[count:]
        return taken

    async def came(self) -> None:
        """Wait for the next message that comes; it stays in the inbox."""
        self._came.clear()
        await self._came.wait()

    async def payloads(self, count: int = 1, seconds: float = PATIENCE) -> list[str]:
        """The payloads of the next so many messages."""
        return [message.payload.decode() for message in await self.take(count, seconds)]

    async def payloads_until(self, last: str, seconds: float = PATIENCE) -> list[str]:
        """The payloads of all messages up to one, which is not among them."""
        came: list[str] = []
        async with asyncio.timeout(seconds):
            while not came or came[-1] != last:
                came += await self.payloads(1, seconds)
        return came[:-1]

    def _take(self, message: Publish) -> None:
        self.inbox.append(message)
        self._came.set()


async def within(awaitable: Awaitable[T], seconds: float = PATIENCE) -> T:
    """Wait for something that must come."""
    async with asyncio.timeout(seconds):
        return await awaitable


async def eventually(holds: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
    """Wait until something outside this process holds, which nothing tells of."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not holds():
        assert asyncio.get_running_loop().time() < deadline, f"not within {seconds:g} s: {what}"
        await asyncio.sleep(0.02)


def check_all_since(came: list[int], since: int, end: int) -> None:
    """Every number from `since` to before `end` came, in order, once.

    Older ones may come before them: what is under way, or repeated by a new life of the router, reaches whoever holds
    its filter by then. They are in order and come once as well.
    """
    assert came == sorted(set(came))
    assert [number for number in came if number >= since] == list(range(since, end))


def sibling(topic: str, prefix: str, partitions: int = 4) -> str:
    """A topic that begins with `prefix` and stands in the same partition of `tbmq.msg.all`.

    What is published there after something on `topic` is delivered after it; so it can prove that nothing came before.
    """

    def partition(name: str) -> int:
        return int(murmur2(name.encode()) & 0x7FFF_FFFF) % partitions

    return next(
        name
        for name in (f"{prefix}{number}" for number in itertools.count())
        if partition(name) == partition(topic)
    )
