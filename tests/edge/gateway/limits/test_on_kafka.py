"""Limits on two gateways and one Kafka: whoever decides, all sessions count; and what clients see of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import pytest

from admin.demo.client import ConnectionLostError
from admin.stack.gateway import MqttAddress
from edge.mqtt.protocol import ProtocolVersion
from tests.edge.gateway.sessions.test_cluster import join, present

if TYPE_CHECKING:
    from tests.edge.gateway.conftest import Starting

pytestmark = pytest.mark.live

V3_1_1, V5 = ProtocolVersion.V3_1_1, ProtocolVersion.V5
_PATIENCE = 90  # seconds for what takes some ten milliseconds


async def refusal(address: MqttAddress, client_id: str, expiry: int = 300, **fields: Any) -> str:
    """Why a client is not let in; empty when it is, and stays."""
    try:
        await join(address, client_id, expiry, **fields)
    except ConnectionLostError as error:
        return str(error)
    return ""


async def refused(where: Sequence[MqttAddress], name: Callable[[], str]) -> str:
    """Connect new clients, by turns here and there, until one is turned away: what was just granted may come on top."""
    async with asyncio.timeout(_PATIENCE):
        for address in cycle(where):
            if told := await refusal(address, name()):
                return told
    return ""


async def end(address: MqttAddress, client_id: str) -> None:
    """End a client's session."""
    client = await join(address, client_id, 0, clean_start=True)
    await client.disconnect()


@pytest.mark.mqtt(v3="3.2.2-4 3.2.2-5", v5="3.2.2-7")
async def test_quotas_are_the_clusters(start: Starting, unique: Callable[[str], str]) -> None:
    quotas: dict[str, Any] = {"sessions_limit": 6, "applications_limit": 1, "application_clients": "app.*"}
    (_, one), (_, other) = await asyncio.gather(start("gw1", **quotas), start("gw2", **quotas))
    where = (one, other)
    application = await join(one, unique("app"), 300)
    devices = [await join(where[number % 2], unique(f"q{number}"), 300) for number in range(4)]
    assert "0x97" in await refused((other, one), lambda: unique("app"))
    assert "0x97" in await refused(where, lambda: unique("more"))
    assert "0x88" in await refusal(one, unique("more"), version=V3_1_1)  # return code 3

    name = devices[0]._name
    devices[0].drop()
    await devices[0].ended
    returned = await join(other, name, 300)
    assert present(returned)  # who has a session may always come back
    assert "0x97" in await refusal(other, unique("more"))

    for device in devices:
        await end(one, device._name)
    async with asyncio.timeout(_PATIENCE):
        while await refusal(other, unique("late")):  # until the ends have been seen there
            await application.ping()


@pytest.mark.mqtt(v3="3.3.5-2")
async def test_what_is_published_above_the_rate(start: Starting, unique: Callable[[str], str]) -> None:
    rate = {"incoming_rate_enabled": True, "incoming_rate_config": "3:3600"}
    _, address = await start("gw1", **rate)
    client = await join(address, unique("v5"), clean_start=True)
    reasons = [await client.publish("t", qos=1 + number % 2) for number in range(5)]
    assert [reason in (0, 0x10) for reason in reasons] == [True, True, True, False, False]
    assert reasons[3:] == [0x97, 0x97]
    client.publish("t")
    await client.ping()  # it stays
    older = await join(address, unique("v3"), version=V3_1_1, clean_start=True)
    for _ in range(3):
        await older.publish("t", qos=1)
    with pytest.raises(ConnectionLostError):
        await older.publish("t", qos=1)
    again = await join(address, older._name, version=V3_1_1, clean_start=True)
    with pytest.raises(ConnectionLostError):
        await again.publish("t", qos=1)  # it gains nothing by coming back
