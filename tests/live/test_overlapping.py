"""Filters of one client that overlap: one copy by all of them, live and kept, across gateways: M14, M15, M16, M53."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import pytest

from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import PubAck, PubComp, Publish, PubRec, SubAck, Subscribe, Subscription
from edge.mqtt.properties import Properties
from tests.live.conftest import Connecting
from tests.live.device import Device, device
from tests.live.peers import V3_1_1, V5, Peer

pytestmark = pytest.mark.live

Got = tuple[str, int, tuple[int, ...]]
"""Payload, QoS, identifiers."""


def shown(message: Publish) -> Got:
    identifiers = tuple(sorted(message.properties.subscription_identifiers))
    return message.payload.decode(), message.qos, identifiers


def filters_of(topic: str) -> tuple[str, str, str]:
    """Three filters that match a topic of two levels."""
    first = topic.split("/")[0]
    return topic, f"{first}/#", f"{first}/+"


@pytest.mark.mqtt(v3="3.3.5-1", v5="3.3.4-2")
@pytest.mark.parametrize("version", [V3_1_1, V5])
@pytest.mark.parametrize(("exact", "wildcard"), [*permutations((0, 1, 2), 2), (1, 1)])
async def test_one_copy_at_the_highest_qos(
    connect: Connecting,
    gw1: MqttAddress,
    gw2: MqttAddress,
    topic: str,
    version: int,
    exact: int,
    wildcard: int,
) -> None:
    """M14."""
    subscriber, publisher = await connect(gw2, version), await connect(gw1)
    await subscriber.subscribe(topic, qos=exact)
    await subscriber.subscribe(f"{topic.split('/')[0]}/+", qos=wildcard)
    for published in (2, 1, 0):
        await publisher.publish(topic, str(published), published)
    granted = max(exact, wildcard)
    assert [(message.payload, message.qos) for message in await subscriber.take(3)] == [
        (b"%d" % published, min(published, granted)) for published in (2, 1, 0)
    ]


@pytest.mark.mqtt(v5="3.3.4-3 3.3.4-4")
async def test_the_identifiers_of_all(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """M15: one copy with all of the client's own identifiers, and nobody else's."""
    one, many, publisher = await connect(gw2), await connect(gw2), await connect(gw1)
    exact, tail, plus = filters_of(topic)
    await one.subscribe(exact, qos=1, identifier=1)
    await many.subscribe(exact, qos=1, identifier=2)
    await many.subscribe(tail, qos=0, identifier=268_435_455)
    await many.subscribe(plus, qos=0)
    await publisher.publish(topic, "x")
    await many.unsubscribe(plus)
    await many.subscribe(exact, qos=1)
    await publisher.publish(topic, "y")
    assert list(map(shown, await one.take(2))) == [("x", 1, (1,)), ("y", 1, (1,))]
    assert list(map(shown, await many.take(2))) == [("x", 1, (2, 268_435_455)), ("y", 1, (268_435_455,))]


async def test_the_options_of_each(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """M16, M53: RETAIN as published if one of them wants it; one with No Local does not count for one's own."""
    peer, other = await connect(gw2), await connect(gw1)
    exact, tail, plus = filters_of(topic)
    await peer.subscribe(tail, qos=2, identifier=1, no_local=True, retain_as_published=True)
    await peer.subscribe(plus, qos=2, identifier=2, no_local=True)
    await peer.publish(topic, "unwanted")
    await other.publish(topic, "other's", 2, retain=True)
    await peer.subscribe(exact, qos=1, identifier=3)
    await peer.publish(topic, "own", 2, retain=True)
    other_s, copy, own = await peer.take(3)
    assert (shown(other_s), other_s.retain) == (("other's", 2, (1, 2)), True)
    assert (shown(copy), copy.retain) == (
        ("other's", 1, (3,)),
        True,
    )  # of what was retained, for the new filter
    assert (shown(own), own.retain) == (("own", 1, (3,)), False)
    await other.publish(topic, b"", 1, retain=True)  # leaves nothing behind


