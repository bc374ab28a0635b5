"""Foreign clients with certificates, passwords, tokens and SCRAM; and changes that reach both gateways."""

from __future__ import annotations

import asyncio
import shutil
import ssl
from collections.abc import Callable, Iterator
from typing import Any, Literal

import aiomqtt
import paho.mqtt.client as paho
import pytest
from kafka.net.sasl.scram import ScramClient
from ohmqtt.packet import MQTTAuthPacket, MQTTConnAckPacket, MQTTConnectPacket, decode_packet
from ohmqtt.property import MQTTAuthProps, MQTTConnectProps

from admin.stack.embedded import Stack
from edge.mqtt.properties import Properties
from edge.mqtt.reason_codes import ReasonCode
from tests.identity.providers.tokens import signed
from tests.live.conftest import Connecting
from tests.live.peers import PATIENCE, V3_1_1, V5, within
from tests.live.raw import Raw
from tests.live.secured import PASSWORD, Secured, secured_gateways
from tests.live.test_foreign_clients import PahoClient

pytestmark = pytest.mark.live

LASTING = {"properties": Properties(session_expiry_interval=600), "clean_start": False}
Transport = Literal["tcp", "websockets"]


@pytest.fixture(scope="module")
def secured(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with secured_gateways(stack, tmp_path_factory.mktemp("secured")) as secured:
        yield secured


@pytest.mark.parametrize("version", [paho.MQTTv311, paho.MQTTv5])
@pytest.mark.parametrize("transport", ["tcp", "websockets"])
@pytest.mark.parametrize("proof", ["certificate", "password", "token"])
def test_paho(
    secured: Secured,
    topic: str,
    unique: Callable[[str], str],
    transport: Transport,
    version: int,
    proof: str,
) -> None:
    """From one gateway to the other; the certificate alone is the proof where there is no other."""

    def prepare(client: paho.Client) -> None:
        client.tls_set_context(
            secured.context(secured.device if proof == "certificate" else secured.stranger)
        )
        if proof == "password":
            client.username_pw_set("ann", PASSWORD)
        elif proof == "token":
            client.username_pw_set("anybody", signed())

    publisher, subscriber = (
        PahoClient(address, version, unique("paho"), transport, prepare) for address in secured.tls
    )
    subscriber.client.subscribe(topic, 1)
    subscriber.wait_for("subscribed")
    publisher.client.publish(topic, proof, 1).wait_for_publish(PATIENCE)
    assert subscriber.take().payload == proof.encode()
    for client in (publisher, subscriber):
        client.close()


@pytest.mark.parametrize("transport", ["tcp", "websockets"])
async def test_aiomqtt(
    secured: Secured, topic: str, unique: Callable[[str], str], transport: Transport
) -> None:
    clients = []
    for address in secured.tls:
        port = address.port if transport == "tcp" else address.websocket_port
        assert port is not None
        options: dict[str, Any] = {"transport": transport, "tls_context": secured.context(secured.device)}
        clients.append(aiomqtt.Client(address.host, port, identifier=unique("a"), **options))
    async with clients[0] as publisher, clients[1] as subscriber:
        await subscriber.subscribe(topic, qos=1)
        await publisher.publish(topic, "hello", 1)
        assert (await within(anext(aiter(subscriber.messages)))).payload == b"hello"


async def test_mosquitto(secured: Secured, topic: str) -> None:
    missing = [tool for tool in ("mosquitto_pub", "mosquitto_sub", "stdbuf") if not shutil.which(tool)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (Debian: mosquitto-clients, coreutils)")
    first, second = secured.tls
    proof = ["--cafile", str(secured.authority.root)]
    proof += ["--cert", str(secured.device.certificate), "--key", str(secured.device.key), "-V", "mqttv5"]
    command = ["stdbuf", "-oL", "mosquitto_sub", "-h", second.host, "-p", str(second.port), *proof, "-d"]
    command += ["-q", "1", "-t", topic, "-C", "1", "-W", "90", "-F", "got %p"]
    subscriber = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert subscriber.stdout is not None
    line = b""
    while not line.startswith(b"Subscribed"):
        line = await within(subscriber.stdout.readline())
        assert line, "it ended before the SUBACK"
    publish = ["mosquitto_pub", "-h", first.host, "-p", str(first.port), *proof, "-q", "1", "-t", topic]
    publisher = await asyncio.create_subprocess_exec(*publish, "-m", "hello")
    assert await within(publisher.wait()) == 0
    assert b"got hello" in await within(subscriber.stdout.read())
    assert await within(subscriber.wait()) == 0


async def test_scram(secured: Secured, unique: Callable[[str], str]) -> None:
    """No client that there is for Python takes AUTH before CONNACK: so foreign packets, and a foreign SCRAM."""
    method = "SCRAM-SHA-512"
    context = secured.context(secured.stranger)
    for password, reason in (("wrong", 0x87), (PASSWORD, 0)):
        scram = ScramClient("sue", password, method)
        reader, writer = await within(
            asyncio.open_connection(secured.tls[0].host, secured.tls[0].port, ssl=context)
        )
        raw = Raw(reader, writer, V5)
        asked = MQTTConnectProps(AuthenticationMethod=method, AuthenticationData=scram.first_message())
        raw.send(MQTTConnectPacket(client_id=unique("scram"), properties=asked).encode())
        challenge = decode_packet(await raw.packet())
        assert isinstance(challenge, MQTTAuthPacket)
        scram.process_server_first_message(challenge.properties.AuthenticationData)
        proof = MQTTAuthProps(AuthenticationMethod=method, AuthenticationData=scram.final_message())
        raw.send(MQTTAuthPacket(reason_code=challenge.reason_code, properties=proof).encode())
        answer = decode_packet(await raw.packet())
        assert isinstance(answer, MQTTConnAckPacket)
        assert answer.reason_code == reason
        if reason == 0:
            scram.process_server_final_message(answer.properties.AuthenticationData)
        raw.cut()


async def _first_byte(port: int | None, context: ssl.SSLContext) -> bytes:
    """What the gateway says first; with TLS 1.3 only then a client hears that its handshake has failed."""
    reader, _ = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    return await reader.readexactly(1)


async def test_who_has_no_certificate_or_no_credentials_gets_no_further(secured: Secured) -> None:
    """TLS ends the first; the second shakes hands, and is told."""
    for port in (secured.tls[0].port, secured.tls[0].websocket_port):
        with pytest.raises((OSError, asyncio.IncompleteReadError)):
            await within(_first_byte(port, secured.context(None)))
    for version, reason in ((V5, b"\x87"), (V3_1_1, b"\x05")):
        context: ssl.SSLContext = secured.context(secured.stranger)
        reader, writer = await within(asyncio.open_connection("127.0.0.1", secured.tls[0].port, ssl=context))
        raw = Raw(reader, writer, version)
        raw.send(
            MQTTConnectPacket(client_id="c").encode() if version is V5 else "100D00044D51545404020000000163"
        )
        assert (await raw.packet())[3:4] == reason
        raw.cut()


async def test_a_rule_changes_on_both_gateways(secured: Secured, connect: Connecting) -> None:
    """P14, an ACL: live connections, in both versions."""
    login: dict[str, Any] = {"user_name": "changed", "password": PASSWORD.encode()}
    peers = [await connect(address, V5, **login) for address in secured.plain]
    old = [await connect(address, V3_1_1, **login) for address in secured.plain]
    for peer in peers:
        await peer.subscribe("changed/x", qos=1)
        assert await peer.publish("changed/y") in (0, ReasonCode.NO_MATCHING_SUBSCRIBERS)
    await asyncio.to_thread(secured.sluicemq, "acl", "remove", "changed", "publish", "changed/.*")
    async with asyncio.timeout(120):
        for peer in peers:
            while await peer.publish("changed/y") != ReasonCode.NOT_AUTHORIZED:
                pass
    for each in old:  # it has no word for it
        each.client.publish("changed/y", b"", 1)
        await within(asyncio.wait([each.client.ended]))


async def test_a_blocked_client_is_sent_away_from_both(secured: Secured, connect: Connecting) -> None:
    login: dict[str, Any] = {"user_name": "blocked", "password": PASSWORD.encode()}
    peers = [
        await connect(address, version, **login) for address in secured.plain for version in (V5, V3_1_1)
    ]
    bystander = await connect(secured.plain[0], V5, user_name="ann", password=PASSWORD.encode())
    await asyncio.to_thread(secured.sluicemq, "blocked", "add", "blocked", "--by", "username")
    for peer in peers:
        await within(asyncio.wait([peer.client.ended]), 120)
    assert await bystander.publish("a") in (0, ReasonCode.NO_MATCHING_SUBSCRIBERS)


async def test_stored_messages_of_a_filter_that_is_not_allowed_any_more(
    secured: Secured, connect: Connecting, unique: Callable[[str], str]
) -> None:
    """Who comes back gets what its rules still allow, and nothing else; in both versions."""
    login: dict[str, Any] = {"user_name": "narrowed", "password": PASSWORD.encode()}
    publisher = await connect(secured.plain[0], V5, user_name="ann", password=PASSWORD.encode())
    names = {V5: unique("n5"), V3_1_1: unique("n4")}
    for version, name in names.items():
        lasting = LASTING if version is V5 else {"clean_start": False}
        peer = await connect(secured.plain[0], version, name, **login, **lasting)
        await peer.subscribe("narrowed/kept", "narrowed/gone", qos=1)
        peer.client.drop()
    await publisher.publish("narrowed/gone", "secret")
    await publisher.publish("narrowed/kept", "public")
    await asyncio.to_thread(secured.sluicemq, "acl", "add", "narrowed", "subscribe", "narrowed/kept")
    await asyncio.to_thread(secured.sluicemq, "acl", "remove", "narrowed", "subscribe", "narrowed/.*")
    for version, name in names.items():
        lasting = LASTING if version is V5 else {"clean_start": False}
        peer = await connect(secured.plain[1], version, name, **login, **lasting)
        assert await peer.payloads() == ["public"]
        await publisher.publish("narrowed/gone", "secret, too")
        await publisher.publish("narrowed/kept", "last")
        assert await peer.payloads_until("last") == []
        peer.client.drop()
