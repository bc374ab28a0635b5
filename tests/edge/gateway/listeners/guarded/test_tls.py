"""The listeners with TLS on real sockets: who gets in, and that all that holds over TCP holds there."""

from __future__ import annotations

import asyncio
import logging
import ssl
from typing import Any, Literal, cast

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from edge.gateway.config import GatewayConfig
from edge.gateway.counters import Counters
from edge.gateway.errors import CertificateFilesError
from edge.gateway.listeners.listeners import Listeners
from edge.mqtt.limits import ServerLimits
from edge.mqtt.packets import Publish
from edge.mqtt.reason_codes import ReasonCode
from edge.mqtt.writing import write_packet
from tests.edge.gateway.listeners.doorman import Doorman, make_slow, open_listeners, within
from tests.edge.gateway.listeners.guarded.authority import Authority
from tests.edge.gateway.listeners.guarded.tls_clients import (
    PINGREQ,
    PINGRESP,
    V5,
    client_context,
    connect_packet,
    tls_client,
)
from tests.live.peers import eventually


async def test_a_client_comes_in_and_is_served(authority: Authority, settings: dict[str, Any]) -> None:
    async with open_listeners(**settings) as (doorman, listeners):
        async with tls_client(listeners.tls, client_context(authority)) as client:
            await client.enter()
            client.writer.write(write_packet(Publish("t", bytes(50_000)), V5))
            assert (await within(doorman.published.get())).payload == bytes(50_000)
            await client.ping()
            [connection] = doorman.inside
            assert connection.host == "127.0.0.1"
            assert connection.certificates == ()
        await within(doorman.ends.get())
        assert connection.certificates == ()
    assert doorman.counters.failed_handshakes == 0


async def test_all_at_once_without_waiting(authority: Authority, settings: dict[str, Any]) -> None:
    """What a client sends together with the end of its handshake is not lost, nor that it left right after it."""
    async with open_listeners(**settings) as (doorman, listeners):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = client_context(authority).wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
        assert listeners.tls is not None
        reader, writer = await asyncio.open_connection(*listeners.tls)
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                writer.write(outgoing.read())
                incoming.write(await within(reader.read(65_536)))
        tls.write(connect_packet("hasty") + write_packet(Publish("t", b"bye"), V5))
        with pytest.raises(ssl.SSLWantReadError):
            tls.unwrap()
        writer.write(
            outgoing.read()
        )  # the handshake's end, CONNECT, PUBLISH and the farewell, in one segment
        assert (await within(doorman.published.get())).payload == b"bye"
        await within(doorman.ends.get())
        while await within(reader.read(65_536)):
            pass
        writer.close()


