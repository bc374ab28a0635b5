"""A store in SQL: SQLite for one machine, PostgreSQL for a cluster. SQLAlchemy Core, no object mapping.

A partition's writers meet at its row in `persisted_position`, which a batch locks before anything else. Tables and
columns: docs/persistence.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

from sqlalchemy import Connection, Engine, bindparam, case, delete, event, exc, func, insert, select, update

from contracts.persisted_log import PartitionBatch, Position, join_repeats, split_repeats
from stores import sql_engine, stored_headers
from stores.errors import StalePositionError, StoreUnavailableError
from stores.port import DEFAULT_LIMITS, ClientBacklog, Limits, StoreCounts, StoredMessage, WaitingCounts
from stores.tables import MESSAGES, POSITIONS, RECEIVED, SEEN

Rows = list[dict[str, Any]]


class SqlStore:
    """The store in SQL. `open_store` makes one."""

    def __init__(
        self,
        engine: Engine,
        shown_url: str,
        limits: Limits = DEFAULT_LIMITS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`engine` as `sql_engine.create` makes it; `shown_url` has no password; `clock`: seconds since 1970."""
        self._engine = engine
        self._reader = sql_engine.reading(engine)
        self._writer = sql_engine.writing(engine)
        self._shown_url = shown_url
        self._limits = limits
        self._clock = clock
        self._operations = 0
        self._lock = Lock()
        event.listen(engine, "before_cursor_execute", self._issued)

    @property
    def operations(self) -> int:
        """Statements issued; one with many rows counts each."""
        return self._operations

    def partition_position(self, partition: int) -> Position | None:
        """See the port."""
        with self._reaching(), self._reader.begin() as connection:
            seen = select(SEEN.c.client_id, SEEN.c.filters).where(SEEN.c.kafka_partition == partition)
            return _position(connection, partition, seen)

    def write(self, partition: int, batch: PartitionBatch) -> int:
        """See the port."""
        try:
            with self._reaching(), self._writer.begin() as connection:
                stands = _lock_position(connection, partition)
                if stands != batch.begins:
                    if stands == batch.position.next_offset:
                        return 0  # an answer that was lost on the way: what the log has up to there is in
                    raise StalePositionError(partition, batch.begins, stands)
                _write_position(connection, partition, batch.position, known=stands is not None)
                self._write_changes(connection, partition, batch)
                return self._drop_oldest(connection, partition, batch)
        except exc.IntegrityError as error:
            # Two writers that both found the partition unknown; the other was first.
            raise StalePositionError(partition, None, None) from error

    def backlog(self, partition: int, client_id: str) -> ClientBacklog:
        """See the port."""
        since = self._since_ms()
        key = {"kafka_partition": partition, "client_id": client_id}
        messages = (
            select(MESSAGES.c.log_offset, MESSAGES.c.stored_at_ms, MESSAGES.c.value, MESSAGES.c.headers)
            .filter_by(**key)
            .order_by(MESSAGES.c.log_offset)
        )
        with self._reaching(), self._reader.begin() as connection:
            position = _position(
                connection, partition, select(SEEN.c.client_id, SEEN.c.filters).filter_by(**key)
            )
            received = set(connection.scalars(select(RECEIVED.c.log_offset).filter_by(**key)))
            rows = connection.execute(messages).all()
        return ClientBacklog(
            # Not told to the database: it might take that for a reason to read by the index of times.
            [StoredMessage(offset, value, headers) for offset, at, value, headers in rows if at >= since],
            received,
            position,
        )

    def waiting(self, partition: int, client_id: str) -> WaitingCounts:
        """See the port."""
        key = {"kafka_partition": partition, "client_id": client_id}
        # As in `backlog`, no condition on the time: a row's own column decides whether it counts.
        messages = select(func.count(case((MESSAGES.c.stored_at_ms >= self._since_ms(), 1)))).filter_by(**key)
        received = select(func.count()).select_from(RECEIVED).filter_by(**key)
        stands = select(POSITIONS.c.next_offset).filter_by(kafka_partition=partition)
        with self._reaching(), self._reader.begin() as connection:
            return WaitingCounts(
                connection.scalar(messages) or 0, connection.scalar(received) or 0, connection.scalar(stands)
            )

    def drop_expired(self) -> int:
        """See the port."""
        before = int(self._since_ms())
        with self._reaching(), self._writer.begin() as connection:
            return connection.execute(delete(MESSAGES).where(MESSAGES.c.stored_at_ms < before)).rowcount

    def counts(self) -> StoreCounts:
        """See the port."""
        of_clients = (
            select(func.count().label("messages"))
            .select_from(MESSAGES)
            .group_by(MESSAGES.c.kafka_partition, MESSAGES.c.client_id)
            .subquery()
        )
        with self._reaching(), self._reader.begin() as connection:
            clients, messages = connection.execute(
                select(func.count(), func.sum(of_clients.c.messages)).select_from(of_clients)
            ).one()
            dropped = connection.scalar(select(func.sum(POSITIONS.c.dropped)))
        return StoreCounts(clients, int(messages or 0), int(dropped or 0))

    def close(self) -> None:
        """See the port."""
        self._engine.dispose()

    def _since_ms(self) -> float:
        """Messages that were stored before this are past their TTL."""
        return (self._clock() - self._limits.ttl_seconds) * 1000

    def _write_changes(self, connection: Connection, partition: int, batch: PartitionBatch) -> None:
        """In the order that `ClientChanges` asks for: cleared, deleted, received, added."""
        cleared: Rows = []
        gone: Rows = []
        received: Rows = []
        added: Rows = []
        now = int(self._clock() * 1000)
        for client_id, changes in batch.clients.items():
            if changes.cleared is not None:
                cleared.append({"client": client_id, "offset": changes.cleared})
            gone += [{"client": client_id, "offset": offset} for offset in changes.deleted | changes.received]
            key = {"kafka_partition": partition, "client_id": client_id}
            received += [{**key, "log_offset": offset} for offset in changes.received]
            for offset, message in changes.added.items():
                headers = stored_headers.encode(message.headers)
                row = {"log_offset": offset, "stored_at_ms": now, "headers": headers, "value": message.value}
                added.append(key | row)
        for table in (MESSAGES, RECEIVED):
            of_client = delete(table).where(
                table.c.kafka_partition == partition, table.c.client_id == bindparam("client")
            )
            _execute(connection, of_client.where(table.c.log_offset < bindparam("offset")), cleared)
            _execute(connection, of_client.where(table.c.log_offset == bindparam("offset")), gone)
        _execute(connection, insert(RECEIVED), received)
        _execute(connection, insert(MESSAGES), added)

    def _drop_oldest(self, connection: Connection, partition: int, batch: PartitionBatch) -> int:
        """One statement for each client: it walks the primary key, whatever a database believes of the table's size.

        PostgreSQL, asked to count 500 clients at once, read all of a table that had grown since its last statistics:
        49 s in one batch.
        """
        grown: Rows = [{"client": client_id} for client_id, changes in batch.clients.items() if changes.added]
        if not grown:
            return 0
        own = MESSAGES.alias()
        oldest_kept = (
            select(own.c.log_offset)
            .where(own.c.kafka_partition == partition, own.c.client_id == bindparam("client"))
            .order_by(own.c.kafka_partition.desc(), own.c.client_id.desc(), own.c.log_offset.desc())
            .offset(self._limits.messages - 1)
            .limit(1)
            .scalar_subquery()
        )
        dropped = connection.execute(
            delete(MESSAGES).where(
                MESSAGES.c.kafka_partition == partition,
                MESSAGES.c.client_id == bindparam("client"),
                MESSAGES.c.log_offset < oldest_kept,
            ),
            grown,
        ).rowcount
        if dropped:
            of_partition = update(POSITIONS).filter_by(kafka_partition=partition)
            connection.execute(of_partition.values(dropped=POSITIONS.c.dropped + dropped))
        return dropped

    def _issued(self, _: Any, __: Any, ___: Any, parameters: Sequence[Any], ____: Any, many: bool) -> None:
        with self._lock:
            self._operations += len(parameters) if many else 1

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except exc.IntegrityError:
            raise
        except exc.SQLAlchemyError as error:
            raise StoreUnavailableError(self._shown_url, sql_engine.reason(error)) from error


