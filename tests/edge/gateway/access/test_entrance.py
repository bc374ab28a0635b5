"""Who gets past the entrance, in which order, and what the others are told."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest

from contracts.session_event import APPLICATION, ConnectRequested
from edge.mqtt.packets import Will
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode
from edge.mqtt.states import State
from identity.answers import ClientType, Failure, Rules, Skipped, Success
from tests.edge.gateway.access.house import V3_1_1, V5, Guarded, PlayedProvider, Quick, allowing, turns, until

SUCCESS = Success(ClientType.DEVICE, Rules(), "test")


async def test_the_owner_is_asked_only_for_who_has_proven_who_it_is() -> None:
    provider = PlayedProvider()
    house = Guarded(provider)
    connection = house.connect(user_name="ann", password=b"secret")
    await provider.until_asked(1)
    assert house.said == []
    attempt = provider.asked[0]
    assert (attempt.client_id, attempt.username, attempt.password) == ("id", "ann", b"secret")
    provider.answers[0].set_result(Success(ClientType.APPLICATION, Rules(), "test"))
    await until(lambda: len(house.said) == 1)
    [asked] = house.said
    assert isinstance(asked, ConnectRequested)
    assert asked.client_type == APPLICATION
    house.grant()
    assert house.state(connection) is State.CONNECTED
    assert connection.permissions is None


@pytest.mark.parametrize(
    ("answer", "fields", "codes"),
    [
        (Failure("wrong"), {"user_name": "ann", "password": b"x"}, (0x86, 4)),
        (Skipped("unknown"), {"user_name": "ann", "password": b"x"}, (0x86, 4)),
        (Failure("no certificate"), {}, (0x87, 5)),
        (Failure("the database is away", is_temporary=True), {"user_name": "ann"}, (0x88, 3)),
    ],
)
@pytest.mark.parametrize("version", [V5, V3_1_1])
async def test_what_who_is_turned_away_is_told(
    version: ProtocolVersion, answer: Failure | Skipped, fields: dict[str, Any], codes: tuple[int, int]
) -> None:
    house = Guarded(Quick(lambda _: answer))
    connection = house.connect(version=version, **fields)
    await until(lambda: house.state(connection) is State.CLOSED)
    assert await house.code(connection) == codes[version is V3_1_1]
    assert (house.said, house.counters.unauthorized, house.counters.refused) == ([], 1, 1)


async def test_who_is_gone_is_not_judged_any_more() -> None:
    provider = PlayedProvider()
    house = Guarded(provider)
    connection = house.connect()
    await provider.until_asked(1)
    connection.eof_received()
    async with asyncio.timeout(120):
        await provider.was_cancelled.wait()
    assert house.said == []


async def test_who_is_not_judged_in_time_is_told_so() -> None:
    house = Guarded(PlayedProvider(), timeout=0.01)
    connection = house.connect(version=V3_1_1)
    async with asyncio.timeout(120):
        await house.over[connection].wait()
    assert await house.code(connection) == 3


async def test_a_broken_provider_lets_nobody_in() -> None:
    def broken(_: object) -> Success:
        raise RuntimeError

    house = Guarded(Quick(broken))
    connection = house.connect()
    await until(lambda: house.state(connection) is State.CLOSED)
    assert await house.code(connection) == 0x88


async def test_no_one_takes_over_a_session_before_it_has_proven_who_it_is() -> None:
    provider = PlayedProvider()
    house = Guarded(provider)
    house.connect("victim")
    await provider.until_asked(1)
    provider.answers[0].set_result(SUCCESS)
    await until(lambda: len(house.said) == 1)
    house.grant()
    victim = house.clients.connected("victim")
    thief = house.connect("victim")
    await provider.until_asked(2)
    assert house.clients.connected("victim") is victim
    provider.answers[1].set_result(Failure("wrong"))
    await until(lambda: house.state(thief) is State.CLOSED)
    assert house.clients.connected("victim") is victim


async def test_the_newest_of_one_client_id_wins_whichever_is_judged_first() -> None:
    provider = PlayedProvider()
    house = Guarded(provider)
    first, second = house.connect(), house.connect()
    await provider.until_asked(2)
    provider.answers[1].set_result(SUCCESS)
    await until(lambda: len(house.said) == 1)
    house.grant()
    provider.answers[0].set_result(SUCCESS)
    await until(lambda: house.state(first) is State.CLOSED)
    assert await house.code(first) == ReasonCode.UNSPECIFIED_ERROR  # CONNACK has no word for it
    assert house.state(second) is State.CONNECTED
    assert house.words() == ["ConnectRequested"]


async def test_judged_in_order_the_second_takes_over() -> None:
    provider = PlayedProvider()
    house = Guarded(provider)
    first, second = house.connect(), house.connect()
    await provider.until_asked(2)
    provider.answers[0].set_result(SUCCESS)
    await until(lambda: len(house.said) == 1)
    house.grant()
    provider.answers[1].set_result(SUCCESS)
    await until(lambda: house.state(first) is State.CLOSED)
    house.grant()
    assert house.state(second) is State.CONNECTED


@pytest.mark.parametrize(("version", "code"), [(V5, 0x87), (V3_1_1, 5)])
@pytest.mark.parametrize("delay", [None, 60])
async def test_a_will_is_a_publish(version: ProtocolVersion, code: int, delay: int | None) -> None:
    provider = PlayedProvider()
    house = Guarded(provider)
    success = Success(ClientType.DEVICE, Rules(publish=("mine/.*",)), "test")
    delayed = Properties(will_delay_interval=delay if version is V5 else None)
    for number, (topic, expected) in enumerate((("theirs/a", code), ("mine/a", 0))):
        connection = house.connect(version=version, will=Will(topic, b"", properties=delayed))
        await provider.until_asked(number + 1)
        await turns(3)  # so that nothing of the CONNECT's own turn sends the answer
        provider.answers[number].set_result(success)
        if expected == 0:
            await until(lambda: len(house.said) == 1)
            house.grant()
        assert await house.code(connection) == expected


async def test_a_proof_ends_and_the_connection_with_it() -> None:
    house = Guarded(allowing(expires_at=time.time() + 1.0))
    connection = await house.let_in()
    async with asyncio.timeout(120):
        await house.over[connection].wait()
    assert await house.farewell(connection) == ReasonCode.NOT_AUTHORIZED


async def test_a_proof_that_has_ended_already_is_none() -> None:
    house = Guarded(allowing(expires_at=1.0))
    connection = house.connect()
    await until(lambda: house.state(connection) is State.CLOSED)
    assert await house.code(connection) == 0x87
    assert house.said == []


async def test_a_gateway_that_stops_tells_those_who_wait() -> None:
    provider = PlayedProvider()
    house = Guarded(provider)
    connection = house.connect()
    await provider.until_asked(1)
    await house.access.close()
    assert await house.code(connection) == ReasonCode.SERVER_UNAVAILABLE
    assert provider.was_cancelled.is_set()
    late = house.connect("late")
    assert await house.code(late) == ReasonCode.SERVER_UNAVAILABLE
    assert len(provider.asked) == 1


@pytest.mark.parametrize(("version", "code"), [(V5, 0x88), (V3_1_1, 3)])
async def test_no_more_are_judged_at_a_time_than_may_be(version: ProtocolVersion, code: int) -> None:
    provider = PlayedProvider()
    house = Guarded(provider)
    entrance = house.access._entrance
    entrance._entry = replace(entrance._entry, most_at_a_time=2)
    first, _ = house.connect("a"), house.connect("b")
    await provider.until_asked(2)
    assert await house.code(house.connect("c", version)) == code
    first.eof_received()
    await until(lambda: len(entrance._judging) == 1)
    house.connect("c", version)
    await provider.until_asked(3)
    await house.access.close()


async def test_a_client_without_an_id_is_judged_by_the_one_it_gets() -> None:
    provider = PlayedProvider()
    house = Guarded(provider)
    connection = house.connect("")
    await provider.until_asked(1)
    attempt = provider.asked[0]
    assert attempt.is_id_assigned
    provider.answers[0].set_result(SUCCESS)
    await until(lambda: len(house.said) == 1)
    assert connection.client_id == attempt.client_id != ""
