"""Credentials in CSV, with the columns that users of TBMQ know; the only place where a password stands readable.

The first line names the columns, in any order: `Name`, `Kind`, `Client type`, `Client ID`, `Username`, `Password`,
`Common name`, `Common name is pattern`, `Pub auth rule patterns`, `Sub auth rule patterns`, `Description`. Patterns are
separated by `;`. A column of patterns that is missing allows everything, an empty cell in it nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from identity.answers import ClientType, Rules
from identity.credentials import (
    BasicCredentials,
    Credentials,
    Kind,
    ScramCredentials,
    X509Credentials,
    check_credentials,
)
from identity.csv_rows import Row, read_rows, yes_or_no
from identity.errors import InvalidError
from identity.passwords import hash_password, scram_verifiers

_COLUMNS = {
    "name", "kind", "client_type", "client_id", "username", "password", "common_name", "common_name_is_pattern",
    "pub_auth_rule_patterns", "sub_auth_rule_patterns", "description",
}  # fmt: skip
_E = TypeVar("_E", Kind, ClientType)


def read_credentials(lines: Iterable[str]) -> list[Credentials]:
    """Read credentials, with their passwords made unreadable. Blocking: 25 ms of a processor for each password.

    Args:
        lines: Of the file, with their ends.

    Raises:
        InvalidError: Something cannot be; the message says in which line, and holds no password.
    """
    rows = list(_rows(lines))
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # Argon2 lets other threads go on meanwhile
        return list(pool.map(_at_line, rows))


def _rows(lines: Iterable[str]) -> Iterator[tuple[int, Row]]:
    seen: dict[str, int] = {}
    for number, row in read_rows(lines, _COLUMNS, "name"):
        if row["name"] in seen:
            raise InvalidError(f"line {number}: the name stands in line {seen[row['name']]} already")
        seen[row["name"]] = number
        yield number, row


def _at_line(numbered: tuple[int, Row]) -> Credentials:
    number, row = numbered
    try:
        credentials = _credentials(row)
        check_credentials(credentials)
    except InvalidError as error:
        raise InvalidError(f"line {number}: {error}") from None
    return credentials


def _credentials(row: Row) -> Credentials:
    kind = _one_of(Kind, row.get("kind", "") or Kind.BASIC, "kind")
    client_type = _one_of(
        ClientType, (row.get("client_type", "") or ClientType.DEVICE).upper(), "client type"
    )
    rules = Rules(_patterns(row.get("pub_auth_rule_patterns")), _patterns(row.get("sub_auth_rule_patterns")))
    name, password = row["name"], row.get("password", "")
    match kind:
        case Kind.BASIC:
            return BasicCredentials(
                name=name, client_type=client_type, rules=rules,
                client_id=row.get("client_id") or None, username=row.get("username") or None,
                password_hash=hash_password(password.encode()) if password else None,
            )  # fmt: skip
        case Kind.X509:
            is_pattern = yes_or_no(row.get("common_name_is_pattern", ""), "common name is pattern")
            return X509Credentials(
                name=name, client_type=client_type, rules=rules,
                common_name=row.get("common_name", ""), is_pattern=is_pattern,
            )  # fmt: skip
        case Kind.SCRAM:
            return ScramCredentials(
                name=name, client_type=client_type, rules=rules,
                username=row.get("username", ""), verifiers=scram_verifiers(password),
            )  # fmt: skip


def _one_of(kind: type[_E], text: str, what: str) -> _E:
    try:
        return kind(text)
    except ValueError:
        raise InvalidError(f"the {what} is none that there is: write one of {', '.join(kind)}") from None


def _patterns(cell: str | None) -> tuple[str, ...] | None:
    if cell is None:
        return None
    return tuple(pattern for pattern in (piece.strip() for piece in cell.split(";")) if pattern)