@pytest.mark.mqtt(v5="3.3.4-5")
async def test_what_a_group_gives_comes_besides(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """A shared subscription is another one: its copy is its own."""
    peer, publisher = await connect(gw2), await connect(gw1)
    exact, tail, _ = filters_of(topic)
    await peer.subscribe(exact, qos=1, identifier=1)
    await peer.subscribe(tail, qos=2, identifier=2)
    await peer.subscribe(f"$share/workers/{tail}", qos=1, identifier=3)
    await publisher.publish(topic, "x", 2)
    assert sorted(map(shown, await peer.take(2))) == [("x", 1, (3,)), ("x", 2, (1, 2))]


@pytest.fixture(params=["device", "app"])
def client_id(unique: Callable[[str], str], request: pytest.FixtureRequest) -> str:
    """An id that nobody else has, of a DEVICE or an APPLICATION."""
    return unique(request.param)


async def subscribe(here: Device, filter: str, qos: int, identifier: int | None) -> None:
    identifiers = () if identifier is None else (identifier,)
    properties = Properties(subscription_identifiers=identifiers)
    here.raw.send(Subscribe(1, (Subscription(filter, qos),), properties=properties))
    answer = await here.next()
    assert isinstance(answer, SubAck)
    assert answer.reason_codes == (qos,)


async def until_fences(here: Device, publisher: Peer, topic: str) -> list[Got]:
    """All that the client gets before two fences, one for what comes directly and one for what is kept."""
    await publisher.publish(topic, "fence", 0)
    await publisher.publish(topic, "fence", 2)
    came: list[Got] = []
    fences = unfinished = 0
    while fences < 2 or unfinished:
        packet = await here.next()
        if not isinstance(packet, Publish):
            unfinished -= 1
            here.raw.send(PubComp(packet.packet_id))
            continue
        if packet.qos:
            here.raw.send((PubAck if packet.qos == 1 else PubRec)(packet.packet_id))
        unfinished += packet.qos == 2
        if packet.payload == b"fence":
            fences += 1
        else:
            came.append(shown(packet))
    return came


@pytest.mark.parametrize("granted", [(0, 2, 1), (2, 0, 0), (1, 1, 0)], ids=str)
async def test_a_kept_session(
    connect: Connecting,
    gw1: MqttAddress,
    gw2: MqttAddress,
    topic: str,
    client_id: str,
    granted: tuple[int, int, int],
) -> None:
    """M14, M15: online, kept for it while it is away, and on another gateway; one copy by the log or directly."""
    publisher = await connect(gw1)
    highest = max(granted)

    def expected(*published: int) -> list[Got]:
        return sorted((str(qos), min(qos, highest), (1, 2)) for qos in published)

    async with device(gw2, client_id, V5) as here:
        for filter, qos, identifier in zip(filters_of(topic), granted, (1, 2, None), strict=True):
            await subscribe(here, filter, qos, identifier)
        for qos in (2, 0, 1):
            await publisher.publish(topic, str(qos), qos)
        assert sorted(await until_fences(here, publisher, topic)) == expected(2, 0, 1)
        await here.leave()
    for qos in (1, 0, 2):
        await publisher.publish(topic, str(qos), qos)
    async with device(gw1, client_id, V5) as here:
        assert here.session_present
        assert sorted(await until_fences(here, publisher, topic)) == expected(1, 2)
        for qos in (2, 0, 1):
            await publisher.publish(topic, str(qos), qos)
        assert sorted(await until_fences(here, publisher, topic)) == expected(2, 0, 1)
        await here.leave()


async def test_what_a_kept_session_has_begun_goes_on_as_it_began(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, client_id: str
) -> None:
    """The same QoS, packet id and identifiers on another gateway, with DUP, and still one copy."""
    publisher = await connect(gw1)
    async with device(gw2, client_id, V5) as here:
        for filter, qos, identifier in zip(filters_of(topic), (1, 2, 0), (1, 2, None), strict=True):
            await subscribe(here, filter, qos, identifier)
        await publisher.publish(topic, "x", 2)
        first = await here.next()
        assert shown(first) == ("x", 2, (1, 2))
    async with device(gw1, client_id, V5) as here:
        again = await here.next()
        assert (shown(again), again.packet_id, again.dup) == (shown(first), first.packet_id, True)
        here.raw.send(PubRec(again.packet_id))
        here.raw.send(PubComp((await here.next()).packet_id))
        assert await until_fences(here, publisher, topic) == []
