"""The subscription table by the million: how long the router needs for it, what a rollover costs, and its memory."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from admin.kafka_topics import topic_administration
from admin.stack.data_folder import DataFolder
from admin.stack.kafka import running_kafka
from admin.stack.router import router_part
from admin.stack.supervisor import Supervisor
from bench.environment import Environment
from bench.figures import Figure, Result, Timeline, at_most
from bench.jvm import SizeWatch, largest_classes, live_heap_bytes
from bench.load.process import run
from bench.load.subscriptions import SubscriptionsLoad
from bench.processes import proportional_bytes, resident_bytes, tree
from bench.rollovers import RolloverWatch
from bench.routed_stream import FILTER, RoutedStream
from bench.routes import NODE, create_node, mixed_filters, write_routes
from bench.stacks import PARTITIONS, with_memory
from bench.statistics import Rollover, Sample, around, median
from contracts.kafka_topics import KafkaTopics

_MIB = 2**20
_SECONDS_TO_ROUTE = 420.0
"""A router that has no copy of the table reads the whole log first, twice."""
_SECONDS_AFTER = 6.0
"""After the last rollover: what is ended gives back its memory, and messages that it kept waiting have come."""


@dataclass(frozen=True)
class Size:
    """One size of the table, and what the router gets for it."""

    routes: int
    memory: str
    batch_seconds: int
    rollovers: int
    patience: float
    """Seconds that a rollover may take, from the moment on when the next generation is in charge."""
    needs: int
    """GiB that have to be free: the heap, the JVM's other memory, readers of the table, Kafka."""


MILLIONS = {
    1: Size(1_000_000, "2g", 25, 2, 20.0, 4),
    # While generations overlap there are two tables on the heap, and the rows of which the second is made.
    10: Size(10_000_000, "12g", 90, 1, 150.0, 17),
}
"""By millions of routes."""


@dataclass(frozen=True)
class Measured:
    """What one size gave."""

    size: Size
    routes: int
    cold: float
    """Seconds from the router's start to the first message, without a copy of the table on the host."""
    warm: float
    """The same with one."""
    builds: list[float]
    """Of each rollover: seconds from the next generation's start until it routes."""
    rollovers: list[Rollover]
    samples: list[Sample]
    at: list[float]
    """When the rollovers were, on the samples' clock."""
    peak: int
    """Resident memory of the JVM at most."""
    heap: int | None
    """What is alive on its heap with one table."""
    largest: dict[str, int]
    """Bytes by class, of those that take most of it."""
    python: int
    """Memory of all its Python, what is shared counted once."""

    def details(self) -> dict[str, Any]:
        """As JSON."""
        pauses = [rollover.pause for rollover in self.rollovers]
        found = {"cold_s": self.cold, "warm_s": self.warm, "builds_s": self.builds, "pauses_s": pauses}
        return {
            "memory": self.size.memory,
            "peak": self.peak,
            "heap": self.heap,
            "largest": self.largest,
            "python": self.python,
        } | found


def measure_routes(environment: Environment) -> Result:
    """A million routes, and ten (--millions): the table's building, a rollover's pause, the driver's memory."""
    result = Result("routes", "The router's table of a million routes and more")
    environment.stop_stack()
    found = []
    for millions in environment.millions:
        size = MILLIONS[millions]
        _require_memory(size)
        routes = int(size.routes * environment.scale)
        found.append(_measure(environment, size, routes, environment.folder / f"routes-{millions}"))
    peer = environment.peers()["mosquitto"]
    theirs = None
    if peer is not None:
        environment.tell(f"mosquitto with {environment.million:,} subscriptions")
        theirs = run(SubscriptionsLoad(peer.host, peer.ports[0], peer.pid, environment.million), 400)
    for one in found:
        result.figures += _figures(one, theirs if one is found[0] else None)
        name = f"{one.routes:,} routes"
        result.plots.append(Timeline(f"Latency through the router, {name}", one.samples, one.at))
        result.details[name] = one.details()
    result.details["mosquitto"] = theirs
    return result


def _require_memory(size: Size) -> None:
    """Raise RuntimeError where it would be the end of some process, and not necessarily of one of ours."""
    free = psutil.virtual_memory().available / 2**30
    if free < size.needs:
        raise RuntimeError(
            f"{size.routes:,} routes want {size.needs} GiB of free memory; there are {free:.0f}"
        )


