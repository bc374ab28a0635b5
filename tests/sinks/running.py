"""A sink that runs in this process, on the tests' Spark session, and what a test asks of its store."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import redis
from pyspark.sql import SparkSession

from sinks.job import Settings, start_query
from sinks.persisted.destination import PersistedDestination
from sinks.persisted.store import StoreSettings, read_positions
from sinks.supervision import Supervisor
from stores import Store
from tests.sinks.log import Log

PATIENCE = 120.0
"""A busy machine may need this long to start a query."""


@dataclass
class Sink:
    """What a test can ask."""

    supervisor: Supervisor
    thread: threading.Thread
    started: threading.Event
    errors: list[BaseException]

    def wait(self) -> None:
        """Wait until the sink has ended by itself; raise what it died of."""
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
        if self.errors:
            raise self.errors[0]


@contextmanager
def running_sink(
    spark: SparkSession, log: Log, store: StoreSettings, trigger: str = "microbatch", interval_ms: int = 100
) -> Iterator[Sink]:
    """Run a sink until the block ends."""
    settings = Settings(log.bootstrap, store, trigger, interval_ms, log.topics)
    started = threading.Event()
    errors: list[BaseException] = []
    supervisor = Supervisor(
        start=lambda writer, checkpoint: start_query(spark, settings, writer, checkpoint),
        started=started.set,
        kafka=log.bootstrap,
        topic=log.topics.persisted,
        open=lambda: PersistedDestination(store),
        check_seconds=0.5,
    )

    def run() -> None:
        try:
            supervisor.run()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield Sink(supervisor, thread, started, errors)
    finally:
        supervisor.stop()
        thread.join(PATIENCE)
    assert not thread.is_alive()


def store_all(spark: SparkSession, log: Log, store: StoreSettings) -> Supervisor:
    """Run a sink over all that is in the log by now."""
    with running_sink(spark, log, store, "available-now") as sink:
        sink.wait()
    return sink.supervisor


def wait_for_end(log: Log, store: Store) -> None:
    """Wait until the store has all of the log."""
    ends = log.ends()
    until = time.monotonic() + PATIENCE
    while read_positions(store, ends) != ends:
        assert time.monotonic() < until, f"the store stands at {read_positions(store, ends)}, not at {ends}"
        time.sleep(0.05)  # The store tells nobody when it has changed.


def stored(log: Log, store: Store) -> dict[str, tuple[list[int], set[int]]]:
    """What the store holds for each client, as `Log.owed` says it."""
    held = {}
    for client in log.owed():
        backlog = store.backlog(log.partition_of(client), client)
        held[client] = ([message.offset for message in backlog.messages], backlog.received)
    return held


def empty(settings: StoreSettings) -> None:
    """Take all that a store holds away from it, as if its disk were lost."""
    if settings.url.startswith("redis"):
        with redis.Redis.from_url(settings.url) as client:
            client.flushall()
        return
    with closing(sqlite3.connect(settings.url.removeprefix("sqlite:///"))) as connection, connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            if table != "alembic_version":
                connection.execute(f"DELETE FROM {table}")  # noqa: S608 - a name from the catalogue


def kept_copy(settings: StoreSettings) -> Callable[[], None]:
    """Copy all that a store holds; what is returned puts the copy back, while nobody uses the store."""
    if settings.url.startswith("redis"):
        with redis.Redis.from_url(settings.url) as client:
            dumped = [(key, client.dump(key)) for key in client.scan_iter(f"{settings.prefix}:*")]

        def put_back_keys() -> None:
            empty(settings)
            with redis.Redis.from_url(settings.url) as client:
                for key, value in dumped:
                    client.restore(key, 0, value)

        return put_back_keys
    file = Path(settings.url.removeprefix("sqlite:///"))
    copy = file.with_suffix(".copy")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"VACUUM INTO '{copy}'")

    def put_back_file() -> None:
        # Into the file that is there: this session's workers live on, unlike those of a sink that was stopped.
        with closing(sqlite3.connect(copy)) as source, closing(sqlite3.connect(file)) as target:
            source.backup(target)

    return put_back_file
