"""Opening a database: URLs, the file's mode, migrations; and the revisions of its groups."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, make_url

from identity.database import Database, Group, open_database
from identity.engine import shown
from identity.errors import DatabaseUnavailableError, DatabaseUrlError
from identity.models import Model
from stores import open_store
from tests.stores.servers import StoreServer, free_port

SECRET = "s3cr"


@pytest.mark.parametrize(
    ("url", "without"),
    [
        ("sqlite:////data/identity.db", "sqlite:////data/identity.db"),
        ("sqlite:///identity.db", "sqlite:///identity.db"),
        ("postgresql://me:s3cr@h:1/db", "postgresql://me:***@h:1/db"),
        ("postgresql://me:s3cr@s3cr@h/db", "postgresql://me:***@h/db"),
        ("postgresql://me:s3cr/s3cr@h/db", "postgresql://me:***@h/db"),
        ("postgresql://me:s3cr?s3cr#@h/db", "postgresql://me:***@h/db"),
        ("postgresql://me@h/db?password=s3cr", "postgresql://me@h/db"),
        ("postgresql+psycopg://h/db", "postgresql+psycopg://h/db"),
    ],
)
def test_no_password_is_shown(url: str, without: str) -> None:
    assert shown(url) == without


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "must begin with sqlite:/// or postgresql://"),
        ("s3cr", "must begin with"),
        ("mysql://me:s3cr@h/db", "must begin with"),
        ("sqlite://", r"needs a file: write sqlite:///identity\.db"),
        ("sqlite:///:memory:", "needs a file"),
        (
            "sqlite:////nowhere/at/all/identity.db",
            "folder /nowhere/at/all of the database's file does not exist",
        ),
        ("sqlite:////dev", "cannot be opened"),
        ("postgresql://me:s3cr@h:port/db", "cannot be read: write postgresql://user:password@host"),
        ("postgresql://me:s3cr:s3cr@h:s3cr", "cannot be read"),
        ("postgresql:me:s3cr@h", "must begin with"),
    ],
)
def test_a_url_that_names_no_database_is_refused_in_one_sentence(url: str, said: str) -> None:
    with pytest.raises(DatabaseUrlError, match=said) as caught:
        open_database(url)
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None or SECRET not in str(caught.value.__cause__)


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(
        DatabaseUnavailableError, match=r"postgresql://me:\*\*\*@127.0.0.1.*cannot be used"
    ) as caught:
        open_database(f"postgresql://me:{SECRET}@127.0.0.1:{free_port()}/db")
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)


def test_what_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "identity.db").write_text("no database at all, but long enough to be taken for one" * 9)
    with pytest.raises(DatabaseUnavailableError, match="not a database"):
        open_database(f"sqlite:///{tmp_path}/identity.db")


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_the_files_are_the_owners(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        database = open_database(f"sqlite:///{tmp_path}/identity.db")
        with database.changing(Group.USERS):
            pass
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
        database.close()
    finally:
        os.umask(before)
    assert "identity.db-wal" in modes
    assert set(modes.values()) == {0o600}


def test_an_older_file_becomes_the_owners(tmp_path: Path, open_it: Callable[[str], Database]) -> None:
    path = tmp_path / "identity.db"
    path.touch(0o666)
    path.chmod(0o644)
    open_it(f"sqlite:///{path}")
    assert path.stat().st_mode & 0o777 == 0o600


def test_opening_again_keeps_everything(tmp_path: Path, open_it: Callable[[str], Database]) -> None:
    url = f"sqlite:///{tmp_path}/identity.db"
    with open_it(url).changing(Group.BLOCKED):
        pass
    assert open_it(url).revisions()[Group.BLOCKED] == 1


def test_revisions(both: Database) -> None:
    assert both.revisions() == dict.fromkeys(Group, 0)
    with both.changing(Group.USERS) as (_, revision):
        assert revision == 1
    with pytest.raises(KeyError), both.changing(Group.USERS):
        raise KeyError
    with both.changing(Group.USERS) as (_, revision):
        assert revision == 2
    assert both.revisions() == dict.fromkeys(Group, 0) | {Group.USERS: 2}


def test_who_sees_a_revision_sees_the_change(both: Database) -> None:
    """A change that began first and is not done holds up the second, so no revision is ever overtaken."""
    order: list[int] = []
    begun = threading.Event()

    def second() -> None:
        begun.set()
        with both.changing(Group.USERS) as (_, revision):
            order.append(revision)

    thread = threading.Thread(target=second)
    with both.changing(Group.USERS) as (_, revision):
        thread.start()
        assert begun.wait(120)
        assert both.revisions()[Group.USERS] == 0
        order.append(revision)
    thread.join()
    assert order == [1, 2]
    assert both.revisions()[Group.USERS] == 2


def test_migrations_make_what_the_models_say(server: StoreServer, open_it: Callable[[str], Database]) -> None:
    url = server.fresh()["url"]
    open_it(url)
    parsed = make_url(url)
    engine = create_engine(
        parsed.set(drivername="postgresql+psycopg") if parsed.drivername == "postgresql" else parsed
    )
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": "identity_version"})
        assert compare_metadata(context, Model.metadata) == []
    engine.dispose()


def test_a_store_of_sessions_may_be_in_the_same_database(
    server: StoreServer, open_it: Callable[[str], Database]
) -> None:
    url = server.fresh()["url"]
    open_store(url).close()
    database = open_it(url)
    open_store(url).close()
    assert database.revisions()


def test_many_open_at_once(server: StoreServer, open_it: Callable[[str], Database]) -> None:
    url = server.fresh()["url"]
    errors: list[Exception] = []

    def open_one() -> None:
        try:
            open_it(url).revisions()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=open_one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_what_goes_wrong_is_told_without_the_statement(database: Database, tmp_path: Path) -> None:
    database.close()
    (tmp_path / "identity.db").unlink()
    with sqlite3.connect(tmp_path / "identity.db") as other:
        other.execute("CREATE TABLE something (x)")
    other.close()
    with pytest.raises(DatabaseUnavailableError, match="no such table: identity_revision") as caught:
        database.revisions()
    assert "SELECT" not in str(caught.value)
