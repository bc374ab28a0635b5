"""I8: a gateway is killed, and another one publishes its clients' wills, each once and at its time."""

from __future__ import annotations

import asyncio

import pytest

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import Will
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion
from tests.live.conftest import Connecting
from tests.live.peers import Peer

pytestmark = [pytest.mark.live, pytest.mark.timeout(900, func_only=True)]

SAID = Properties(
    payload_format_indicator=1,
    message_expiry_interval=600,
    content_type="text/plain",
    response_topic="r",
    correlation_data=b"\0\xff\x10",
    user_properties=(("k", "1"), ("k", "2"), ("a", "")),
)


async def test_another_gateway_publishes_the_wills_of_one_that_is_killed(
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """All on one topic, so what comes behind the last shows that none came twice, nor the one that is void."""

    async def dying(
        payload: str, expiry: int | None = None, delay: int | None = None, retain: bool = False
    ) -> Peer:
        """A client of the gateway that is to be killed."""
        will = Will(topic, payload.encode(), 1, retain, Properties(will_delay_interval=delay))
        properties = Properties(session_expiry_interval=expiry)
        return await connect(gw2, will=will, clean_start=False, properties=properties)

    watcher = await connect(gw1)
    await watcher.subscribe(topic, qos=2, retain_as_published=True)
    await connect(gw2, ProtocolVersion.V3_1_1, will=Will(topic, b"3.1.1", 2))
    await connect(gw2, will=Will(topic, b"said", 2, properties=SAID))
    await dying("plain")
    await dying("retained", retain=True)
    await dying("lasting", expiry=300)
    await dying("large" + "." * 60_000)
    await dying("expires", expiry=1, delay=100)
    await dying("delayed", expiry=300, delay=4)
    resumed = await dying("resumed", expiry=300, delay=2)
    leaving = await dying("left in peace")
    await leaving.client.disconnect()
    await connect(gw1, client_id=leaving.client_id)  # who is let in when its owner knows that it has left
    restarts = stack.kill("gw2")
    back = await connect(
        gw1,
        client_id=resumed.client_id,
        clean_start=False,
        properties=Properties(session_expiry_interval=300),
    )
    assert back.client.connected.result().session_present
    came = await watcher.take(8)
    payloads = [message.payload.decode().rstrip(".") for message in came]
    at_once = ["3.1.1", "large", "lasting", "plain", "retained", "said"]
    assert sorted(payloads) == sorted([*at_once, "expires", "delayed"])
    assert [message.retain for message in came] == [payload == "retained" for payload in payloads]
    [said] = [message for message in came if message.payload == b"said"]
    assert said.qos == 2
    assert said.properties.user_properties == SAID.user_properties
    assert said.properties.correlation_data == SAID.correlation_data
    assert (said.properties.content_type, said.properties.response_topic) == ("text/plain", "r")
    assert 590 < (said.properties.message_expiry_interval or 0) <= 600
    await asyncio.to_thread(stack.wait_restarted, "gw2", restarts)
    await back.publish(topic, "end")
    assert await watcher.payloads_until("end") == []
    await watcher.publish(topic, b"", retain=True)


async def test_wills_under_way_when_their_gateway_is_killed(
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    """Clients are lost in a row, and their gateway among them: some of the wills it has published, some not quite."""
    watcher = await connect(gw1)
    await watcher.subscribe(topic, qos=1)
    peers = [await connect(gw2, will=Will(topic, b"%d" % number, 1)) for number in range(60)]
    for number, peer in enumerate(peers):
        peer.client.drop()
        if number % 5 == 0:
            await asyncio.sleep(0)  # they reach their gateway in several portions
    await watcher.came()
    restarts = stack.kill("gw2")
    came = await watcher.payloads(60)
    assert sorted(map(int, came)) == list(range(60))
    await asyncio.to_thread(stack.wait_restarted, "gw2", restarts)
    await watcher.publish(topic, "end")
    assert await watcher.payloads_until("end") == []
