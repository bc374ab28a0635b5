"""Which databases identity may be in, and who may read a file of SQLite; the connections are stores.sql_engine's."""

from __future__ import annotations

import os
import re
from importlib.resources import files
from pathlib import Path

from sqlalchemy import Engine, exc
from sqlalchemy.engine import URL

from identity.errors import DatabaseUnavailableError, DatabaseUrlError
from stores import sql_engine

_SCHEMES = ("sqlite", "postgresql", "postgresql+psycopg")
_MIGRATION_LOCK = 0x51_1D  # any number that all of SluiceMQ's processes take for PostgreSQL's advisory lock
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
        parsed = sql_engine.parse_url(url)
        engine = (
            _sqlite(parsed) if scheme == "sqlite" else sql_engine.postgresql(parsed, hide_parameters=True)
        )
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
        sql_engine.migrate(engine, files("identity.migrations"), _MIGRATION_LOCK)
    except exc.SQLAlchemyError as error:
        engine.dispose()
        raise DatabaseUnavailableError(shown(url), sql_engine.reason(error)) from None
    return engine


def shown(url: str) -> str:
    """A URL as logs and errors may show it: without password, even one with signs that do not belong there."""
    without_password = re.sub(r"^([^:/]+://[^:/@]*):.*@", r"\1:***@", url, flags=re.DOTALL)
    return without_password.partition("?")[0]


def _sqlite(url: URL) -> Engine:
    if not url.database or url.database == ":memory:":
        raise DatabaseUrlError("a database in SQLite needs a file: write sqlite:///identity.db")
    path = Path(url.database)
    if not path.parent.is_dir():
        raise DatabaseUrlError(f"the folder {path.parent} of the database's file does not exist: make it")
    _keep_to_owner(path)
    # What was changed must not come back after a crash of the machine: a password, or a block.
    return sql_engine.sqlite(url, "FULL", hide_parameters=True)


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
