"""What a sink tells operators of itself: what its batches came to, how far it is behind, and what is wrong."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from confluent_kafka import KafkaException
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from sinks.supervision import Supervisor
from stores import StoreUnavailableError
from telemetry.health import Failure
from telemetry.log_lag import LogLag

PREFIX = "sluicemq_sink_"
BEHIND_SECONDS = 60.0
"""A record may be in Kafka for so long, and two batches more, before the sink counts as behind."""
_COUNTERS = {
    "records": "Records read.",
    "messages": "Messages among them.",
    "repeats": "Messages that the router had written before.",
    "unreadable": "Records passed over as unreadable.",
    "stored": "Rows written: messages, or what gateways have counted.",
    "deleted": "Stored messages deleted since they are acknowledged.",
    "dropped": "The oldest messages of clients that have too many.",
    "operations": "Commands or statements that the store was given.",
}


class SinkCollector(Collector):
    """Counters of all batches of the sinks of a process."""

    def __init__(self, sinks: Mapping[str, tuple[Supervisor, StoreCheck]]) -> None:
        """`sinks`: by name."""
        self._sinks = sinks

    def describe(self) -> Iterable[Metric]:
        """Nothing is asked for the sake of names."""
        return []

    def collect(self) -> Iterator[Metric]:
        """See `Collector`."""
        for name, help in _COUNTERS.items():
            yield self._counters(name, help, lambda one, name=name: asdict(one.progress.total)[name])  # type: ignore[misc]
        yield self._counters("batches", "Batches begun.", lambda one: one.progress.all_batches)
        yield self._counters(
            "query_restarts", "Queries started after the first one.", lambda one: one.restarts
        )
        lag = GaugeMetricFamily(
            PREFIX + "lag_records",
            "Offsets between where the destination stands and the end of the partition, when last checked.",
            labels=["sink", "partition"],
        )
        for sink, (_, check) in self._sinks.items():
            for partition, offsets in sorted(check.lag.items()):
                lag.add_metric([sink, str(partition)], offsets)
        yield lag

    def _counters(self, name: str, help: str, value: Callable[[Supervisor], int]) -> CounterMetricFamily:
        family = CounterMetricFamily(PREFIX + name, help, labels=["sink"])
        for sink, (supervisor, _) in self._sinks.items():
            family.add_metric([sink], value(supervisor))
        return family


class QueryCheck:
    """Whether a query runs."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor

    def __call__(self) -> Failure | None:
        """See `telemetry.health.Check`."""
        query = self._supervisor.query
        with contextlib.suppress(Py4JError, ConnectionError, EOFError):
            if query is not None and query.isActive:
                return None
        return Failure("no query runs: what is in Kafka waits there")


class StoreCheck:
    """Whether the destination answers, and has what is in Kafka."""

    def __init__(self, supervisor: Supervisor, behind_seconds: float) -> None:
        """Nothing is asked yet; `behind_seconds` is how old a record may be that the destination lacks."""
        self._supervisor = supervisor
        self._behind_seconds = behind_seconds
        self._began_at = time.time()
        self._log: LogLag | None = None
        self.lag: Mapping[int, int] = {}
        """By partition, how many offsets it was behind when that was checked last."""

    def __call__(self) -> Failure | None:
        """See `telemetry.health.Check`."""
        supervisor = self._supervisor
        if supervisor.destination is None:
            return Failure("the destination has not answered yet", self._began_at)
        if self._log is None:
            self._log = LogLag(supervisor.kafka, supervisor.topic)
        try:
            partitions = self._log.partitions()
            stands = supervisor.destination.positions(range(partitions))
            ends = self._log.ends(partitions)
            self.lag = {
                partition: max(0, end - (stands.get(partition) or 0)) for partition, end in ends.items()
            }
            behind = {partition: stands.get(partition) for partition, lag in self.lag.items() if lag}
            before_ms = round((time.time() - self._behind_seconds) * 1_000)
            oldest = self._log.oldest_missing(behind, before_ms) if behind else None
        except StoreUnavailableError as error:
            return Failure(f"the destination does not answer: {error}")
        except KafkaException as error:
            return Failure(f"Kafka does not answer: {error.args[0].str()}")
        if oldest is None:
            return None
        return Failure(
            "the destination is behind: it lacks records that have stood in Kafka since then", oldest / 1_000
        )


def last_progress(supervisor: Supervisor) -> dict[str, Any] | None:
    """Of the running query; None where there is none, or its JVM is gone."""
    query = supervisor.query
    with contextlib.suppress(Py4JError, ConnectionError, EOFError):
        found: Any = query.lastProgress if query is not None else None
        return found if found is None else dict(found)
    return None
