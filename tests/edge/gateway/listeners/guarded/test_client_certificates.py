"""Certificates: those that clients show, and the listener's own when it changes."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest

from edge.gateway.server import reload_on_hangup
from tests.edge.gateway.listeners.doorman import open_listeners, within
from tests.edge.gateway.listeners.guarded.authority import Authority
from tests.edge.gateway.listeners.guarded.tls_clients import (
    client_context,
    connect_packet,
    tls_client,
)
from tests.live.peers import eventually


async def shown(settings: dict[str, Any], own: ssl.SSLContext) -> tuple[bytes, ...] | None:
    """The certificates that a client with such a context has shown; None where it is not let in."""
    async with open_listeners(**settings) as (doorman, listeners):
        try:
            async with tls_client(listeners.tls, own) as client:
                await client.enter()
                return doorman.inside[0].certificates
        except (OSError, asyncio.IncompleteReadError):
            await eventually(lambda: doorman.counters.failed_handshakes == 1, "it is counted")
            assert (doorman.inside, doorman.counters.connections) == ([], 0)
            return None


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_clients_certificates(
    authority: Authority, settings: dict[str, Any], tmp_path: Path, version: ssl.TLSVersion
) -> None:
    """The whole verified chain is known; what is not valid, or not of the authorities, or none, is not let in."""
    factory = Authority(tmp_path / "factory", "factory", above=authority)
    device = factory.issue("device")
    strangers = Authority(tmp_path / "strangers")
    required = settings | {"tls_client_auth": "required", "tls_client_authorities": authority.root}
    optional = required | {"tls_client_auth": "optional"}
    chain = (device.der, factory.own.der, authority.own.der)
    for own, by_required, by_optional in (
        (device, chain, chain),
        (None, None, ()),
        (strangers.issue("stranger"), None, None),
        (factory.issue("expired", days=-1), None, None),
        (factory.issue("of-a-server", is_server=True), None, None),
    ):
        context = client_context(authority, own)
        context.minimum_version = context.maximum_version = version
        assert await shown(required, context) == by_required
        assert await shown(optional, context) == by_optional
        assert await shown(settings, context) == ()


async def test_what_is_shown_beside_the_chain_proves_nothing(
    authority: Authority, settings: dict[str, Any], tmp_path: Path
) -> None:
    device, administrator = authority.issue("device"), authority.issue("administrator")
    both = tmp_path / "both.pem"
    both.write_bytes(device.certificate.read_bytes() + administrator.certificate.read_bytes())
    context = client_context(authority)
    context.load_cert_chain(both, device.key)
    required = settings | {"tls_client_auth": "required", "tls_client_authorities": authority.root}
    assert await shown(required, context) == (device.der, authority.own.der)


async def test_a_resumed_session_shows_its_own_certificate(
    authority: Authority, settings: dict[str, Any]
) -> None:
    """Sessions of TLS 1.2 may be resumed by their id; the client is who it was, but the chain is not told again."""
    device = authority.issue("device")
    context = client_context(authority, device)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    required = settings | {"tls_client_auth": "required", "tls_client_authorities": authority.root}
    async with open_listeners(**required) as (doorman, listeners):
        assert listeners.tls is not None

        def visit(session: ssl.SSLSession | None) -> ssl.SSLSession | None:
            bare = socket.create_connection(listeners.tls or ("", 0), 20)
            with context.wrap_socket(bare, server_hostname="127.0.0.1", session=session) as client:
                client.sendall(connect_packet("c"))
                assert client.recv(1_000)[:1] == b"\x20"
                assert client.session_reused is (session is not None)
                session = client.session
                client.unwrap()  # a session that was not ended properly is not resumed
                return session

        session = await within(asyncio.to_thread(visit, None))
        await within(doorman.ends.get())
        seen: list[tuple[bytes, ...]] = []
        doorman.arrived = lambda connection: seen.append(connection.certificates)
        await within(asyncio.to_thread(visit, session))
        await within(doorman.ends.get())
        assert seen == [(device.der,)]


@pytest.mark.parametrize("signalled", [False, True])
async def test_a_new_certificate_while_clients_stay(
    authority: Authority, settings: dict[str, Any], tmp_path: Path, signalled: bool
) -> None:
    """By the files' change or by SIGHUP: new clients see the new one, those who are in go on."""
    first, second = authority.issue("first", is_server=True), authority.issue("second", is_server=True)
    own, key = tmp_path / "own.pem", tmp_path / "own.key"
    shutil.copy(first.certificate, own)
    shutil.copy(first.key, key)
    interval = 0.0 if signalled else 0.05
    changing = settings | {"tls_certificate": own, "tls_key": key, "certificates_interval": interval}
    context = client_context(authority)
    async with open_listeners(**changing) as (_, listeners), tls_client(listeners.tls, context) as early:
        if signalled:
            reload_on_hangup(listeners)
        await early.enter("early")
        assert early.server_certificate == first.der
        shutil.copy(second.certificate, own)
        shutil.copy(second.key, key)
        if signalled:
            async with tls_client(listeners.tls, context) as unchanged:
                assert unchanged.server_certificate == first.der
            os.kill(os.getpid(), signal.SIGHUP)
        certificate: bytes | None = first.der
        async with asyncio.timeout(20):
            while certificate == first.der:
                async with tls_client(listeners.tls, context) as late:
                    certificate = late.server_certificate
                    await late.enter("late")
        assert certificate == second.der
        await early.ping()
        asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)
