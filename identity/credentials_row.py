"""Credentials to and from their row, and the keys that they are found by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Row

from identity.answers import ClientType, Rules
from identity.credentials import (
    BasicCredentials,
    Credentials,
    Kind,
    ScramCredentials,
    ScramVerifier,
    X509Credentials,
)
from identity.models import CredentialsRow


def key_of(*values: str | bool | None) -> str:
    """One key of several values, in which None differs from every text."""
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def basic_key(client_id: str | None, username: str | None) -> str:
    """What basic credentials for a client id, a user name, or both are found by."""
    return key_of(Kind.BASIC, client_id, username)


def scram_key(username: str) -> str:
    """What SCRAM credentials are found by."""
    return key_of(Kind.SCRAM, username)


def read(row: CredentialsRow | Row[Any]) -> Credentials:
    """The credentials that a row holds, or a row of a query with the same columns."""
    rules = Rules(_decode_patterns(row.publish_rules), _decode_patterns(row.subscribe_rules))
    client_type = ClientType(row.client_type)
    match Kind(row.kind):
        case Kind.BASIC:
            return BasicCredentials(
                name=row.name, client_type=client_type, rules=rules, id=row.id, revision=row.revision,
                client_id=row.client_id, username=row.username, password_hash=row.password_hash,
            )  # fmt: skip
        case Kind.X509:
            return X509Credentials(
                name=row.name, client_type=client_type, rules=rules, id=row.id, revision=row.revision,
                common_name=row.common_name or "", is_pattern=row.is_pattern,
            )  # fmt: skip
        case Kind.SCRAM:
            return ScramCredentials(
                name=row.name, client_type=client_type, rules=rules, id=row.id, revision=row.revision,
                username=row.username or "", verifiers=_decode_verifiers(row.verifiers or "{}"),
            )  # fmt: skip


def write(row: CredentialsRow, credentials: Credentials, revision: int) -> None:
    """Make a row hold credentials, whatever it held before."""
    row.name = credentials.name
    row.client_type = credentials.client_type
    row.publish_rules = _encode_patterns(credentials.rules.publish)
    row.subscribe_rules = _encode_patterns(credentials.rules.subscribe)
    row.revision = revision
    row.client_id = row.username = row.password_hash = row.common_name = row.verifiers = None
    row.is_pattern = False
    match credentials:
        case BasicCredentials():
            row.kind, row.lookup_key = Kind.BASIC, basic_key(credentials.client_id, credentials.username)
            row.client_id, row.username = credentials.client_id, credentials.username
            row.password_hash = credentials.password_hash
        case X509Credentials():
            row.kind = Kind.X509
            row.lookup_key = key_of(Kind.X509, credentials.common_name, credentials.is_pattern)
            row.common_name, row.is_pattern = credentials.common_name, credentials.is_pattern
        case ScramCredentials():
            row.kind, row.lookup_key = Kind.SCRAM, scram_key(credentials.username)
            row.username = credentials.username
            row.verifiers = _encode_verifiers(credentials.verifiers)


def _encode_patterns(patterns: tuple[str, ...] | None) -> str | None:
    return None if patterns is None else json.dumps(patterns, ensure_ascii=False)


def _decode_patterns(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(json.loads(text))


def _encode_verifiers(verifiers: Mapping[str, ScramVerifier]) -> str:
    return json.dumps(
        {
            mechanism: [one.iterations, one.salt.hex(), one.stored_key.hex(), one.server_key.hex()]
            for mechanism, one in verifiers.items()
        }
    )


def _decode_verifiers(text: str) -> dict[str, ScramVerifier]:
    return {
        mechanism: ScramVerifier(iterations, *(bytes.fromhex(value) for value in values))
        for mechanism, (iterations, *values) in json.loads(text).items()
    }
