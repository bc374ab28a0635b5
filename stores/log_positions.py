"""How far each partition of a Kafka topic is in a database, moved in the transaction that writes what it stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.resources.abc import Traversable
from urllib.parse import urlsplit

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    Table,
    exc,
    insert,
    select,
    update,
)

from stores import sql_engine
from stores.errors import StalePositionError, StoreUnavailableError, StoreUrlError
from stores.open import SQL_SCHEMES, shown


def positions_table(name: str, metadata: MetaData) -> Table:
    """A table of next offsets by Kafka partition."""
    return Table(
        name,
        metadata,
        Column("kafka_partition", Integer, primary_key=True, autoincrement=False),
        Column("next_offset", BigInteger, nullable=False),
    )


class LogDatabase:
    """A database that a log is written to; a part of the stores that are made of one."""

    def __init__(self, url: str, scripts: Traversable, lock: int, positions: Table) -> None:
        """Open it; its tables are made, or brought up to date, if need be.

        Args:
            url: `sqlite:///file` or `postgresql://user:password@host/database`.
            scripts: Alembic's folder.
            lock: For PostgreSQL's advisory lock.
            positions: As `positions_table` makes it.

        Raises:
            StoreUrlError: The URL names no database that there is.
            StoreUnavailableError: It does not answer.
        """
        if urlsplit(url).scheme not in SQL_SCHEMES:
            raise StoreUrlError("the database's URL must begin with sqlite:/// or postgresql://")
        self._shown_url = shown(url)
        self._engine: Engine = sql_engine.create(url, self._shown_url, scripts, lock)
        self._reader = sql_engine.reading(self._engine)
        self._writer = sql_engine.writing(self._engine)
        self._positions = positions

    def positions(self, partitions: Iterable[int]) -> dict[int, int | None]:
        """The next offset of each partition; None where nothing of it is there."""
        table = self._positions
        with self.reading() as connection:
            found = {row.kafka_partition: row.next_offset for row in connection.execute(select(table))}
        return {partition: found.get(partition) for partition in partitions}

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database throughout.

        Raises:
            StoreUnavailableError: It does not answer.
        """
        with self._reaching(), self._reader.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes; undone when the block raises.

        Raises:
            StoreUnavailableError: It does not answer.
        """
        with self._reaching(), self._writer.begin() as connection:
            yield connection

    def advance(
        self, partition: int, begins: int | None, next_offset: int, write: Callable[[Connection], None]
    ) -> None:
        """Write what stands in the log from `begins` to `next_offset`, and that it is in, or nothing.

        Raises:
            StalePositionError: The partition does not stand at `begins`.
            StoreUnavailableError: The database does not answer.
        """
        table = self._positions
        try:
            with self.writing() as connection:
                locked = select(table.c.next_offset).filter_by(kafka_partition=partition).with_for_update()
                stands = connection.scalar(locked)
                if stands != begins:
                    raise StalePositionError(partition, begins, stands)
                if stands is None:
                    values = {"kafka_partition": partition, "next_offset": next_offset}
                    connection.execute(insert(table).values(values))
                else:
                    moved = update(table).filter_by(kafka_partition=partition)
                    connection.execute(moved.values(next_offset=next_offset))
                write(connection)
        except exc.IntegrityError as error:
            # Two writers that both found the partition, or a row that both were to make, unknown; the other was first.
            raise StalePositionError(partition, begins, None) from error

    def close(self) -> None:
        """Give the connections back."""
        self._engine.dispose()

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except exc.IntegrityError:
            raise
        except exc.SQLAlchemyError as error:
            raise StoreUnavailableError(self._shown_url, sql_engine.reason(error)) from error
