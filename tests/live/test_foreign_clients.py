"""The clients that people use work unchanged, with all versions and QoS, from one gateway to the other."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable
from typing import Any, Literal

import aiomqtt
import paho.mqtt.client as paho
import pytest
from gmqtt import Client as GmqttClient
from gmqtt.mqtt.constants import MQTTv50, MQTTv311
from paho.mqtt.enums import CallbackAPIVersion

from admin.stack.gateway import MqttAddress
from tests.live.conftest import Connecting
from tests.live.peers import PATIENCE, within

pytestmark = pytest.mark.live


@pytest.mark.mqtt(v3="7.0.0-2 7.1.1-1", v5="4.2-1")
@pytest.mark.parametrize("version", ["31", "311", "5"])
@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_mosquitto(gw1: MqttAddress, gw2: MqttAddress, topic: str, version: str, qos: int) -> None:
    """The command line clients, with a wildcard."""
    missing = [tool for tool in ("mosquitto_pub", "mosquitto_sub", "stdbuf") if not shutil.which(tool)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (Debian: mosquitto-clients, coreutils)")
    mqtt = f"mqttv{version}" if version != "5" else "mqttv5"
    # -d tells of the SUBACK, at once thanks to stdbuf; -C ends it after one message, -W bounds the wait.
    command = [
        "stdbuf",
        "-oL",
        "mosquitto_sub",
        "-h",
        gw2.host,
        "-p",
        str(gw2.port),
        "-V",
        mqtt,
        "-q",
        str(qos),
        "-d",
    ]
    command += ["-t", f"{topic.split('/')[0]}/+", "-C", "1", "-W", "60", "-F", "got %t %q %p"]
    subscriber = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert subscriber.stdout is not None
    lines: list[str] = []
    while not any(line.startswith("Subscribed") for line in lines):
        lines.append((await within(subscriber.stdout.readline())).decode())
        assert lines[-1], f"it ended before the SUBACK: {lines}"
    publish = ["mosquitto_pub", "-h", gw1.host, "-p", str(gw1.port), "-V", mqtt, "-q", str(qos), "-t", topic]
    publisher = await asyncio.create_subprocess_exec(*publish, "-m", f"hello {qos}")
    assert await within(publisher.wait()) == 0
    rest = (await within(subscriber.stdout.read())).decode()
    assert await within(subscriber.wait()) == 0
    assert f"got {topic} {qos} hello {qos}" in rest


class PahoClient:
    """paho, whose callbacks come in its own thread, with events to wait on."""

    def __init__(
        self,
        address: MqttAddress,
        version: int,
        client_id: str,
        transport: Literal["tcp", "websockets"] = "tcp",
        prepare: Callable[[paho.Client], object] = lambda _: None,
    ) -> None:
        self.client = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id,
            protocol=version,  # type: ignore[arg-type]
            transport=transport,
        )
        self.messages: list[paho.MQTTMessage] = []
        self._changed = threading.Condition()
        self._done: set[str] = set()
        self.client.on_connect = lambda *_: self._tell("connected")
        self.client.on_subscribe = lambda *_: self._tell("subscribed")
        self.client.on_unsubscribe = lambda *_: self._tell("unsubscribed")
        self.client.on_disconnect = lambda *_: self._tell("disconnected")
        self.client.on_message = lambda _client, _data, message: self._take(message)
        port = address.port if transport == "tcp" else address.websocket_port
        assert port is not None
        prepare(self.client)
        self.client.connect(address.host, port)
        self.client.loop_start()
        self.wait_for("connected")

    def wait_for(self, what: str) -> None:
        """Wait for an acknowledgement."""
        with self._changed:
            assert self._changed.wait_for(lambda: what in self._done, PATIENCE), what
            self._done.discard(what)

    def take(self) -> paho.MQTTMessage:
        """Wait for the next message."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.messages, PATIENCE)
            return self.messages.pop(0)

    def close(self) -> None:
        """Say goodbye."""
        self.client.disconnect()
        self.wait_for("disconnected")
        self.client.loop_stop()

    def _tell(self, what: str) -> None:
        with self._changed:
            self._done.add(what)
            self._changed.notify_all()

    def _take(self, message: paho.MQTTMessage) -> None:
        with self._changed:
            self.messages.append(message)
            self._changed.notify_all()


