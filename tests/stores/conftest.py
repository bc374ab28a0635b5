"""One server of each kind for all tests of the stores, and an empty store on it for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stores import Limits, Store, open_store
from tests.stores.servers import StoreServer, running


class Clock:
    """A clock that a test moves."""

    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="session", params=["redis", "cluster", "sqlite", "postgresql"])
def server(request: pytest.FixtureRequest) -> Iterator[StoreServer]:
    """Each kind of server in turn."""
    with running(request.param) as server:
        yield server


@pytest.fixture
def clock() -> Clock:
    """The clock of `store`."""
    return Clock()


@pytest.fixture
def reopen(server: StoreServer, clock: Clock) -> Iterator[Callable[..., Store]]:
    """Open this test's store, again and with other limits if need be."""
    arguments: dict[str, Any] = server.fresh()
    opened: list[Store] = []

    def reopen(limits: Limits = Limits(messages=100, ttl_seconds=60)) -> Store:  # noqa: B008
        opened.append(open_store(**arguments, limits=limits, clock=clock))
        return opened[-1]

    yield reopen
    for store in opened:
        store.close()


@pytest.fixture
def store(reopen: Callable[..., Store]) -> Store:
    """An empty store that keeps 100 messages of a client, for a minute."""
    return reopen()
