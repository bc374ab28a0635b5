"""A client whose session outlives its connections, packet by packet."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import (
    PubAck,
    PubComp,
    Publish,
    PubRec,
    PubRel,
    SubAck,
    Subscribe,
    Subscription,
    UnsubAck,
    Unsubscribe,
)
from edge.mqtt.properties import Properties
from tests.edge.mqtt.test_reading import read_all
from tests.live.raw import Raw, raw_connection

V3_1_1, V5 = 4, 5


class Device:
    """A client at the level of packets, which acknowledges what and when a test wants it to."""

    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self.session_present = bool(raw.connack[2] & 1)
        """Whether the gateway said that it goes on with a session."""

    async def next(self) -> Any:
        """The next packet."""
        frame = await self.raw.packet()
        assert frame, "the gateway ended the connection"
        [packet] = read_all([frame], self.raw.version)
        return packet

    async def subscribe(self, filter: str, qos: int = 2) -> None:
        """Subscribe, and check that it was granted."""
        self.raw.send(Subscribe(1, (Subscription(filter, qos),)))
        assert await self.next() == SubAck(1, (qos,))

    async def unsubscribe(self, filter: str) -> None:
        """Unsubscribe from what is subscribed to."""
        self.raw.send(Unsubscribe(2, (filter,)))
        answer = await self.next()
        assert isinstance(answer, UnsubAck)
        assert answer.reason_codes in ((), (0,))

    async def take(self, count: int) -> list[str]:
        """So many messages, each acknowledged to the end."""
        payloads: list[str] = []
        unfinished = 0
        while len(payloads) < count or unfinished:
            packet = await self.next()
            if isinstance(packet, Publish):
                payloads.append(packet.payload.decode())
                unfinished += packet.qos == 2
                if packet.qos:
                    self.raw.send((PubAck if packet.qos == 1 else PubRec)(packet.packet_id))
            else:
                assert isinstance(packet, PubRel)
                unfinished -= 1
                self.raw.send(PubComp(packet.packet_id))
        return payloads

    async def leave(self) -> None:
        """Say goodbye, and wait until the gateway has heard it."""
        self.raw.send("E000")
        await self.raw.until_end()


@asynccontextmanager
async def device(
    address: MqttAddress, client_id: str, version: int = V3_1_1, clean_start: bool = False, **properties: Any
) -> AsyncIterator[Device]:
    """Connect, with a session that outlives the connection.

    Args:
        address: The gateway.
        client_id: The session's.
        version: 4 or 5.
        clean_start: Whether to end the session that is there first.
        properties: Of the CONNECT, in MQTT 5.
    """
    if version == V5:
        properties = {"session_expiry_interval": 3600, **properties}
    asked = Properties(**properties)
    async with raw_connection(address, version, client_id, clean_start=clean_start, properties=asked) as raw:
        yield Device(raw)


async def publish_all(publisher: Any, topic: str, payloads: list[str], qos: int = 1) -> None:
    """Publish one after the other, each acknowledged."""
    for payload in payloads:
        await publisher.publish(topic, payload, qos)


def numbered(name: str, count: int) -> list[str]:
    """So many payloads."""
    return [f"{name} {number}" for number in range(count)]
