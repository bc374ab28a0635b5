"""Credentials as the database keeps them, one class for each kind, and what providers ask of the database.

Only secrets that are made unreadable stand here: Argon2 hashes and salted SCRAM keys. None is shown by `repr`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Protocol

from identity.answers import NO_RULES, ClientType, Rules
from identity.errors import InvalidError
from identity.patterns import CLIENT_ID, USERNAME, check_pattern
from identity.rules import check_rules, placeholders
from identity.scram_names import prepared_name

MAX_NAME_BYTES = 65_535  # a string in MQTT has a two-byte length


class Kind(StrEnum):
    """How clients prove that credentials are theirs."""

    BASIC = "basic"
    X509 = "x509"
    SCRAM = "scram"


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What credentials of every kind have."""

    name: str
    """Unique; what the administration calls them by."""
    client_type: ClientType = ClientType.DEVICE
    rules: Rules = NO_RULES
    id: int | None = None
    """The database's; None for credentials that are not stored yet."""
    revision: int = 0
    """That of the change which wrote them last: it grows with each change of any credentials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BasicCredentials(Described):
    """A client id, a user name, or both, and a password. What is None may be anything, or missing, in CONNECT."""

    kind: ClassVar[Kind] = Kind.BASIC

    client_id: str | None = None
    username: str | None = None
    password_hash: str | None = field(default=None, repr=False)
    """Argon2, in its usual form (`$argon2id$…`). None: no password is asked for, and any is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class X509Credentials(Described):
    """A common name that a certificate along the client's chain must have."""

    kind: ClassVar[Kind] = Kind.X509

    common_name: str
    is_pattern: bool = False
    """Whether `common_name` is a pattern (RE2) that must match the whole name, not the name itself."""


@dataclass(frozen=True, slots=True)
class ScramVerifier:
    """What a server keeps of a password for SCRAM (RFC 5802, section 3): nobody can log in with it."""

    iterations: int
    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramCredentials(Described):
    """A user name, and a verifier for each mechanism that it may use."""

    kind: ClassVar[Kind] = Kind.SCRAM

    username: str
    verifiers: Mapping[str, ScramVerifier]
    """By mechanism: `SCRAM-SHA-256`, `SCRAM-SHA-512`."""


Credentials = BasicCredentials | X509Credentials | ScramCredentials


def check_credentials(credentials: Credentials) -> None:
    """Check credentials before they are stored.

    Raises:
        InvalidError: They could never let anybody in, or say what cannot be.
    """
    check_name(credentials.name, "name of the credentials", 255)
    check_rules(credentials.rules)
    match credentials:
        case BasicCredentials():
            if credentials.client_id is None and credentials.username is None:
                raise InvalidError(
                    f"the credentials {credentials.name!r} need a client id, a user name, or both"
                )
            for value, what in ((credentials.client_id, "client id"), (credentials.username, "user name")):
                if value is not None:
                    check_name(value, what)
        case X509Credentials():
            check_name(credentials.common_name, "common name")
            if credentials.is_pattern:
                check_pattern(credentials.common_name, placeholders=False)
        case ScramCredentials():
            check_name(credentials.username, "user name")
            if (prepared := prepared_name(credentials.username)) != credentials.username:
                raise InvalidError(f"for SCRAM the user name is {prepared!r}: write it so")
            if not credentials.verifiers:
                raise InvalidError(f"the credentials {credentials.name!r} need a password")


def unproven_placeholders(credentials: Credentials) -> set[str]:
    """Placeholders in the rules for which the credentials say no name.

    For a client id, a client may give any; a user name counts only where it is proven, so such rules allow nothing.
    """
    match credentials:
        case BasicCredentials():
            proven = {CLIENT_ID: credentials.client_id, USERNAME: credentials.username}
        case X509Credentials():
            proven = {USERNAME: credentials.common_name}  # that of the client's own certificate
        case ScramCredentials():
            proven = {USERNAME: credentials.username}
    return {name for name in placeholders(credentials.rules) if proven.get(name) is None}


def check_name(name: str, what: str, longest: int = MAX_NAME_BYTES) -> None:
    """Check a text that stands for somebody; `longest` in bytes of UTF-8.

    Raises:
        InvalidError: It is empty or too long, or no text that MQTT allows.
    """
    if not name:
        raise InvalidError(f"the {what} is empty: give it at least one character")
    try:
        length = len(name.encode())
    except UnicodeEncodeError:
        raise InvalidError(f"the {what} is not valid UTF-8: write it anew") from None
    if length > longest:
        raise InvalidError(f"the {what} has {length} bytes of UTF-8, {longest} are allowed: shorten it")
    if "\0" in name:
        raise InvalidError(f"the {what} holds U+0000, which MQTT forbids: take it out")


class X509Lookup(Protocol):
    """What the X.509 provider asks of the database. Blocking: call it in a thread."""

    def x509(self) -> Sequence[X509Credentials]:
        """All of this kind, exact names before patterns, each by name.

        Raises:
            DatabaseUnavailableError: The database does not answer (`identity.errors`).
        """
        ...

    def revision(self) -> int:
        """Grows with each change of any credentials; cheap, so that what was read may be kept until it grows."""
        ...


class ScramLookup(Protocol):
    """What the SCRAM provider asks of the database. Blocking: call it in a thread."""

    def scram(self, username: str) -> ScramCredentials | None:
        """Those of a user name; None where there are none.

        Raises:
            DatabaseUnavailableError: The database does not answer (`identity.errors`).
        """
        ...
