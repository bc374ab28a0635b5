"""Statistics of gateways: written record by record, read as points for charts."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from contracts.historical_record import HistoricalRecord
from stores.historical.tables import POSITIONS, VALUES
from stores.log_positions import LogDatabase

_MIGRATION_LOCK = 0x51_57  # any number that all of SluiceMQ's processes take for PostgreSQL's advisory lock


@dataclass(frozen=True, slots=True)
class Point:
    """One step of a chart."""

    node: str
    at_ms: int
    """When the step begins, ms since 1970."""
    value: int
    """The last value in it."""
    increase: int
    """How far it rose in the step: what was counted. A gateway that was started anew counts from 0."""


class StatisticsStore:
    """The store. All methods block; each raises StoreUnavailableError when the database does not answer."""

    def __init__(self, url: str) -> None:
        """Open it; see `LogDatabase`."""
        self._database = LogDatabase(url, files("stores.historical.migrations"), _MIGRATION_LOCK, POSITIONS)
        self.positions = self._database.positions
        self.close = self._database.close

    def write(
        self, partition: int, begins: int | None, next_offset: int, records: Sequence[HistoricalRecord]
    ) -> None:
        """Write records, and that the partition is in up to `next_offset`.

        Two records of one node and time count as one, the later; a gateway never writes such.

        Raises:
            StalePositionError: The partition does not stand at `begins`; nothing is written.
        """
        self._database.advance(
            partition, begins, next_offset, lambda connection: _insert(connection, records)
        )

    def nodes(self) -> list[str]:
        """All nodes of which there is anything."""
        with self._database.reading() as connection:
            return list(connection.scalars(select(VALUES.c.node).distinct().order_by(VALUES.c.node)))

    def counters(self) -> list[str]:
        """All counters of which there is anything."""
        with self._database.reading() as connection:
            return list(connection.scalars(select(VALUES.c.counter).distinct().order_by(VALUES.c.counter)))

    def points(
        self, counter: str, from_ms: int, to_ms: int, step_ms: int, node: str | None = None
    ) -> list[Point]:
        """A counter over time: a point for each node and step in which there is a value, by node and time.

        Args:
            counter: Its name in `edge/gateway/counters.py`, `connections_now` or `subscriptions_now`.
            from_ms: The beginning of the first step, ms since 1970.
            to_ms: The end.
            step_ms: A step's length.
            node: One node; None for all.

        Raises:
            ValueError: The step is not at least one millisecond.
        """
        if step_ms < 1:
            raise ValueError("a step takes at least one millisecond")
        columns = VALUES.c
        wanted = select(columns.node, columns.at_ms, columns.value).where(columns.counter == counter)
        if node is not None:
            wanted = wanted.where(columns.node == node)
        # A step back, so that the first one has something to rise from.
        wanted = wanted.where(columns.at_ms >= from_ms - step_ms, columns.at_ms < to_ms)
        with self._database.reading() as connection:
            rows = connection.execute(wanted.order_by(columns.node, columns.at_ms)).all()
        return [
            point
            for name, of_node in itertools.groupby(rows, key=lambda row: row.node)
            for point in _points(name, of_node, from_ms, step_ms)
        ]

    def drop_older(self, before_ms: int) -> int:
        """Delete values from before a time; how many went."""
        with self._database.writing() as connection:
            return connection.execute(delete(VALUES).where(VALUES.c.at_ms < before_ms)).rowcount


def _insert(connection: Connection, records: Sequence[HistoricalRecord]) -> None:
    newest = {(record.node, record.at_ms): record for record in records}
    for node, at_ms in newest:
        connection.execute(delete(VALUES).filter_by(node=node, at_ms=at_ms))
    rows = [
        {"node": record.node, "counter": counter, "at_ms": record.at_ms, "value": value}
        for record in newest.values()
        for counter, value in record.counters.items()
    ]
    if rows:
        connection.execute(insert(VALUES), rows)


def _points(node: str, rows: Iterable[Any], from_ms: int, step_ms: int) -> list[Point]:
    found: dict[int, Point] = {}
    before: int | None = None
    for _, at_ms, value in rows:
        rise = 0 if before is None else value - before if value >= before else value
        before = value
        if at_ms < from_ms:
            continue
        begins = at_ms - (at_ms - from_ms) % step_ms
        earlier = found[begins].increase if begins in found else 0
        found[begins] = Point(node, begins, value, earlier + rise)
    return list(found.values())