def _figures(one: Measured, theirs: dict[str, Any] | None) -> list[Figure]:
    routes = f"{one.routes:,} routes"
    bytes_each = (one.heap or 0) / one.routes
    pauses = [rollover.pause for rollover in one.rollovers]
    beside = {} if theirs is None else {"mosquitto": theirs["bytes"] / theirs["subscriptions"]}
    return [
        Figure(
            f"start to first message, {routes}", one.warm, "s",
            note=f"{one.cold:.0f} s without a copy of the table on the host",
        ),
        Figure(
            f"next generation routes, {routes}", median(one.builds) if one.builds else None, "s",
            note="planning, reading the table, broadcasting it; the one before routes meanwhile",
        ),
        Figure(
            f"pause at a rollover, {routes}", max(pauses) if pauses else None, "s", at_most(3.0),
            note=f"longest of {len(pauses)}",
        ),
        Figure(f"JVM at most, {routes}", one.peak / _MIB, "MiB", note=f"its heap is {one.size.memory}"),
        Figure(
            f"alive on its heap, {routes}", None if one.heap is None else one.heap / _MIB, "MiB",
            note="after a collection, one table",
        ),
        Figure(f"alive for each route, {routes}", bytes_each or None, "B", None, beside),
        Figure(f"its Python processes, {routes}", one.python / _MIB, "MiB"),
    ]  # fmt: skip


def _measure(environment: Environment, size: Size, routes: int, folder: Path) -> Measured:
    topics = KafkaTopics()
    with running_kafka(folder / "kafka") as (broker, _):
        with topic_administration(broker.bootstrap) as administration:
            administration.create(topics.shared(publish_partitions=PARTITIONS))
        create_node(broker.bootstrap, topics)
        environment.tell(f"writing {routes:,} routes")
        began_at = time.monotonic()
        filters = itertools.chain([FILTER], mixed_filters(routes - 1))
        write_routes(broker.bootstrap, topics, ((filter, NODE) for filter in filters))
        environment.tell(f"written in {time.monotonic() - began_at:.0f} s; the router starts on them")
        run = _Run(environment, size, routes, DataFolder(folder / "stack", lock=-1), broker.bootstrap)
        with run.routing() as (stream, _):
            cold = run.seconds_to_route(stream)
        with run.routing() as (stream, supervisor):
            warm = run.seconds_to_route(stream)
            return run.watch_rollovers(stream, supervisor.pid("router"), cold, warm)


@dataclass(frozen=True)
class _Run:
    """A table that is there, and a router on it."""

    environment: Environment
    size: Size
    routes: int
    data: DataFolder
    kafka: str

    @contextmanager
    def routing(self) -> Iterator[tuple[RoutedStream, Supervisor]]:
        """Start the router, and messages for it."""
        options = ("--batch-seconds", str(self.size.batch_seconds))
        part = with_memory(router_part(self.data, self.kafka, PARTITIONS, options), self.size.memory)
        with (
            RoutedStream(self.kafka, KafkaTopics(), NODE) as stream,
            Supervisor(self.data.logs) as supervisor,
        ):
            supervisor.start(part)
            yield stream, supervisor

    def seconds_to_route(self, stream: RoutedStream) -> float:
        """How long it takes until something is routed."""
        began_at = time.monotonic()
        stream.wait_first(_SECONDS_TO_ROUTE)
        seconds = time.monotonic() - began_at
        self.environment.tell(f"the first message came after {seconds:.0f} s")
        return seconds

    def watch_rollovers(self, stream: RoutedStream, pid: int, cold: float, warm: float) -> Measured:
        """Wait for rollovers; all that is measured meanwhile and after."""
        watch = RolloverWatch(self.data.path)
        deadline = time.monotonic() + self.size.rollovers * (2 * self.size.batch_seconds + self.size.patience)
        with SizeWatch(resident_bytes, pid, 0.5) as memory:
            # The generation before the first rollover answers, too.
            while len(stream.answered) <= self.size.rollovers and time.monotonic() < deadline:
                watch.look()
                time.sleep(0.2)
            time.sleep(_SECONDS_AFTER)
        commits = watch.monotonic(time.time() - time.monotonic())
        routing_at = [stream.answered[number] for number in sorted(stream.answered)[1:]]
        builds = [at - max(commit for commit in commits if commit < at) for at in routing_at]
        starts = [at - build for at, build in zip(routing_at, builds, strict=True)]
        samples = stream.samples()
        after = max(builds, default=0.0) + _SECONDS_AFTER / 2
        heap = live_heap_bytes(pid)
        if heap is not None:  # What Spark removes when the first has collected it goes with the second.
            time.sleep(_SECONDS_AFTER)
            heap = live_heap_bytes(pid)
        python = sum(
            bytes_
            for name, bytes_ in proportional_bytes(tree(pid)).items()
            if not name.endswith(f"JVM {pid}")
        )
        return Measured(
            self.size, self.routes, cold, warm, builds, around(samples, starts, 1.0, after), samples, starts,
            max(memory.sizes), heap, largest_classes(pid), python,
        )  # fmt: skip
