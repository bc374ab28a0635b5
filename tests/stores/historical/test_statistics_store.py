"""Statistics on SQLite and PostgreSQL: each record once, and points for charts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from contracts.historical_record import HistoricalRecord
from stores import StalePositionError
from stores.historical import Point, StatisticsStore
from tests.stores.servers import running


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    with running(request.param) as server:
        yield str(server.fresh()["url"])


@pytest.fixture
def store(url: str) -> Iterator[StatisticsStore]:
    with closing(StatisticsStore(url)) as store:
        yield store
        store.drop_older(1 << 60)


def record(at_ms: int, publishes: int, node: str = "gw1") -> HistoricalRecord:
    return HistoricalRecord(node, at_ms, {"publishes": publishes, "durable": 1})


def test_points_of_steps(store: StatisticsStore) -> None:
    partition = 1
    store.write(partition, None, 6, [record(at, value) for at, value in (
        (900, 3), (1_000, 5), (1_400, 9), (2_100, 10), (4_000, 2), (4_500, 4),
    )])  # fmt: skip
    assert store.points("publishes", 1_000, 5_000, 1_000, "gw1") == [
        Point("gw1", 1_000, 9, 6),
        Point("gw1", 2_000, 10, 1),
        Point("gw1", 4_000, 4, 4),  # it was started anew: counted from 0
    ]
    assert store.points("publishes", 0, 10_000, 10_000) == [Point("gw1", 0, 4, 11)]
    assert store.points("none", 0, 10_000, 1_000) == []
    with pytest.raises(ValueError, match="a step"):
        store.points("publishes", 0, 1, 0)


def test_nodes_apart_and_each_record_once(store: StatisticsStore) -> None:
    store.write(2, None, 2, [record(1_000, 1), record(1_000, 8, "gw2")])
    with pytest.raises(StalePositionError):
        store.write(2, None, 2, [record(1_000, 1)])
    store.write(2, 2, 4, [record(1_000, 1), record(2_000, 9, "gw2")])
    assert store.nodes() == ["gw1", "gw2"]
    assert store.points("publishes", 0, 3_000, 3_000) == [Point("gw1", 0, 1, 0), Point("gw2", 0, 9, 1)]
    assert store.drop_older(2_000) == 4
    assert store.nodes() == ["gw2"]
