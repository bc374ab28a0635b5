"""One client id, one connection, wherever it is made: M27 and M29."""

from __future__ import annotations

import re
from contextlib import AsyncExitStack

import pytest

from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import Publish
from edge.mqtt.properties import Properties
from tests.live.conftest import Connecting
from tests.live.device import V3_1_1, V5, Device, device, numbered, publish_all
from tests.live.peers import sibling
from tests.live.raw import raw_connection

pytestmark = pytest.mark.live

ROUNDS = 20
FAREWELL = {V3_1_1: "", V5: "e0..8e.*"}
"""What who is taken over is told: DISCONNECT with Session taken over, where there is such a word."""


def check_farewell(came: bytes, version: int) -> None:
    """All that came, up to the end of the connection, is the farewell."""
    assert re.fullmatch(FAREWELL[version], came.hex()), came.hex()


@pytest.mark.parametrize(("version", "expiry"), [(V3_1_1, None), (V5, 0), (V5, None)])
async def test_a_session_that_dies_with_its_connection_is_not_handed_over(
    connect: Connecting,
    gw1: MqttAddress,
    gw2: MqttAddress,
    topic: str,
    client_id: str,
    version: int,
    expiry: int | None,
) -> None:
    """Case M27: the second connection finds no session, and gets no message of the first one's subscription."""
    publisher = await connect(gw1)
    fence = sibling(topic, f"{topic}/fence")
    lived = Properties(session_expiry_interval=expiry)
    for number in range(ROUNDS):
        elsewhere = (gw1, gw2)[number % 2]
        async with raw_connection(gw1, version, client_id, clean_start=True, properties=lived) as raw:
            first = Device(raw)
            await first.subscribe(topic, 1)
            if number == 0:  # the control: while it lasts, the subscription is served
                await publisher.publish(topic, "served")
                assert await first.take(1) == ["served"]
            async with device(elsewhere, client_id, version) as second:
                assert not second.session_present
                await second.subscribe(fence, 1)
                await publish_all(publisher, topic, ["stray"])
                await publish_all(publisher, fence, ["fence"])
                assert await second.take(1) == ["fence"]
                check_farewell(await raw.until_end(), version)
                await second.leave()


@pytest.mark.parametrize("version", [V3_1_1, V5])
async def test_one_client_id_on_two_gateways(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, client_id: str, version: int
) -> None:
    """Case M29: the session goes on at the second gateway alone; the first connection is ended, and heard no more."""
    watcher, publisher = await connect(gw1), await connect(gw1)
    published = f"{topic}/stale"
    fence = sibling(published, f"{topic}/fence")
    await watcher.subscribe(published, fence, qos=1)
    async with device(gw1, client_id, version) as stale:
        await stale.subscribe(topic, 1)
        stale.raw.send(Publish(published, b"while it lasts"))
        assert await watcher.payloads() == ["while it lasts"]
        async with device(gw2, client_id, version) as fresh:
            assert fresh.session_present
            stale.raw.send(Publish(published, b"stale", 1, packet_id=7))
            await publish_all(publisher, topic, numbered("m", 10))
            assert await fresh.take(10) == numbered("m", 10)
            check_farewell(await stale.raw.until_end(), version)
            await publisher.publish(fence, "fence")
            assert await watcher.payloads() == ["fence"]
            assert await fresh.raw.until_pong() == b""


@pytest.mark.parametrize("version", [V3_1_1, V5])
async def test_alternations(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, client_id: str, version: int
) -> None:
    """Case M29: twenty times there and back leave one connection, the last, which has the session."""
    publisher = await connect(gw1)
    async with AsyncExitStack() as connections:
        last = await connections.enter_async_context(device(gw1, client_id, version))
        await last.subscribe(topic, 1)
        for number in range(1, ROUNDS + 1):
            before = last
            last = await connections.enter_async_context(device((gw1, gw2)[number % 2], client_id, version))
            assert last.session_present
            check_farewell(await before.raw.until_end(), version)
        await publisher.publish(topic, "for the last")
        assert await last.take(1) == ["for the last"]
