"""A listener's certificate, key and authorities: read from PEM files, and read again when they change.

Whoever connects is served with what was read last; connections that are there go on as they are. Files that can't be
used do not replace those that could: a rollout that writes the certificate before the key is no outage.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import SecretStr

from edge.gateway.errors import CertificateFilesError

log = logging.getLogger(__name__)


class ClientAuth(StrEnum):
    """Whether clients show a certificate."""

    OFF = "off"
    OPTIONAL = "optional"
    """Who shows one must show a valid one."""
    REQUIRED = "required"


@dataclass(frozen=True)
class CertificateFiles:
    """Where a listener's certificates are."""

    certificate: Path
    """Its own, and those between it and its authority."""
    key: Path | None = None
    """The private key; in the certificate's file where there is none."""
    key_password: SecretStr | None = None
    client_auth: ClientAuth = ClientAuth.OFF
    client_authorities: Path | None = None
    """Whose certificates are taken from clients."""

    @property
    def paths(self) -> list[Path]:
        """All files there are."""
        found = [self.certificate, self.key]
        if self.client_auth is not ClientAuth.OFF:
            found.append(self.client_authorities)
        return [path for path in found if path is not None]


class Certificates:
    """What the files hold.

    Args:
        listener: Whose they are, for messages.
        files: Where they are.

    Raises:
        CertificateFilesError: They can't be used.
    """

    def __init__(self, listener: str, files: CertificateFiles) -> None:
        self._listener = listener
        self._files = files
        self._seen = self._look()
        self.context = _read(listener, files)
        """For connections that begin now."""

    def reload(self) -> bool:
        """Read the files again; the log says what came of it, and the return value whether they are in use."""
        self._seen = self._look()
        try:
            self.context = _read(self._listener, self._files)
        except CertificateFilesError as error:
            log.warning("kept the certificate that was there: %s", error)
            return False
        log.info("the %s listener has a new certificate", self._listener)
        return True

    def reload_if_changed(self) -> bool:
        """Read the files again if they are not those that were read, or tried, last."""
        return self._look() != self._seen and self.reload()

    def _look(self) -> list[tuple[int, ...] | None]:
        """What tells one state of the files from another."""
        return [_state(path) for path in self._files.paths]


def _state(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino, found.st_dev


def _read(listener: str, files: CertificateFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION  # costs the client nothing, and us a handshake
    _check(listener, "certificate", files.certificate, b"CERTIFICATE-----")
    key = files.key or files.certificate
    _check(listener, "private key", key, b"PRIVATE KEY-----")
    # Without a password OpenSSL would ask for one on the terminal.
    password = files.key_password.get_secret_value() if files.key_password else ""
    _try(
        lambda: context.load_cert_chain(files.certificate, key, password),
        f"The {listener} listener cannot use the certificate {files.certificate} with the key {key}",
        "give a key that belongs to the certificate, and its password if it has one",
    )
    if files.client_auth is not ClientAuth.OFF:
        _demand_certificates(listener, context, files)
    return context


def _demand_certificates(listener: str, context: ssl.SSLContext, files: CertificateFiles) -> None:
    """Have clients show a certificate."""
    authorities = files.client_authorities
    if authorities is None:
        raise CertificateFilesError(
            f"The {listener} listener is to check clients' certificates: name the file of their authorities."
        )
    _check(listener, "clients' authorities", authorities, b"CERTIFICATE-----")
    _try(
        lambda: context.load_verify_locations(authorities),
        f"The {listener} listener cannot use the clients' authorities {authorities}",
        "give certificates in PEM",
    )
    is_optional = files.client_auth is ClientAuth.OPTIONAL
    context.verify_mode = ssl.CERT_OPTIONAL if is_optional else ssl.CERT_REQUIRED
    # A session that is resumed brings its client's certificate without those above it.
    context.num_tickets = 0
    context.options |= ssl.OP_NO_TICKET


def _check(listener: str, what: str, path: Path, mark: bytes) -> None:
    """Tell at once which file is wrong; OpenSSL does not."""
    start = f"The {listener} listener's {what} {path}"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CertificateFilesError(
            f"{start} cannot be read ({error.strerror}): name a file that can."
        ) from error
    if mark not in content:
        raise CertificateFilesError(f"{start} is none in PEM: name a file that has one.")


def _try(load: Callable[[], None], failure: str, advice: str) -> None:
    try:
        load()
    except (OSError, ValueError) as error:  # SSLError is an OSError; a password may be too long
        reason = getattr(error, "reason", None) or str(error)
        raise CertificateFilesError(f"{failure} ({reason}): {advice}.") from error
