"""Connections to SQLite and PostgreSQL, with their tables up to date, and the two kinds of transaction."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event, exc, make_url, text
from sqlalchemy.engine import URL

from identity.errors import DatabaseUnavailableError, DatabaseUrlError

_SCHEMES = ("sqlite", "postgresql", "postgresql+psycopg")
_MIGRATION_LOCK = 0x51_1D  # any number that all of SluiceMQ's processes take for PostgreSQL's advisory lock
_WAIT_SECONDS = 30  # for another writer of the same file
_OWNER_ONLY = 0o600


def create(url: str) -> Engine:
    """An engine on a database whose tables are up to date.

    Raises:
        DatabaseUrlError: The URL cannot be read, or its driver is not installed.
        DatabaseUnavailableError: The database does not answer.
    """
    scheme = url.partition("://")[0].lower()
    if scheme not in _SCHEMES:
        # Not a word of the rest, which may be anything, a password too.
        raise DatabaseUrlError("the database's URL must begin with sqlite:/// or postgresql://")
    try:
        parsed = make_url(url)
        if parsed.drivername == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        engine = _sqlite(parsed) if scheme == "sqlite" else _postgresql(parsed)
    except ModuleNotFoundError as error:
        raise DatabaseUrlError(f"{shown(url)} needs {error.name}: install sluicemq[postgresql]") from error
    except (exc.ArgumentError, ValueError) as error:
        if isinstance(error, DatabaseUrlError):
            raise
        raise DatabaseUrlError(
            f"the database's URL {scheme}://… cannot be read: write {scheme}://user:password@host:port/database, and "
            "signs such as @ : / in the password as %40 %3A %2F"
        ) from None
    try:
        _migrate(engine)
    except exc.SQLAlchemyError as error:
        engine.dispose()
        raise DatabaseUnavailableError(shown(url), reason(error)) from None
    return engine


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
    """What the driver said, in its first line; SQLAlchemy's own text would show the statement."""
    cause = error.orig if isinstance(error, exc.DBAPIError) and error.orig else error
    return (str(cause).splitlines() or [type(cause).__name__])[0]


def shown(url: str) -> str:
    """A URL as logs and errors may show it: without password, even one with signs that do not belong there."""
    without_password = re.sub(r"^([^:/]+://[^:/@]*):.*@", r"\1:***@", url, flags=re.DOTALL)
    return without_password.partition("?")[0]


def _postgresql(url: URL) -> Engine:
    # Each connection is tried before it is used, as those in the pool die with the server.
    connect_args = {"connect_timeout": 5} if "connect_timeout" not in url.query else {}
    return create_engine(
        url, pool_pre_ping=True, pool_timeout=_WAIT_SECONDS, connect_args=connect_args, hide_parameters=True
    )


def _sqlite(url: URL) -> Engine:
    if not url.database or url.database == ":memory:":
        raise DatabaseUrlError("a database in SQLite needs a file: write sqlite:///identity.db")
    path = Path(url.database)
    if not path.parent.is_dir():
        raise DatabaseUrlError(f"the folder {path.parent} of the database's file does not exist: make it")
    _keep_to_owner(path)
    engine = create_engine(url, connect_args={"timeout": _WAIT_SECONDS}, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _: Any) -> None:
        # Python's module would begin transactions itself, and none for reads.
        connection.isolation_level = None
        # Readers and a writer do not wait for one another. The files that this adds take the database's mode.
        connection.execute("PRAGMA journal_mode=WAL")
        # What was changed must not come back after a crash of the machine: a password, or a block.
        connection.execute("PRAGMA synchronous=FULL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get("sluicemq_begin", "BEGIN"))

    return engine


def _keep_to_owner(path: Path) -> None:
    """Make the file, if it is not there, so that nobody else can ever open it; an older one is mended."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _OWNER_ONLY)
        try:
            status = os.fstat(file)
            if status.st_mode & 0o077 and status.st_uid == os.geteuid():
                os.fchmod(file, _OWNER_ONLY)
        finally:
            os.close(file)
    except OSError as error:
        raise DatabaseUrlError(f"the database's file {path} cannot be opened: {error.strerror}") from error


def _migrate(engine: Engine) -> None:
    """Bring the tables up to date; several processes may try at once, as gateways start together."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with writing(engine).begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _MIGRATION_LOCK})
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
