"""Opens the database of identity, and keeps a revision for each group of its tables.

Every change raises its group's revision in its own transaction, and changes of one group wait for one another: whoever
sees a revision sees all changes up to it. Blocking throughout: a gateway calls it in a thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum

from sqlalchemy import Connection, Engine, exc, select, update
from sqlalchemy.orm import Session

from identity.engine import create, shown
from identity.errors import DatabaseUnavailableError
from identity.models import RevisionRow
from stores import sql_engine

_REVISIONS = select(RevisionRow.table_group, RevisionRow.revision)


class Group(StrEnum):
    """Tables that change together."""

    CREDENTIALS = "credentials"
    USERS = "users"
    SHARED_SUBSCRIPTIONS = "shared_subscriptions"
    BLOCKED = "blocked"
    AUTHENTICATION = "authentication"


class Database:
    """A database whose tables are up to date. `open_database` makes one; the repositories work on it."""

    def __init__(self, engine: Engine, shown_url: str, clock: Callable[[], float] = time.time) -> None:
        """`engine` as `identity.engine.create` makes it; `shown_url` has no password; `clock`: seconds since 1970."""
        self._engine = engine
        self._reader = sql_engine.reading(engine)
        self._writer = sql_engine.writing(engine)
        self._shown_url = shown_url
        self._clock = clock

    def revisions(self) -> dict[Group, int]:
        """The revision of each group; one small query, to be asked every second."""
        with self.asking() as connection:
            rows = connection.execute(_REVISIONS).all()
        known = {row.table_group: row.revision for row in rows}
        return {group: known[group] for group in Group}

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return int(self._clock() * 1000)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A transaction that sees one state of the database throughout.

        Raises:
            DatabaseUnavailableError: The database does not answer.
        """
        with self._reaching(), Session(self._reader) as session, session.begin():
            yield session

    @contextmanager
    def asking(self) -> Iterator[Connection]:
        """The same for statements that are made beforehand, which a `Session` would only slow down.

        Raises:
            DatabaseUnavailableError: The database does not answer.
        """
        with self._reaching(), self._reader.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A transaction that writes what has no revision; it is undone when the block raises.

        Raises:
            DatabaseUnavailableError: The database does not answer.
        """
        with self._reaching(), Session(self._writer) as session, session.begin():
            yield session

    @contextmanager
    def changing(self, group: Group) -> Iterator[tuple[Session, int]]:
        """A transaction that changes a group, and the revision that it makes; undone, both, when the block raises.

        Raises:
            DatabaseUnavailableError: The database does not answer.
        """
        with self.writing() as session:
            raised = (
                update(RevisionRow)
                .where(RevisionRow.table_group == group)
                .values(revision=RevisionRow.revision + 1)
                .returning(RevisionRow.revision)
            )
            yield session, session.scalars(raised).one()

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except exc.SQLAlchemyError as error:
            raise DatabaseUnavailableError(self._shown_url, sql_engine.reason(error)) from None


def open_database(url: str, *, clock: Callable[[], float] = time.time) -> Database:
    """Open a database once it answers; its tables are made, or brought up to date, if need be.

    Args:
        url: `sqlite:///file` (four slashes for an absolute path; the file is made readable for its owner only) or
            `postgresql://[user:password@]host[:port]/database`.
        clock: Seconds since 1970; a test's own.

    Raises:
        DatabaseUrlError: The URL names no database that there is.
        DatabaseUnavailableError: It does not answer.
    """
    return Database(create(url), shown(url), clock)