@pytest.mark.parametrize(
    ("lowest", "highest", "gets_in"),
    [
        (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1, False),
        (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1, False),
        (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2, True),
        (ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_3, True),
    ],
)
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1:DeprecationWarning")
async def test_versions(
    authority: Authority, settings: dict[str, Any], lowest: ssl.TLSVersion, highest: ssl.TLSVersion,
    gets_in: bool, caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    caplog.set_level(logging.INFO, "edge.gateway.listeners")
    context = client_context(authority)
    context.set_ciphers("ALL:@SECLEVEL=0")  # the client would speak the old ones
    context.minimum_version, context.maximum_version = lowest, highest
    async with open_listeners(**settings) as (doorman, listeners):
        if gets_in:
            async with tls_client(listeners.tls, context) as client:
                await client.enter()
        else:
            with pytest.raises((ConnectionError, ssl.SSLError)):
                await tls_client(listeners.tls, context).__aenter__()
            await eventually(lambda: doorman.counters.failed_handshakes == 1, "it is counted")
            assert "UNSUPPORTED_PROTOCOL" in caplog.text


async def test_a_handshake_without_connect_is_closed(authority: Authority, settings: dict[str, Any]) -> None:
    """The time for a CONNECT runs from the socket's opening, the handshake included."""
    async with open_listeners(**settings, connect_timeout=0.5) as (doorman, listeners):
        async with tls_client(listeners.tls, client_context(authority)) as client:
            assert await within(client.reader.read()) == b""
        await within(doorman.ends.get())


async def test_who_does_not_read_is_slow_and_its_end_is_not_waited_for(
    authority: Authority, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Back-pressure reaches through TLS; and who takes nothing any more is closed all the same."""
    monkeypatch.setattr("edge.gateway.connection._FAREWELL", 0.2)
    async with (
        open_listeners(**settings) as (doorman, listeners),
        tls_client(listeners.tls, client_context(authority)) as client,
    ):
        await client.enter()
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        [connection] = doorman.inside
        assert make_slow(connection) > 0
        connection.disconnect(ReasonCode.ADMINISTRATIVE_ACTION)
        await eventually(lambda: connection.host == "", "it is gone")
        client.writer.transport.abort()


async def test_a_client_that_goes_on_after_our_farewell(
    authority: Authority, settings: dict[str, Any]
) -> None:
    """What it sends is not heard any more, and breaks nothing."""
    async with open_listeners(**settings) as (doorman, listeners):
        async with tls_client(listeners.tls, client_context(authority)) as client:
            await client.enter()
            [connection] = doorman.inside
            connection.disconnect(ReasonCode.ADMINISTRATIVE_ACTION)
            client.writer.write(PINGREQ * 3)
            connection.changed()
            assert (await within(client.reader.read()))[:1] == b"\xe0"
        await eventually(lambda: connection.host == "", "it is gone")
        assert doorman.ends.qsize() == 1


async def test_a_foreign_client(authority: Authority, settings: dict[str, Any]) -> None:
    """Paho, with a certificate of its own, by TLS and by WebSocket over TLS."""
    device = authority.issue("device")
    demands = {
        "wss_enabled": True, "tls_client_auth": "required", "wss_client_auth": "required",
        "tls_client_authorities": authority.root,
    }  # fmt: skip
    async with open_listeners(**settings, **demands) as (doorman, listeners):

        def visit(transport: Literal["tcp", "websockets"], address: tuple[str, int]) -> None:
            client = paho.Client(
                CallbackAPIVersion.VERSION2, transport, transport=transport, protocol=paho.MQTTv5
            )
            client.tls_set(str(authority.root), str(device.certificate), str(device.key))
            client.connect(*address)
            client.loop_start()
            client.publish("from", transport).wait_for_publish(20)
            client.disconnect()
            client.loop_stop()

        for transport, address in (("tcp", listeners.tls), ("websockets", listeners.wss)):
            assert address is not None
            visiting = asyncio.create_task(asyncio.to_thread(visit, transport, address))  # type: ignore[arg-type]
            assert (await within(doorman.published.get())).payload == transport.encode()
            assert doorman.inside[-1].certificates == (device.der, authority.own.der)
            await within(visiting)
            await within(doorman.ends.get())


async def test_websocket_over_tls(authority: Authority, settings: dict[str, Any]) -> None:
    """With the certificate of the TLS listener, and of large messages in both directions."""
    secure = settings | {"tls_enabled": False, "wss_enabled": True}
    async with open_listeners(**secure) as (doorman, listeners):
        assert listeners.tls is None
        assert listeners.wss is not None
        url = f"wss://127.0.0.1:{listeners.wss[1]}/mqtt"
        async with connect(
            url, ssl=client_context(authority), subprotocols=[Subprotocol("mqtt")], max_size=None, proxy=None
        ) as client:
            await client.send(connect_packet("c"))
            assert (await within(client.recv()))[:1] == b"\x20"
            await client.send(write_packet(Publish("t", bytes(50_000)), V5))
            assert (await within(doorman.published.get())).payload == bytes(50_000)
            [connection] = doorman.inside
            sent, came = make_slow(connection), 0
            while came < sent * 100_000:
                came += len(await within(client.recv()))
            await client.send(PINGREQ)
            assert (await within(client.recv())) == PINGRESP
        await within(doorman.ends.get())


async def test_listening_tells_all(settings: dict[str, Any]) -> None:
    every = settings | {"tcp_enabled": True, "ws_enabled": True, "wss_enabled": True}
    config = GatewayConfig(node="gw1", kafka="none", port=0, tls_port=0, ws_port=0, wss_port=0, **every)
    doorman = Doorman(ServerLimits())
    listeners = Listeners(config, doorman.over_tcp, doorman.counters)
    where = await listeners.open()
    assert listeners.tls
    assert listeners.websocket
    assert listeners.wss
    assert where == {
        "host": "127.0.0.1",
        "port": listeners.tcp[1],
        "tls": {"host": "127.0.0.1", "port": listeners.tls[1]},
        "websocket": {"host": "127.0.0.1", "port": listeners.websocket[1], "path": "/mqtt"},
        "wss": {"host": "127.0.0.1", "port": listeners.wss[1], "path": "/mqtt"},
    }
    taken = GatewayConfig(node="gw2", kafka="none", port=0, tls_port=listeners.tls[1], **settings)
    with pytest.raises(OSError, match="in use") as raised:
        await Listeners(taken, doorman.over_tcp, doorman.counters).open()
    assert raised.value.filename == f"127.0.0.1:{listeners.tls[1]}"
    listeners.close()


def test_a_listener_without_certificate_says_so() -> None:
    for enabled, words in (
        ("tls_enabled", "LISTENER_SSL_PEM_CERT"),
        ("wss_enabled", "LISTENER_WSS_PEM_CERT"),
    ):
        config = GatewayConfig(node="gw1", kafka="none", **cast(Any, {enabled: True}))
        with pytest.raises(CertificateFilesError, match=words):
            Listeners(config, lambda: pytest.fail("nobody comes"), Counters())