@pytest.mark.mqtt(v3="7.0.0-2 7.1.1-1", v5="4.2-1")
@pytest.mark.parametrize("version", [paho.MQTTv31, paho.MQTTv311, paho.MQTTv5])
def test_paho(
    gw1: MqttAddress, gw2: MqttAddress, topic: str, unique: Callable[[str], str], version: int
) -> None:
    publisher = PahoClient(gw1, version, unique("paho"))
    subscriber = PahoClient(gw2, version, unique("paho"))
    first, last = topic.split("/")
    for filter, name, qos in (
        (f"{topic}/0", f"{topic}/0", 0),
        (f"{topic}/1", f"{topic}/1", 1),
        (f"{topic}/2", f"{topic}/2", 2),
        (f"+/{last}/{first}", f"any/{last}/{first}", 1),
        (f"{first}/deep/#", f"{first}/deep/er/still", 2),
    ):
        subscriber.client.subscribe(filter, qos)
        subscriber.wait_for("subscribed")
        publisher.client.publish(name, f"{filter} {qos}", qos).wait_for_publish(PATIENCE)
        message = subscriber.take()
        assert (message.topic, message.payload, message.qos) == (name, f"{filter} {qos}".encode(), qos)
        subscriber.client.unsubscribe(filter)
        subscriber.wait_for("unsubscribed")
        publisher.client.publish(name, "unwanted", 1).wait_for_publish(PATIENCE)
    subscriber.client.subscribe(topic, 1)
    subscriber.wait_for("subscribed")
    publisher.client.publish(topic, "last", 1).wait_for_publish(PATIENCE)
    assert subscriber.take().payload == b"last"
    for client in (publisher, subscriber):
        client.close()


@pytest.mark.parametrize(
    "version", [aiomqtt.ProtocolVersion.V31, aiomqtt.ProtocolVersion.V311, aiomqtt.ProtocolVersion.V5]
)
async def test_aiomqtt(
    gw1: MqttAddress,
    gw2: MqttAddress,
    topic: str,
    unique: Callable[[str], str],
    version: aiomqtt.ProtocolVersion,
) -> None:
    def client(address: MqttAddress) -> aiomqtt.Client:
        return aiomqtt.Client(address.host, address.port, identifier=unique("a"), protocol=version)

    async with client(gw1) as publisher, client(gw2) as subscriber:
        await subscriber.subscribe(f"{topic}/#", qos=2)
        for qos in (0, 1, 2):
            await publisher.publish(f"{topic}/{qos}", f"payload {qos}", qos)
            message = await within(anext(aiter(subscriber.messages)))
            assert (str(message.topic), message.payload, message.qos) == (
                f"{topic}/{qos}",
                f"payload {qos}".encode(),
                qos,
            )
        await subscriber.unsubscribe(f"{topic}/#")


@pytest.mark.parametrize("version", [MQTTv311, MQTTv50])
async def test_gmqtt(
    gw1: MqttAddress, gw2: MqttAddress, topic: str, unique: Callable[[str], str], version: int
) -> None:
    publisher, subscriber = GmqttClient(unique("g")), GmqttClient(unique("g"))
    subscribed, unsubscribed = asyncio.Event(), asyncio.Event()
    messages: asyncio.Queue[tuple[str, bytes, int]] = asyncio.Queue()

    def take(_client: Any, name: str, payload: bytes, qos: int, _properties: Any) -> int:
        messages.put_nowait((name, payload, qos))
        return 0

    subscriber.on_message = take
    subscriber.on_subscribe = lambda *_: subscribed.set()
    subscriber.on_unsubscribe = lambda *_: unsubscribed.set()
    await within(publisher.connect(gw1.host, gw1.port, version=version))
    await within(subscriber.connect(gw2.host, gw2.port, version=version))
    subscriber.subscribe(f"{topic}/+", qos=2)
    await within(subscribed.wait())
    for qos in (0, 1, 2):
        publisher.publish(f"{topic}/{qos}", f"payload {qos}", qos=qos)
        assert await within(messages.get()) == (f"{topic}/{qos}", f"payload {qos}".encode(), qos)
    subscriber.unsubscribe(f"{topic}/+")
    await within(unsubscribed.wait())
    for client in (publisher, subscriber):
        await within(client.disconnect())


async def test_amqtt(gw1: MqttAddress, gw2: MqttAddress, topic: str, unique: Callable[[str], str]) -> None:
    amqtt = pytest.importorskip("amqtt.client", reason="amqtt is not installed (pip install amqtt)")
    publisher, subscriber = (
        amqtt.MQTTClient(client_id=unique("m"), config={"auto_reconnect": False}) for _ in range(2)
    )
    await within(publisher.connect(f"mqtt://{gw1.host}:{gw1.port}/"))
    await within(subscriber.connect(f"mqtt://{gw2.host}:{gw2.port}/"))
    assert await within(subscriber.subscribe([(f"{topic}/#", 2)])) == [2]
    for qos in (0, 1, 2):
        await within(publisher.publish(f"{topic}/{qos}", f"payload {qos}".encode(), qos=qos))
        message = await within(subscriber.deliver_message())
        assert (message.topic, bytes(message.data), message.qos) == (
            f"{topic}/{qos}",
            f"payload {qos}".encode(),
            qos,
        )
    await within(subscriber.unsubscribe([f"{topic}/#"]))
    await within(subscriber.disconnect())
    await within(publisher.disconnect())


async def test_a_foreign_client_and_ours_meet(
    gw1: MqttAddress, gw2: MqttAddress, topic: str, connect: Connecting, unique: Callable[[str], str]
) -> None:
    """MQTT 3.1.1 on one side, 5.0 on the other."""
    ours = await connect(gw2)
    await ours.subscribe(topic, qos=1)
    async with aiomqtt.Client(gw1.host, gw1.port, identifier=unique("a")) as publisher:
        await publisher.publish(topic, "hello", qos=1)
    assert await ours.payloads() == ["hello"]
