"""Both gateways are killed at once, and what sessions hold is there afterwards: M26, M32 (e), M39 and M49."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import Publish, PubRec, PubRel
from tests.live.conftest import Connecting
from tests.live.device import V5, device
from tests.live.failures.conftest import PARTITIONS
from tests.live.peers import sibling, within
from tests.live.test_properties import PROPERTIES

pytestmark = [pytest.mark.live, pytest.mark.timeout(600, func_only=True)]

FOR_EVER = 0xFFFF_FFFF
STORIES = 4

Restart = Callable[[], Awaitable[object]]
"""Called by a story when it has come so far; returns when both gateways are back."""


class Place:
    """Where the stories happen: clients on the second gateway, publishers on the first."""

    def __init__(self, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str) -> None:
        self.connect, self.gw1, self.gw2, self.topic = connect, gw1, gw2, topic

    def named(self, name: str) -> str:
        """A topic and client id of a story's own."""
        return f"{self.topic}/{name}"

    async def publish(self, topic: str, *payloads: str, qos: int = 1, **fields: object) -> None:
        """Publish as a client that is gone afterwards, for it would not live to tell of the restart."""
        publisher = await self.connect(self.gw1)
        for payload in payloads:
            await publisher.publish(topic, payload, qos, **fields)
        await publisher.client.disconnect()


async def a_session_without_an_end(place: Place, restarted: Restart) -> None:
    """Case M26: an expiry of 0xFFFFFFFF outlives the gateways, with its subscription and its messages."""
    name = place.named("for-ever")
    async with device(place.gw2, name, V5, session_expiry_interval=FOR_EVER) as here:
        await here.subscribe(name, 1)
        await here.leave()
    await place.publish(name, "before")
    await restarted()
    await place.publish(name, "after")
    async with device(place.gw2, name, V5, session_expiry_interval=FOR_EVER) as here:
        assert here.session_present
        assert await here.take(2) == ["before", "after"]


async def flows_under_way(place: Place, restarted: Restart) -> None:
    """Case M32 (e): each goes on from where it was, under its packet identifier."""
    name = place.named("flows")
    async with device(place.gw2, name) as here:
        await here.subscribe(name)
        await place.publish(name, "a")
        await place.publish(name, "b", "c", qos=2)
        a, b, c = [await here.next() for _ in range(3)]
        here.raw.send(PubRec(c.packet_id))
        assert await here.next() == PubRel(c.packet_id)
        await restarted()
    async with device(place.gw2, name) as here:
        assert here.session_present
        assert await here.next() == PubRel(c.packet_id)
        assert [await here.next(), await here.next()] == [
            Publish(name, b"a", 1, dup=True, packet_id=a.packet_id),
            Publish(name, b"b", 2, dup=True, packet_id=b.packet_id),
        ]


async def properties(place: Place, restarted: Restart) -> None:
    """Case M39: all of them are as they were said."""
    name = place.named("properties")
    async with device(place.gw2, name, V5) as here:
        await here.subscribe(name)
        await here.leave()
    await place.publish(name, "all of it", qos=2, properties=PROPERTIES)
    await restarted()
    async with device(place.gw2, name, V5) as here:
        message = await here.next()
        assert (message.payload, message.properties) == (b"all of it", PROPERTIES)


async def an_unsubscribe(place: Place, restarted: Restart) -> None:
    """Case M49: what was unsubscribed stays so; the control is the filter beside it."""
    name = place.named("unsubscribed")
    given_up = f"{name}/given-up"
    kept = sibling(given_up, f"{name}/kept", PARTITIONS)
    async with device(place.gw2, name) as here:
        await here.subscribe(given_up, 1)
        await here.subscribe(kept, 1)
        await here.unsubscribe(given_up)
        await here.leave()
    await restarted()
    await place.publish(given_up, "for nobody")
    await place.publish(kept, "kept")
    async with device(place.gw2, name) as here:
        assert here.session_present
        assert await here.take(1) == ["kept"]
        await place.publish(given_up, "for nobody")
        await place.publish(kept, "kept too")
        assert await here.take(1) == ["kept too"]


async def test_what_sessions_hold(
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """One restart for all the stories."""
    place = Place(connect, gw1, gw2, topic)
    reached, back = asyncio.Barrier(STORIES + 1), asyncio.Barrier(STORIES + 1)

    async def restarted() -> None:
        await reached.wait()
        await back.wait()

    async with asyncio.timeout(300.0), asyncio.TaskGroup() as stories:
        for story in (a_session_without_an_end, flows_under_way, properties, an_unsubscribe):
            stories.create_task(story(place, restarted))
        await within(reached.wait())
        restarts = {part: stack.kill(part) for part in ("gw1", "gw2")}
        for part, number in restarts.items():
            await asyncio.to_thread(stack.wait_restarted, part, number)
        await back.wait()
