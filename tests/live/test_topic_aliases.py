"""Topic aliases to clients, live: a connection's first message on a topic names it, later ones do not.

That nobody gets one who allowed none is what all other tests here show: their clients would not know what it means.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import PubAck, Publish, Subscribe, Subscription
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from tests.edge.mqtt.test_reading import read_all
from tests.live.conftest import Connecting
from tests.live.raw import Raw, raw_connection

pytestmark = pytest.mark.live

LASTING = Properties(topic_alias_maximum=1, session_expiry_interval=600)


async def publish_of(raw: Raw) -> Publish:
    """The next PUBLISH."""
    [packet] = read_all([await raw.packet()], ProtocolVersion.V5)
    assert isinstance(packet, Publish)
    return packet


@pytest.mark.parametrize("properties", [Properties(topic_alias_maximum=1), LASTING], ids=["clean", "lasting"])
async def test_named_once_a_connection(
    connect: Connecting,
    gw1: MqttAddress,
    gw2: MqttAddress,
    topic: str,
    unique: Callable[[str], str],
    properties: Properties,
) -> None:
    publisher, client_id = await connect(gw1), unique("aliases")
    async with raw_connection(gw2, 5, client_id, properties=properties) as raw:
        raw.send(Subscribe(1, (Subscription(f"{topic}/#", 1),)))
        assert (await raw.packet())[0] == 0x90
        for number, name in enumerate(("a", "a", "b", "a")):
            await publisher.publish(f"{topic}/{name}", str(number), min(number, 1))
        came = [await publish_of(raw) for _ in range(4)]
        came.sort(key=lambda each: each.payload)  # QoS 0 and 1 go different ways to a lasting session
        names = [(each.topic, each.properties.topic_alias) for each in came]
        assert names[2] == (f"{topic}/b", None)
        assert sorted(names[:2] + names[3:]) == [("", 1), ("", 1), (f"{topic}/a", 1)]
    if properties is not LASTING:
        return
    async with raw_connection(gw1, 5, client_id, clean_start=False, properties=LASTING) as raw:
        again = [await publish_of(raw) for _ in range(3)]
        assert [(each.topic, each.properties.topic_alias, each.dup) for each in again] == [
            (f"{topic}/a", 1, True),
            (f"{topic}/b", None, True),
            ("", 1, True),
        ]
        for each in again:
            raw.send(PubAck(each.packet_id))
        assert await raw.until_pong() == b""
