"""Rates of clients: what each is sent, and when, and what it may publish, connection after connection."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from edge.gateway.config import GatewayConfig
from edge.gateway.connection import Connection
from edge.gateway.limits.client_rates import ClientRates, open_rates
from edge.gateway.limits.rate import take
from edge.mqtt.message import OutgoingMessage
from edge.mqtt.packets import Publish
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from tests.edge.gateway.sessions.test_clients import House
from tests.edge.mqtt.test_reading import read_all

V3_1_1, V5 = ProtocolVersion.V3_1_1, ProtocolVersion.V5
both_versions = pytest.mark.parametrize("version", [V3_1_1, V5])


class Limited(House):
    """A gateway's clients, held to rates, on a clock that the test moves."""

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.now = 1_000.0
        asyncio.get_running_loop().time = lambda: self.now  # type: ignore[method-assign]
        self.woken: list[Connection] = []
        rates = open_rates(GatewayConfig(node="gw1", kafka="none", **settings), self.woken.append)
        assert rates is not None
        self.rates: ClientRates = rates

    def accepted(self, connection: Connection) -> None:
        self.rates.accepted(connection)

    def resume(self, connection: Connection, *rest: Any) -> None:
        connection.is_kept = connection.seat is not None and connection.seat.is_persistent
        super().resume(connection, *rest)

    def ended(self, connection: Connection, event: Any) -> None:
        self.rates.ended(connection)
        super().ended(connection, event)

    def delivery_completed(self, *_: Any) -> None: ...

    async def pass_time(self, seconds: float) -> None:
        """Whatever is due is done."""
        self.now += seconds
        for _ in range(5):
            await asyncio.sleep(0)


def send(connection: Connection, *numbers: int, qos: int = 1) -> None:
    for number in numbers:
        connection.core.deliver(OutgoingMessage("t", b"%d" % number), qos)


def got(connection: Connection) -> list[int]:
    packets = read_all(connection.core.data_to_send(), connection.core.version)
    return [int(packet.payload) for packet in packets if isinstance(packet, Publish)]


def outgoing(config: str) -> dict[str, Any]:
    return {"outgoing_rate_enabled": True, "outgoing_rate_config": config}


@both_versions
async def test_what_is_owed_waits_and_comes_in_order(version: ProtocolVersion) -> None:
    house = Limited(**outgoing("2:10"))
    client = house.connected(version=version)
    asked: list[None] = []
    client.wants_more = lambda: asked.append(None)
    send(client, *range(4))
    assert got(client) == [0, 1]
    await house.pass_time(4.9)
    assert got(client) == []
    await house.pass_time(0.2)
    assert (got(client), len(asked), house.woken) == ([2], 1, [client])
    await house.pass_time(60)
    assert got(client) == [3]
    send(client, *range(4, 7))
    assert got(client) == [4]  # the fourth went but a moment ago


@both_versions
async def test_what_is_not_is_dropped(version: ProtocolVersion) -> None:
    house = Limited(**outgoing("2:10"))
    client = house.connected(version=version)
    assert client.outflow is not None
    assert [client.outflow.take() for _ in range(3)] == [True, True, False]
    send(client, 0)  # both count alike
    assert got(client) == []
    await house.pass_time(5.1)
    assert got(client) == [0]
    assert not client.outflow.take()


async def test_whose_connection_ends_is_not_waited_for() -> None:
    house = Limited(**outgoing("1:10"))
    client = house.connected()
    send(client, 0, 1)
    assert got(client) == [0]
    client.eof_received()
    await house.pass_time(60)
    assert house.woken == []


async def test_a_new_connection_has_what_the_one_before_left() -> None:
    """Else who is disconnected for its rate would only have to come back."""
    house = Limited(**outgoing("1:10"), incoming_rate_enabled=True, incoming_rate_config="1:10")
    for number in range(3):
        client = house.connected(clean_start=True)
        may_publish, may_get = (
            take(client.incoming, house.now),
            client.outflow is not None and client.outflow.take(),
        )
        assert (may_publish, may_get) == (not number, not number)
        client.eof_received()
        await house.pass_time(1)
    other = house.connected(client_id="other")
    assert take(other.incoming, house.now)
    await house.pass_time(60)
    assert take(house.connected().incoming, house.now)


async def test_a_persistent_device_has_a_rate_of_its_own_for_what_is_kept_for_it() -> None:
    house = Limited(stored_rate_enabled=True, stored_rate_config="1:10")
    passing = house.connected(clean_start=True)
    assert (passing.outflow, passing.incoming) == (None, ())
    device = house.connected(client_id="device", properties=Properties(session_expiry_interval=60))
    assert device.outflow is not None
    assert all(device.outflow.take() for _ in range(10))  # QoS 0 is not kept
    assert device.core.can_deliver_as(1)
    device.core.deliver_as(1, OutgoingMessage("t", b"1"), 1)
    assert not device.core.can_deliver_as(2)
    await house.pass_time(10.1)
    assert house.woken == [device]
    assert device.core.can_deliver_as(2)
    application = house.connected(client_id="app", properties=Properties(session_expiry_interval=60))
    assert application.seat is not None
    application.seat.client_type = "APPLICATION"
    application.outflow = None
    house.rates.accepted(application)
    assert application.outflow is None


async def test_in_total_both_directions_count_and_what_is_owed_waits_for_nobody() -> None:
    house = Limited(total_rate_enabled=True, total_rate_config="4:8")
    one, other = house.connected(), house.connected(client_id="other")
    assert take(one.incoming, house.now)
    assert other.outflow is not None
    assert other.outflow.take()
    send(other, *range(4))
    assert got(other) == [0, 1, 2, 3]
    assert not take(one.incoming, house.now)
    await house.pass_time(4)  # two come back, and six are owed of four
    assert not take(one.incoming, house.now)
    assert not other.outflow.take()
    await house.pass_time(2.1)
    assert other.outflow.take()
    assert not take(one.incoming, house.now)


async def test_nothing_limited_is_nothing_made() -> None:
    assert open_rates(GatewayConfig(node="gw1", kafka="none"), lambda _: None) is None
