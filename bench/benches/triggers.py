"""The router's triggers, each as a job of its own in turn: latency, throughput on a backlog, and CPU at a trickle."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from admin.stack.data_folder import DataFolder
from admin.stack.kafka import running_kafka
from admin.stack.router import router_part
from bench.benches.router import Table, prepare_backlog
from bench.environment import Environment
from bench.figures import Bars, Figure, Percentiles, Result
from bench.load.process import ROOT
from bench.processes import CpuMeter, tree
from bench.routed_stream import FILTER, RoutedStream
from bench.router_job import NODES
from bench.stacks import PARTITIONS, with_memory
from bench.statistics import median, percentile

TRIGGERS = ("realtime", "microbatch", "available-now")
_LASTING = TRIGGERS[:2]
_ROUTES, _MEMORY = 1_000, "2g"
_WARM_UP, _TRICKLE = 6.0, 15.0
"""Seconds of 100 messages a second after the backlog; those that do not count, and those that do."""
_SECONDS_TO_DRAIN = 400.0
_SOON = 0.1
"""The share of a backlog after which its time is taken: until then the job starts, and its JVM compiles what runs."""


@dataclass
class Measured:
    """What one trigger gave, in each round."""

    rates: list[float] = field(default_factory=list)
    """Messages a second, between the first tenth of the backlog and its end."""
    whole: list[float] = field(default_factory=list)
    """Seconds from the job's start until the backlog is routed."""
    latencies: list[float] = field(default_factory=list)
    """Of all rounds, in seconds; none of a job that ends when all is routed."""
    cores: list[float] = field(default_factory=list)
    """Cores that the JVM uses while messages trickle."""


def measure_triggers(environment: Environment) -> Result:
    """A million messages of 256 B for two nodes, and then 100 a second, by each trigger in turn."""
    messages = environment.million
    result = Result("triggers", f"Triggers: {messages:,} messages of 256 B, fan-out 2, then 100 a second")
    environment.stop_stack()
    folder, table = environment.folder / "triggers", Table(_ROUTES)
    found = {trigger: Measured() for trigger in TRIGGERS}
    with running_kafka(folder / "kafka") as (broker, _):
        environment.tell(f"writing {messages:,} messages")
        prepare_backlog(broker.bootstrap, table, messages, [(FILTER, NODES[0])])
        for number in range(min(environment.rounds, 2)):
            for trigger in TRIGGERS:
                place = folder / f"{trigger}-{number}"
                _measure(broker.bootstrap, table, trigger, place, messages, found[trigger])
                rate = found[trigger].rates[-1]
                environment.tell(f"round {number + 1}: {trigger} {rate:,.0f} msg/s")
    for trigger, one in found.items():
        result.figures += _figures(trigger, one)
    result.plots = [
        Bars(f"{result.title}: rate", "messages per second", {name: median(one.rates) for name, one in found.items()}),
        Percentiles(
            "Latency through the router by trigger", {name: found[name].latencies for name in _LASTING}
        ),
    ]  # fmt: skip
    result.details = {
        name: {"rates": one.rates, "whole_s": one.whole, "cores": one.cores} for name, one in found.items()
    }
    return result


def _figures(trigger: str, one: Measured) -> list[Figure]:
    figures = [
        Figure(f"{trigger}: a backlog", median(one.rates), "msg/s", note="without the job's start"),
        Figure(f"{trigger}: from the job's start to the backlog's end", median(one.whole), "s"),
    ]
    if one.latencies:
        figures += [
            Figure(f"{trigger}: Kafka to Kafka, p{share:g}", percentile(one.latencies, share) * 1e3, "ms")
            for share in (50.0, 99.0)
        ]
        figures.append(Figure(f"{trigger}: CPU at 100 msg/s", 100 * median(one.cores), "% of a core"))
    return figures


def _measure(kafka: str, table: Table, trigger: str, place: Path, messages: int, found: Measured) -> None:
    end = _Downlink(kafka, table.topics.downlink(NODES[0]))
    began_at = time.monotonic()
    with _job(kafka, table, trigger, place) as process:
        try:
            soon_at = end.reached(int(messages * _SOON), process)
            over_at = end.reached(messages, process)
            found.whole.append(over_at - began_at)
            found.rates.append(messages * (1 - _SOON) / (over_at - soon_at))
            if trigger in _LASTING:
                _trickle(kafka, table, process.pid, found)
        finally:
            end.close()


def _trickle(kafka: str, table: Table, pid: int, found: Measured) -> None:
    with RoutedStream(kafka, table.topics, NODES[0]) as stream:
        stream.wait_first(60.0)
        time.sleep(_WARM_UP)
        since, meter = time.monotonic(), CpuMeter({"router": pid})
        time.sleep(_TRICKLE)
        until, used = time.monotonic(), meter.seconds()["router"]
        time.sleep(2.0)  # The last of them come.
    found.cores.append(used / (until - since))
    found.latencies += [one.latency for one in stream.samples() if since <= one.sent_at < until]


@contextmanager
def _job(kafka: str, table: Table, trigger: str, place: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The router's job with a trigger and a checkpoint of its own; it is a JVM, which Python is a child of."""
    place.mkdir(parents=True)
    options = ("--topic-prefix", table.topics.prefix, "--trigger", trigger)
    part = with_memory(router_part(DataFolder(place, lock=-1), kafka, PARTITIONS, options), _MEMORY)
    with (place / "job.log").open("wb") as log:
        process = subprocess.Popen(
            list(part.command), stdout=log, stderr=log, env={**os.environ, **part.environment}, cwd=ROOT
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            for pid in reversed(tree(process.pid)):
                os.kill(pid, signal.SIGKILL)
        process.wait()


class _Downlink:
    """How many records have come to a node's Kafka topic since this was made."""

    def __init__(self, kafka: str, name: str) -> None:
        self._consumer = Consumer({"bootstrap.servers": kafka, "group.id": "bench"})
        self._place = TopicPartition(name, 0)
        self._start = self._end()

    def reached(self, count: int, process: subprocess.Popen[bytes]) -> float:
        """When so many had come, on the monotonic clock.

        Raises:
            RuntimeError: They did not come, or the job ended before.
        """
        deadline = time.monotonic() + _SECONDS_TO_DRAIN
        while (came := self._end() - self._start) < count:
            if time.monotonic() > deadline or (
                process.poll() is not None and came == self._end() - self._start
            ):
                raise RuntimeError(f"{came} of {count} messages were routed")
            time.sleep(0.02)
        return time.monotonic()

    def close(self) -> None:
        """Look no more."""
        self._consumer.close()

    def _end(self) -> int:
        return int(self._consumer.get_watermark_offsets(self._place, 10.0)[1])