def _execute(connection: Connection, statement: Any, rows: Rows) -> None:
    if rows:
        connection.execute(statement, rows)


def _lock_position(connection: Connection, partition: int) -> int | None:
    """Where the partition stands, for this transaction alone until it ends."""
    locked = select(POSITIONS.c.next_offset).filter_by(kafka_partition=partition).with_for_update()
    return connection.scalar(locked)


def _write_position(connection: Connection, partition: int, position: Position, *, known: bool) -> None:
    marks, seen = split_repeats(position.repeats)
    values = {"next_offset": position.next_offset, "marks": marks}
    if known:
        connection.execute(update(POSITIONS).filter_by(kafka_partition=partition).values(values))
    else:
        connection.execute(insert(POSITIONS).values(kafka_partition=partition, dropped=0, **values))
    connection.execute(delete(SEEN).filter_by(kafka_partition=partition))
    lines = [
        {"kafka_partition": partition, "client_id": client_id, "filters": line}
        for client_id, line in seen.items()
    ]
    _execute(connection, insert(SEEN), lines)


def _position(connection: Connection, partition: int, seen: Any) -> Position | None:
    row = connection.execute(
        select(POSITIONS.c.next_offset, POSITIONS.c.marks).filter_by(kafka_partition=partition)
    ).one_or_none()
    if row is None:
        return None
    lines = {line.client_id: line.filters for line in connection.execute(seen)}
    return Position(row.next_offset, join_repeats(row.marks, lines))
