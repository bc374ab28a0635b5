"""Case M26: a session lasts as long as its client asked for, whatever ends its connection."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import ConnAck
from tests.edge.mqtt.test_reading import read_all
from tests.live.conftest import Connecting
from tests.live.device import V5, Device, device
from tests.live.raw import let_time_pass

pytestmark = pytest.mark.live

FOR_EVER = 0xFFFF_FFFF
FIN, CUT, GOODBYE = "FIN", "cut", "DISCONNECT"


async def end(here: Device, how: str) -> None:
    """End the connection, and wait until the gateway has noticed, unless nothing could show it."""
    if how == GOODBYE:
        await here.leave()
    elif how == FIN:
        here.raw.writer.write_eof()
        await here.raw.until_end()
    else:
        here.raw.cut()


@pytest.mark.parametrize("how", [GOODBYE, FIN, CUT])
async def test_time_runs_from_the_end_of_the_connection(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, client_id: str, how: str
) -> None:
    """Longer than its expiry while connected: it is there. As long after its end: neither it nor a message."""
    publisher = await connect(gw1)
    async with device(gw1, client_id, V5, session_expiry_interval=1) as here:
        await here.subscribe(topic, 1)
        await let_time_pass(gw1)
        await end(here, how)
    async with device(gw2, client_id, V5, session_expiry_interval=1) as here:
        assert here.session_present
        await publisher.publish(topic, "in time")
        assert await here.take(1) == ["in time"]
        await end(here, how)
    await let_time_pass(gw1)
    await publisher.publish(topic, "for nobody")
    async with device(gw1, client_id, V5) as here:
        assert not here.session_present
        await here.subscribe(topic, 1)
        await publisher.publish(topic, "again")
        assert await here.take(1) == ["again"]


@pytest.mark.parametrize("how", [GOODBYE, FIN, CUT])
@pytest.mark.parametrize("expiry", [0, FOR_EVER])
async def test_the_last_connect_decides(
    gw1: MqttAddress, gw2: MqttAddress, client_id: str, expiry: int, how: str
) -> None:
    """A session that is gone on with takes the new connection's expiry: it ends with it, or stays."""
    async with device(gw1, client_id, V5, session_expiry_interval=1) as here:
        await end(here, how)
    async with device(gw2, client_id, V5, session_expiry_interval=expiry) as here:
        assert here.session_present
        await end(here, how)
    await let_time_pass(gw1)
    async with device(gw1, client_id, V5, session_expiry_interval=0) as here:
        assert here.session_present == (expiry == FOR_EVER)


@pytest.mark.parametrize("expiry", [0, 1, 3600, FOR_EVER])
async def test_the_connack_says_nothing_else(gw1: MqttAddress, client_id: str, expiry: int) -> None:
    """A gateway that keeps sessions grants what was asked for, up to a week, else need not say so [MQTT-3.2.2-21]."""
    async with device(gw1, client_id, V5, session_expiry_interval=expiry) as here:
        [connack] = read_all([here.raw.connack], here.raw.version)
        assert isinstance(connack, ConnAck)
        told = connack.properties.session_expiry_interval
        assert told in (None, expiry) if expiry < 604_800 else told == 604_800
        here.raw.send("E0 07 00 05 11 00000000")


@pytest.mark.mqtt(v5="4.4.0-1")
@pytest.mark.parametrize("name", ["device", "app"])
async def test_what_was_kept_is_given_to_who_lets_the_session_end(
    connect: Connecting,
    gw1: MqttAddress,
    gw2: MqttAddress,
    topic: str,
    unique: Callable[[str], str],
    name: str,
) -> None:
    """It comes back without an expiry: it gets what waited, and what comes; then nothing is left of the session."""
    publisher, client_id = await connect(gw1), unique(name)
    async with device(gw1, client_id, V5) as here:
        await here.subscribe(topic, 2)
        await here.leave()
    for qos in (1, 2):
        await publisher.publish(topic, f"kept {qos}", qos)
    async with device(gw2, client_id, V5, session_expiry_interval=None) as here:
        assert here.session_present
        assert await here.take(2) == ["kept 1", "kept 2"]
        await publisher.publish(topic, "live", 2)
        assert await here.take(1) == ["live"]
        await here.subscribe(f"{topic}/more", 1)
        await publisher.publish(f"{topic}/more", "more", 1)
        assert await here.take(1) == ["more"]
        await publisher.publish(topic, "never acknowledged", 1)
        assert (await here.next()).payload == b"never acknowledged"
        await here.leave()
    async with device(gw1, client_id, V5) as here:
        assert not here.session_present
        await here.subscribe(f"{topic}/again", 1)
        await publisher.publish(topic, "for nobody", 1)
        await publisher.publish(f"{topic}/again", "again", 1)
        assert await here.take(1) == ["again"]
