"""What a subscription's options promise, live and across gateways: M12, M14, M49, M53."""

from __future__ import annotations

import pytest

from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import Publish
from edge.mqtt.protocol import ProtocolVersion
from tests.live.conftest import Connecting
from tests.live.peers import V3_1_1, V5, sibling

pytestmark = pytest.mark.live


@pytest.mark.mqtt(v3="4.7.2-1", v5="4.7.2-1")
async def test_leading_wildcards_and_dollar_topics(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """M12: `#`, `+/x` and `+/#`, shared or not, do not match `$app/x`; a client with `#` and `$app/#` gets it once."""
    root, publisher = f"$app-{topic.split('/')[0]}", await connect(gw1)
    name, fence = f"{root}/x", sibling(f"{root}/x", f"{topic}/fence")
    wildcards = [await connect(gw2) for _ in range(3)]
    for peer, filter in zip(wildcards, ("#", "+/x", "+/#"), strict=True):
        await peer.subscribe(filter, fence, qos=1)
    group = f"$share/{topic.partition('/')[0]}"
    for filter in (f"{group}/#", f"{group}/+/x/+"):  # the fence comes as theirs: a group has a way of its own
        wildcards.append(await connect(gw2))
        await wildcards[-1].subscribe(filter, qos=1)
    dollar, both = await connect(gw2), await connect(gw2)
    await dollar.subscribe(f"{root}/#", qos=1)
    await both.subscribe("#", f"{root}/#", fence, qos=1)
    await publisher.publish(name, "dollar")
    await publisher.publish(fence, "fence")
    assert await dollar.payloads() == ["dollar"]
    for peer, expected in [(wildcard, 0) for wildcard in wildcards] + [(both, 1)]:
        came: list[Publish] = []
        while not came or came[-1].topic != fence:  # others publish meanwhile, and # gets it all
            came += await peer.take()
        assert sum(message.topic == name for message in came) == expected


@pytest.mark.mqtt(v3="3.8.4-5 3.8.4-6", v5="3.8.4-7 3.8.4-8")
@pytest.mark.parametrize("published", [0, 1, 2])
@pytest.mark.parametrize("granted", [0, 1, 2])
async def test_effective_qos(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, published: int, granted: int
) -> None:
    """M14: the lower of the two, never raised."""
    subscriber, publisher = await connect(gw2), await connect(gw1)
    await subscriber.subscribe(topic, qos=granted)
    await publisher.publish(topic, "x", published)
    [message] = await subscriber.take()
    assert message.qos == min(published, granted)


@pytest.mark.mqtt(v3="3.8.4-3", v5="3.8.4-3")
async def test_the_last_subscription_to_a_filter_counts(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """[MQTT-3.8.4-3]: it replaces the one before, and makes no second copy."""
    subscriber, publisher = await connect(gw2), await connect(gw1)
    for qos in (0, 2, 1):
        await subscriber.subscribe(topic, qos=qos)
        await publisher.publish(topic, str(qos), 2)
        [message] = await subscriber.take()
        assert (message.payload, message.qos) == (b"%d" % qos, qos)
    assert subscriber.inbox == []


@pytest.mark.mqtt(v5="3.8.3-3")
@pytest.mark.parametrize("on_the_same_gateway", [True, False])
async def test_no_local(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str, on_the_same_gateway: bool
) -> None:
    """[MQTT-3.8.3-3]: what the client published itself does not come back; by client id, wherever it is."""
    peer, other = await connect(gw1), await connect(gw1 if on_the_same_gateway else gw2)
    await peer.subscribe(topic, qos=1, no_local=True)
    await other.subscribe(topic, qos=1)
    await peer.publish(topic, "own")
    await other.publish(topic, "other's")
    assert await peer.payloads() == ["other's"]
    assert await other.payloads(2) == ["own", "other's"]


@pytest.mark.mqtt(v3="3.3.1-9", v5="3.3.1-12 3.3.1-13")
async def test_retain_as_published(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """[MQTT-3.3.1-12], [MQTT-3.3.1-13], live."""
    plain, kept, old = await connect(gw2), await connect(gw2), await connect(gw2, V3_1_1)
    publisher = await connect(gw1)
    await plain.subscribe(topic, qos=1)
    await old.subscribe(topic, qos=1)
    await kept.subscribe(topic, qos=1, retain_as_published=True)
    for retain in (True, False):
        await publisher.publish(topic, "x", 1, retain=retain)
    assert [message.retain for message in await plain.take(2)] == [False, False]
    assert [message.retain for message in await old.take(2)] == [False, False]
    assert [message.retain for message in await kept.take(2)] == [True, False]
    await publisher.publish(topic, b"", 1, retain=True)  # leaves nothing behind


async def test_a_bridge_makes_no_loop(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """M53: No Local and Retain As Published; two originals and two copies, then quiet."""
    bridge, watcher, publisher = await connect(gw2), await connect(gw1), await connect(gw1)
    await bridge.subscribe(f"{topic}/#", qos=1, no_local=True, retain_as_published=True)
    await watcher.subscribe(f"{topic}/#", qos=1, retain_as_published=True)
    name = f"{topic}/a"
    for payload, retain in (("1", True), ("0", False)):
        await publisher.publish(name, payload, 1, retain=retain)
        [message] = await bridge.take()
        assert (message.payload.decode(), message.retain) == (payload, retain)
        await bridge.publish(name, payload, 1, retain=message.retain)
    await publisher.publish(name, "fence")
    assert await bridge.payloads() == ["fence"]
    came = await watcher.take(5)
    assert [(message.payload, message.retain) for message in came] == [
        (b"1", True),
        (b"1", True),
        (b"0", False),
        (b"0", False),
        (b"fence", False),
    ]
    await publisher.publish(name, b"", 1, retain=True)


@pytest.mark.mqtt(
    v3="3.8.4-4 3.10.4-1 3.10.4-2 3.10.4-5 3.10.4-6", v5="3.8.4-5 3.10.4-1 3.10.4-2 3.10.4-5 3.10.4-6"
)
@pytest.mark.parametrize(("version", "codes"), [(V5, (0x00, 0x11)), (V3_1_1, ())])
async def test_unsubscribe(
    connect: Connecting,
    gw1: MqttAddress,
    gw2: MqttAddress,
    topic: str,
    version: ProtocolVersion,
    codes: tuple[int, ...],
) -> None:
    """M49: what is held ends, what is not held is said so, and filters are compared character by character."""
    subscriber, publisher = await connect(gw2, version), await connect(gw1)
    wildcard = f"{topic}/+"
    await subscriber.subscribe(topic, wildcard, qos=1)
    await publisher.publish(topic, "before")
    assert await subscriber.payloads() == ["before"]
    assert await subscriber.unsubscribe(topic, "nope") == codes
    assert await subscriber.unsubscribe(f"{topic}/b") == codes[1:]
    await publisher.publish(topic, "after")
    await publisher.publish(sibling(topic, f"{topic}/b"), "still matched")
    assert await subscriber.payloads() == ["still matched"]
