"""Databases for the tests of identity: a file of SQLite each, and for some tests one in a PostgreSQL, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from identity.database import Database, open_database
from tests.stores.servers import StoreServer, running


class Clock:
    """A clock that a test moves."""

    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """The clock of `database` and `both`."""
    return Clock()


@pytest.fixture
def open_it(clock: Clock) -> Iterator[Callable[[str], Database]]:
    """Open databases, which are closed after the test."""
    opened: list[Database] = []

    def open_it(url: str) -> Database:
        opened.append(open_database(url, clock=clock))
        return opened[-1]

    yield open_it
    for database in opened:
        database.close()


@pytest.fixture
def database(tmp_path: Path, open_it: Callable[[str], Database]) -> Database:
    """An empty database."""
    return open_it(f"sqlite:///{tmp_path}/identity.db")


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def server(request: pytest.FixtureRequest) -> Iterator[StoreServer]:
    """Each kind of database server in turn."""
    with running(request.param) as server:
        yield server


@pytest.fixture
def both(server: StoreServer, open_it: Callable[[str], Database]) -> Database:
    """An empty database of each kind in turn."""
    return open_it(server.fresh()["url"])
