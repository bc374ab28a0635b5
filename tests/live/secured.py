"""Two gateways on the shared stack that ask who their clients are, behind TLS with certificates on both sides."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from admin.stack.embedded import Stack
from admin.stack.gateway import ROUTED, SECONDS_TO_START, MqttAddress, gateway_part
from admin.stack.ports import free_ports
from admin.stack.supervisor import Supervisor
from identity.answers import Rules
from identity.credentials import BasicCredentials, ScramCredentials, X509Credentials
from identity.database import open_database
from identity.passwords import hash_password, scram_verifiers
from identity.stored_credentials import StoredCredentials
from tests.edge.gateway.listeners.guarded.authority import Authority, Issued
from tests.edge.gateway.listeners.guarded.tls_clients import client_context
from tests.identity.providers.tokens import SECRET

PASSWORD = "right"


@dataclass(frozen=True)
class Secured:
    """Where the two gateways are, and what clients of theirs need."""

    plain: list[MqttAddress]
    """Of MQTT over TCP, which asks as well."""
    tls: list[MqttAddress]
    """`port` and `websocket_port` are those with TLS."""
    authority: Authority
    device: Issued
    """The certificate of a client that may come."""
    stranger: Issued
    """That of one which the authority knows, and no credentials name."""
    database: str

    def context(self, own: Issued | None) -> ssl.SSLContext:
        """For a client with such a certificate."""
        return client_context(self.authority, own)

    def sluicemq(self, *words: str) -> None:
        """Run the command on the gateways' database."""
        subprocess.run(
            [sys.executable, "-m", "admin", *words],
            env=os.environ | {"SLUICEMQ_DATABASE": self.database},
            check=True,
            timeout=120,
        )


def _store(url: str) -> None:
    database = open_database(url)
    stored = StoredCredentials(database)
    hashed = hash_password(PASSWORD.encode())
    stored.add(X509Credentials(name="devices", common_name="device-.*", is_pattern=True))
    stored.add(BasicCredentials(name="ann", username="ann", password_hash=hashed))
    for name in ("changed", "blocked", "narrowed"):
        rules = Rules(publish=(f"{name}/.*",), subscribe=(f"{name}/.*",))
        stored.add(BasicCredentials(name=name, username=name, password_hash=hashed, rules=rules))
    verifiers = scram_verifiers(PASSWORD)
    rules = Rules(publish=("of/${username}/.*",))
    stored.add(ScramCredentials(name="sue", username="sue", verifiers=verifiers, rules=rules))
    database.close()


@contextmanager
def secured_gateways(stack: Stack, folder: Path) -> Iterator[Secured]:
    """Run them: their nodes are new, so the stack's own gateways keep theirs."""
    authority = Authority(folder / "authority")
    own = authority.issue("server", is_server=True)
    url = f"sqlite:///{folder}/identity.db"
    _store(url)
    settings = {
        "LISTENER_SSL_ENABLED": "true",
        "LISTENER_SSL_PEM_CERT": str(own.certificate),
        "LISTENER_SSL_PEM_KEY": str(own.key),
        "SLUICEMQ_SSL_CLIENT_AUTH": "required",
        "SLUICEMQ_SSL_CLIENT_CA": str(authority.root),
        "LISTENER_WSS_ENABLED": "true",
        "SLUICEMQ_WSS_CLIENT_AUTH": "required",
        "SLUICEMQ_DATABASE": url,
        "SLUICEMQ_AUTH_PROVIDERS": "scram,jwt,basic,x509",
        "SLUICEMQ_AUTH_JWT_SECRET": SECRET,
        "SLUICEMQ_AUTH_SCRAM_SECRET": "a secret of some length",
    }
    plain, tls = [], []
    with Supervisor(folder / "logs") as supervisor:
        for number in (1, 2):
            port, tls_port, wss_port = free_ports(3)
            node = f"secured{number}-{os.getpid()}"
            plain.append(MqttAddress(node, "127.0.0.1", port))
            tls.append(MqttAddress(node, "127.0.0.1", tls_port, wss_port))
            ports = {"LISTENER_SSL_BIND_PORT": str(tls_port), "LISTENER_WSS_BIND_PORT": str(wss_port)}
            supervisor.start(gateway_part(plain[-1], stack.kafka, stack.store, settings | ports))
        for address in plain:
            supervisor.wait_for(address.node, ROUTED, SECONDS_TO_START)
        device, stranger = authority.issue("device-7"), authority.issue("stranger")
        yield Secured(plain, tls, authority, device, stranger, url)
