"""Ways in that are measured, one broker each: nobody asked, passwords, certificates; ours and mosquitto alike."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from admin.errors import AdminError
from admin.stack.ports import free_ports
from bench.brokers import OURS, Broker, amqtt, mosquitto
from bench.certificates import CLIENT, CertificateSet, write_certificates
from bench.load.visits import password_of, user_of
from bench.stacks import KafkaAlone
from identity.answers import Rules
from identity.credentials import BasicCredentials, X509Credentials
from identity.database import open_database
from identity.passwords import hash_password
from identity.stored_credentials import StoredCredentials

_OPEN = "allow_anonymous true"


@contextmanager
def open_brokers(kafka: KafkaAlone, folder: Path) -> Iterator[dict[str, Broker]]:
    """Brokers that let everybody in."""
    with ExitStack() as running, kafka.gateway("gw1", {}) as (address, pid):
        peers = {
            "mosquitto": running.enter_context(mosquitto(folder)),
            "amqtt": running.enter_context(amqtt(folder)),
        }
        found = {name: peer for name, peer in peers.items() if peer is not None}
        yield {OURS: _ours(kafka, pid, address.port)} | found


@contextmanager
def password_brokers(
    kafka: KafkaAlone, folder: Path, users: int, rules: Rules | None = None, acl: Sequence[str] = (),
    node: str = "gw2",
) -> Iterator[dict[str, Broker]]:  # fmt: skip
    """Brokers that know so many users, `user-0` and so on.

    Args:
        kafka: What ours is on.
        folder: For files.
        users: How many there are; hashing their passwords takes 25 ms each.
        rules: What `user-0` may do with ours, where it may not do everything.
        acl: The lines of the peer's `acl_file`, which then holds for everybody.
        node: The node id of our gateway.
    """
    folder.mkdir(exist_ok=True)
    url = f"sqlite:///{folder / 'identity.db'}"
    _store_users(url, users, rules)
    settings = {"SLUICEMQ_DATABASE": url, "SLUICEMQ_AUTH_PROVIDERS": "basic"}
    with kafka.gateway(node, settings) as (address, pid), ExitStack() as running:
        brokers = {OURS: _ours(kafka, pid, address.port)}
        lines = [f"password_file {_password_file(folder, users)}"]
        if acl:
            (folder / "acl").write_text("\n".join(acl) + "\n")
            lines.append(f"acl_file {folder / 'acl'}")
        if (peer := running.enter_context(mosquitto(folder, "\n".join(lines)))) is not None:
            brokers["mosquitto"] = peer
        yield brokers


@contextmanager
def certificate_brokers(
    kafka: KafkaAlone, folder: Path
) -> Iterator[tuple[dict[str, Broker], CertificateSet]]:
    """Brokers that know clients by their certificates, on a port for TLS."""
    folder.mkdir(exist_ok=True)
    files = write_certificates(folder)
    url = f"sqlite:///{folder / 'identity.db'}"
    database = open_database(url)
    try:
        StoredCredentials(database).put([X509Credentials(name=CLIENT, common_name=CLIENT)])
    finally:
        database.close()
    (port,) = free_ports(1)
    settings = {
        "SLUICEMQ_DATABASE": url,
        "SLUICEMQ_AUTH_PROVIDERS": "x509",
        "LISTENER_SSL_ENABLED": "true",
        "LISTENER_SSL_BIND_PORT": str(port),
        "LISTENER_SSL_PEM_CERT": str(files.broker),
        "SLUICEMQ_SSL_CLIENT_AUTH": "required",
        "SLUICEMQ_SSL_CLIENT_CA": str(files.authority),
    }
    access = (
        f"cafile {files.authority}\ncertfile {files.broker}\nkeyfile {files.broker}\n"
        "require_certificate true\nuse_identity_as_username true"
    )
    with kafka.gateway("gw3", settings) as (_, pid), ExitStack() as running:
        brokers = {OURS: _ours(kafka, pid, port)}
        if (peer := running.enter_context(mosquitto(folder, access))) is not None:
            brokers["mosquitto"] = peer
        yield brokers, files


def _ours(kafka: KafkaAlone, pid: int, port: int) -> Broker:
    return Broker(OURS, (port,), pid, {OURS: pid, "kafka": kafka.supervisor.pid("kafka")})


def _store_users(url: str, users: int, rules: Rules | None) -> None:
    def of(number: int) -> BasicCredentials:
        return BasicCredentials(
            name=user_of(number),
            username=user_of(number),
            password_hash=hash_password(password_of(number).encode()),
            rules=rules if rules is not None and number == 0 else Rules(),
        )

    database = open_database(url)
    try:
        StoredCredentials(database).put([of(number) for number in range(users)])
    finally:
        database.close()


def _password_file(folder: Path, users: int) -> Path:
    """Mosquitto's, hashed by its own program where it is installed."""
    file = folder / "passwords"
    file.write_text("".join(f"{user_of(number)}:{password_of(number)}\n" for number in range(users)))
    program = shutil.which("mosquitto_passwd")
    if program is not None:
        done = subprocess.run([program, "-U", str(file)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise AdminError(f"mosquitto_passwd failed: {done.stderr.strip()}")
    return file
