"""Connections to SQLite and PostgreSQL, with their tables up to date, and the two kinds of transaction."""

from __future__ import annotations

import fcntl
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event, exc, make_url, text
from sqlalchemy.engine import URL

from stores.errors import StoreUnavailableError, StoreUrlError

_MIGRATION_LOCK = 0x51_CE  # any number that all of SluiceMQ's processes take for PostgreSQL's advisory lock
_WAIT_SECONDS = 30  # for another writer of the same file
_migrating = threading.Lock()
"""Alembic keeps the migration that runs in variables of its modules, so a process can run one at a time."""


def create(
    url: str,
    shown_url: str,
    scripts: Traversable | None = None,
    lock: int = _MIGRATION_LOCK,
) -> Engine:
    """An engine on a database whose tables are up to date.

    Args:
        url: The database's.
        shown_url: The same without password.
        scripts: Alembic's folder; by default that of the store of persistent sessions. It may lie in an archive.
        lock: What all who work with these tables take for PostgreSQL's advisory lock.

    Raises:
        StoreUrlError: The URL cannot be read, or its driver is not installed.
        StoreUnavailableError: The database does not answer.
    """
    try:
        parsed = parse_url(url)
        engine = _sqlite(parsed) if parsed.drivername == "sqlite" else postgresql(parsed)
    except ModuleNotFoundError as error:
        raise StoreUrlError(f"{shown_url} needs {error.name}: install sluicemq[postgresql]") from error
    except (exc.ArgumentError, ValueError) as error:
        raise StoreUrlError(f"the store's URL {shown_url} cannot be read: {error}") from error
    try:
        migrate(engine, scripts or files("stores.migrations"), lock)
    except exc.SQLAlchemyError as error:
        engine.dispose()
        raise StoreUnavailableError(shown_url, reason(error)) from error
    return engine


def parse_url(url: str) -> URL:
    """A database's URL, with the driver that we have for PostgreSQL.

    Raises:
        ArgumentError, ValueError: It cannot be read.
    """
    parsed = make_url(url)
    return parsed.set(drivername="postgresql+psycopg") if parsed.drivername == "postgresql" else parsed


def _sqlite(url: URL) -> Engine:
    if not url.database or url.database == ":memory:":
        raise StoreUrlError("a store in SQLite needs a file: write sqlite:///store.db")
    if not (folder := Path(url.database).parent).is_dir():
        raise StoreUrlError(f"the folder {folder} of the store's file does not exist: make it")
    # Where the last transactions are lost, the position goes back with them, and the sink reads on from there.
    return sqlite(url, "NORMAL")


def reading(engine: Engine) -> Engine:
    """The engine for transactions that see one state of the database throughout."""
    if engine.dialect.name == "sqlite":
        return engine  # a deferred transaction is such a one
    return engine.execution_options(isolation_level="REPEATABLE READ")


def writing(engine: Engine) -> Engine:
    """The engine for transactions that a lock orders; in SQLite they take the file's from their beginning.

    PostgreSQL's see the newest state in each statement: what a transaction waited for must not be hidden from it.
    """
    if engine.dialect.name == "sqlite":
        return engine.execution_options(sluicemq_begin="BEGIN IMMEDIATE")
    return engine.execution_options(isolation_level="READ COMMITTED")


def reason(error: exc.SQLAlchemyError) -> str:
    """What the driver said, in its first line; SQLAlchemy's own text would show the statement's values."""
    cause = error.orig if isinstance(error, exc.DBAPIError) and error.orig else error
    return (str(cause).splitlines() or [type(cause).__name__])[0]


def postgresql(url: URL, **options: Any) -> Engine:
    """An engine on PostgreSQL; `options` are `create_engine`'s."""
    # Each connection is tried before it is used, as those in the pool die with the server.
    connect_args = {"connect_timeout": 5} if "connect_timeout" not in url.query else {}
    return create_engine(
        url, pool_pre_ping=True, pool_timeout=_WAIT_SECONDS, connect_args=connect_args, **options
    )


def sqlite(url: URL, synchronous: str, **options: Any) -> Engine:
    """An engine on a file of SQLite, for `reading` and `writing`.

    Args:
        url: The file's.
        synchronous: `FULL`: what is committed outlives a crash of the machine. `NORMAL`: the last transactions may be
            lost by it, each as a whole.
        options: `create_engine`'s.
    """
    engine = create_engine(url, connect_args={"timeout": _WAIT_SECONDS}, **options)

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _: Any) -> None:
        # Python's module would begin transactions itself, and none for reads.
        connection.isolation_level = None
        _keep_log_ahead(connection, Path(str(url.database)).parent)
        connection.execute(f"PRAGMA synchronous={synchronous}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get("sluicemq_begin", "BEGIN"))

    return engine


def _keep_log_ahead(connection: Any, folder: Path) -> None:
    """Let readers and a writer not wait for one another. The files that this adds take the database's mode.

    SQLite does not wait for others where it changes the mode of a file, but fails; so those who open it take turns.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        connection.execute("PRAGMA journal_mode=WAL")
    finally:
        os.close(descriptor)


def migrate(engine: Engine, scripts: Traversable, lock: int) -> None:
    """Bring the tables up to date; several processes and threads may try at once, as gateways and sinks start together.

    Args:
        engine: The database.
        scripts: Alembic's folder, which may lie in an archive.
        lock: What all who work with these tables take for PostgreSQL's advisory lock.
    """
    config = Config()
    with _migrating, _in_folder(scripts) as folder, writing(engine).begin() as connection:
        config.set_main_option("script_location", str(folder))
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": lock})
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


@contextmanager
def _in_folder(scripts: Traversable) -> Iterator[Path]:
    """The scripts as files: Alembic reads folders, and executors import us from the wheel that they were sent."""
    if isinstance(scripts, Path):
        yield scripts
        return
    with tempfile.TemporaryDirectory() as folder:
        _copy(scripts, Path(folder))
        yield Path(folder)


def _copy(source: Traversable, target: Path) -> None:
    for entry in source.iterdir():
        place = target / entry.name
        if entry.is_dir():
            place.mkdir()
            _copy(entry, place)
        else:
            place.write_bytes(entry.read_bytes())
