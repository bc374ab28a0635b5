"""I10: a client that does not read, and connections that send junk, cost bounded memory and nobody else anything."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Callable

import pytest

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import Subscribe, Subscription, Unsubscribe
from tests.live.conftest import Connecting
from tests.live.device import device
from tests.live.peers import Peer, within
from tests.live.raw import Raw, raw_connection

pytestmark = pytest.mark.live

MESSAGES = 20_000
WINDOW = 500
AWAY = 100
"""Sessions; a copy for each of them of each of the"""
AWAY_MESSAGES = 5_000
"""would be 512 MB."""
PAYLOAD = bytes(1 << 10)


async def slow_subscriber(address: MqttAddress, raw: Raw) -> None:
    """Subscribe to everything at QoS 0 with a small receive buffer, and read no more."""
    sock = raw.writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 << 10)
    raw.send(Subscribe(1, (Subscription("#", 0),)))
    assert (await raw.packet())[0] == 0x90, address
    raw.writer.transport.pause_reading()  # type: ignore[attr-defined]


async def publish_and_take(publisher: Peer, healthy: Peer, topic: str) -> None:
    """All messages at QoS 1, a window of them at a time, each of which the healthy subscriber gets in order."""
    for begin in range(0, MESSAGES, WINDOW):
        numbers = range(begin, begin + WINDOW)
        acknowledged = [publisher.client.publish(topic, b"%08d" % number + PAYLOAD, 1) for number in numbers]
        await within(asyncio.gather(*acknowledged))
        assert [int(message.payload[:8]) for message in await healthy.take(WINDOW)] == list(numbers)


@pytest.mark.timeout(240, func_only=True)
async def test_slow_consumer(
    connect: Connecting, stack_rss: Callable[[str], int], gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """M50: S gets what it can take; its UNSUBSCRIBE and PINGREQ are answered; the healthy one loses nothing."""
    healthy, publisher = await connect(gw2), await connect(gw1)
    await healthy.subscribe(topic, qos=1)
    async with raw_connection(gw2, 5, keep_alive=600) as slow:
        await slow_subscriber(gw2, slow)
        before = stack_rss("gw2")
        await publish_and_take(publisher, healthy, topic)
        assert stack_rss("gw2") - before < 64 << 20
        slow.send(Unsubscribe(2, ("#",)))
        slow.send("C000")
        slow.writer.transport.resume_reading()  # type: ignore[attr-defined]
        wanted, delivered = {0xB0, 0xD0}, 0
        while wanted:
            packet = await slow.packet()
            assert packet, f"the gateway ended the connection; still wanted {wanted}"
            delivered += packet[0] >> 4 == 3
            wanted.discard(packet[0])
        assert delivered < MESSAGES


@pytest.mark.timeout(240, func_only=True)
async def test_qos_0_for_sessions_that_are_away(
    connect: Connecting, stack_rss: Callable[[str], int], gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """Case M50: nothing is kept of QoS 0, neither of the message nor of the subscription, for those who are away."""
    publisher, watcher = await connect(gw1), await connect(gw2)
    await watcher.subscribe(topic, qos=1)

    async def subscribe_and_leave(number: int) -> None:
        async with device(gw2, f"{topic}-away-{number}") as here:
            await here.subscribe(topic, number % 2)
            await here.leave()

    for begin in range(0, AWAY, 20):
        await within(asyncio.gather(*map(subscribe_and_leave, range(begin, begin + 20))))
    before = stack_rss("gw1") + stack_rss("gw2")
    for _ in range(AWAY_MESSAGES // WINDOW):
        for _ in range(WINDOW):
            publisher.client.publish(topic, PAYLOAD, 0)
        await within(publisher.client.ping())
    await publisher.publish(topic, "kept", 1)
    while (await watcher.take())[0].payload != b"kept":  # all before it has been at this gateway by then
        pass
    for number in range(10):
        async with device(gw2, f"{topic}-away-{number}") as here:
            assert here.session_present
            if number % 2:
                assert await here.take(1) == ["kept"]
            else:
                assert await here.raw.until_pong() == b""
    assert stack_rss("gw1") + stack_rss("gw2") - before < 64 << 20


async def junk(address: MqttAddress, seed: int) -> None:
    """Random bytes on a new connection, half of them behind a valid CONNECT, until the gateway has had enough."""
    noise = random.Random(seed)
    try:
        async with raw_connection(address, noise.choice((None, None, 4, 5))) as raw:
            for _ in range(20):
                raw.send(noise.randbytes(noise.randint(1, 2_000)))
                await raw.writer.drain()
            raw.writer.write_eof()
            await raw.until_end()
    except OSError:
        pass  # it was reset: the gateway closed with bytes unread


async def test_junk(
    stack: Stack,
    connect: Connecting,
    stack_rss: Callable[[str], int],
    gw1: MqttAddress,
    gw2: MqttAddress,
    topic: str,
) -> None:
    """500 connections, all to the gateway of the healthy client; how fast it is served, `make bench` tells (junk)."""
    healthy, elsewhere = await connect(gw1), await connect(gw2)
    await healthy.subscribe(topic, qos=1)
    pids = [stack.pid(part) for part in ("gw1", "gw2")]
    before = stack_rss("gw1")
    noise = [asyncio.create_task(junk(gw1, seed)) for seed in range(500)]
    for number in range(100):
        await healthy.publish(topic, str(number))
        await within(healthy.client.ping(), 10.0)
    assert await healthy.payloads(100) == list(map(str, range(100)))
    await within(asyncio.gather(*noise))  # the gateway has ended all of them
    assert stack_rss("gw1") - before < 64 << 20
    assert [stack.pid(part) for part in ("gw1", "gw2")] == pids
    await elsewhere.publish(topic, "still there")
    assert await healthy.payloads() == ["still there"]


async def test_silence_is_ended(gw1: MqttAddress) -> None:
    """A connection without a CONNECT is closed in reasonable time (section 3.1.4), ten seconds here."""
    async with raw_connection(gw1) as silent, raw_connection(gw1) as half:
        half.send("10")
        assert [await end for end in (silent.until_end(), half.until_end())] == [b"", b""]
