"""Clients that were turned away lately, for the administration: one line for each client id, the newest are kept.

Whoever may not come in decides what stands here, and how often: names are cut, and the number of lines is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from identity.credentials_row import key_of
from identity.database import Database
from identity.models import UnauthorizedRow

TTL_SECONDS = 3 * 86_400
LIMIT = 10_000
"""Lines that are kept."""
LONGEST = 256
"""Characters of a name or a reason that are kept."""


@dataclass(frozen=True, slots=True)
class Unauthorized:
    """A client that was turned away."""

    client_id: str
    address: str
    username: str | None
    reason: str
    at_ms: int
    """The last time, since 1970."""
    attempts: int = 1
    """How often, since it came onto the list."""


class UnauthorizedClients:
    """The list in a database.

    Blocking: call it in a thread. Every method raises `DatabaseUnavailableError` where the database does not answer.
    """

    def __init__(self, database: Database, limit: int = LIMIT, ttl_seconds: float = TTL_SECONDS) -> None:
        """Of this database; what is older, or more, is dropped when something is recorded, and never listed."""
        self._database = database
        self._limit = limit
        self._ttl_ms = int(ttl_seconds * 1000)

    def record(self, clients: Iterable[Unauthorized]) -> None:
        """Record some, in one transaction: gather them for a second or so, as each one costs the disk."""
        # In one order everywhere: two gateways that record the same clients must not wait for each other.
        ordered = sorted(((key_of(client.client_id), client) for client in clients), key=lambda pair: pair[0])
        with self._database.writing() as session:
            for key, client in ordered:
                session.execute(_upsert(session, key, client))
            session.execute(delete(UnauthorizedRow).where(UnauthorizedRow.last_at < self._oldest()))
            count = session.scalars(select(func.count()).select_from(UnauthorizedRow)).one()
            if count > self._limit:
                oldest = (
                    select(UnauthorizedRow.client_key)
                    .order_by(UnauthorizedRow.last_at)
                    .limit(count - self._limit)
                )
                session.execute(delete(UnauthorizedRow).where(UnauthorizedRow.client_key.in_(oldest)))

    def list(self, limit: int = LIMIT) -> list[Unauthorized]:
        """The newest, newest first."""
        newest = (
            select(UnauthorizedRow)
            .where(UnauthorizedRow.last_at >= self._oldest())
            .order_by(UnauthorizedRow.last_at.desc(), UnauthorizedRow.client_key)
            .limit(limit)
        )
        with self._database.reading() as session:
            return [
                Unauthorized(row.client_id, row.address, row.username, row.reason, row.last_at, row.attempts)
                for row in session.scalars(newest)
            ]

    def remove(self, client_id: str) -> bool:
        """Take a client id off the list; whether it was on it."""
        gone = delete(UnauthorizedRow).where(UnauthorizedRow.client_key == key_of(client_id))
        with self._database.writing() as session:
            return bool(session.scalars(gone.returning(UnauthorizedRow.client_key)).all())

    def clear(self) -> int:
        """Empty the list; returns how many were on it."""
        with self._database.writing() as session:
            return len(session.scalars(delete(UnauthorizedRow).returning(UnauthorizedRow.client_key)).all())

    def _oldest(self) -> int:
        return self._database.now_ms() - self._ttl_ms


def _upsert(session: Session, key: str, client: Unauthorized) -> Any:
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    now: dict[str, Any] = {
        "address": _cut(client.address),
        "username": None if client.username is None else _cut(client.username),
        "reason": _cut(client.reason),
        "last_at": client.at_ms,
    }
    first = {"client_key": key, "client_id": _cut(client.client_id), "attempts": client.attempts}
    return (
        insert(UnauthorizedRow)
        .values(**first, **now)
        .on_conflict_do_update(
            index_elements=[UnauthorizedRow.client_key],
            set_={**now, "attempts": UnauthorizedRow.attempts + client.attempts},
        )
    )


def _cut(text: str) -> str:
    # PostgreSQL has no U+0000, and no database has what is no text in UTF-8.
    plain = text.replace("\0", "�").encode(errors="replace").decode()
    return plain if len(plain) <= LONGEST else plain[: LONGEST - 1] + "…"
