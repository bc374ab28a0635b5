"""A router that runs in this process, on the tests' Spark session."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from routing.job import Settings, load_hooks, start_query
from routing.supervision import Supervisor
from tests.routing.broker import Broker

BATCH_SECONDS = 5
"""The shortest real-time batch that Spark allows."""
PATIENCE = 120.0
"""A busy machine may need this long to start a query."""


@dataclass
class Router:
    """What a test can ask."""

    supervisor: Supervisor
    thread: threading.Thread
    started: threading.Event
    errors: list[BaseException]

    def wait(self) -> None:
        """Wait until the router has ended by itself; raise what it died of."""
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
        if self.errors:
            raise self.errors[0]


@contextmanager
def running_router(
    spark: SparkSession,
    broker: Broker,
    place: Path,
    trigger: str = "realtime",
    batch_seconds: int = BATCH_SECONDS,
    rollover: str = "pause",
    hooks_file: Path | None = None,
) -> Iterator[Router]:
    """Run a router until the block ends; its checkpoint and snapshots are kept in `place`."""
    settings = Settings(
        broker.bootstrap,
        str(place / "checkpoint"),
        trigger,
        batch_seconds,
        broker.topics,
        place / "snapshots",
        rollover,
        hooks_file,
    )
    hooks = load_hooks(spark, settings)
    started = threading.Event()
    errors: list[BaseException] = []
    supervisor = Supervisor(
        start=lambda plan: start_query(spark, settings, plan, hooks),
        started=started.set,
        kafka=settings.kafka,
        topics=settings.topics,
        snapshot_dir=settings.snapshot_dir,
        checkpoint=settings.checkpoint,
        rollover_seconds=settings.rollover_seconds,
    )

    def run() -> None:
        try:
            supervisor.run()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    router = Router(supervisor, thread, started, errors)
    try:
        yield router
    finally:
        supervisor.stop()
        thread.join(PATIENCE)
    assert not thread.is_alive()
