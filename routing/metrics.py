"""What the router tells operators of itself; it happens a few times a minute, in the driver, and never per message.

How long messages take through the router, and how many wait before it, the gateways know by their probes.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql.streaming.query import StreamingQuery

from routing.survey import Survey
from telemetry.registry import process_registry

PREFIX = "sluicemq_router_"
_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class RouterMetrics:
    """The router's own registry, and what the supervisor tells it."""

    def __init__(self) -> None:
        registry = self.registry = process_registry("router")
        self.generation = _gauge(registry, "generation", "Number of the generation in charge.")
        self.generation_began = _gauge(
            registry, "generation_start_time_seconds", "When that one was started, seconds since 1970."
        )
        self._rollovers = Counter(
            "sluicemq_router_rollovers",
            "Rollovers to a next generation: done, or put off since this one was behind or had no gateway.",
            ["outcome"],
            registry=registry,
        )
        for outcome in ("done", "deferred"):
            self._rollovers.labels(outcome)
        self._rollover_seconds = Histogram(
            "sluicemq_router_rollover_duration_seconds",
            "From the first marker of a rollover until the next generation runs alone.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._marker_seconds = Histogram(
            "sluicemq_router_marker_latency_seconds",
            "How long a generation took to prove what it has written, at a rollover.",
            buckets=_SECONDS,
            registry=registry,
        )
        self.queries = _counter(
            registry, "queries", "Queries started: the first, after failures, and by rollovers."
        )
        self.failures = _counter(registry, "query_failures", "Queries that ended by an error.")
        self.quarantines = _counter(
            registry, "quarantines", "Kafka topics put in quarantine since they were missing."
        )
        self.quarantined = _gauge(registry, "quarantined_topics", "Kafka topics in quarantine now.")
        self.missing = _gauge(
            registry, "missing_topics", "Kafka topics that routes lead to, and that are missing."
        )
        self._routes = _gauge(registry, "table_routes", "Rows of the route table when this generation began.")
        self._shapes = _gauge(
            registry, "table_shapes", "Shapes of filters in use when this generation began."
        )
        self._version = Gauge(
            "sluicemq_router_table_version",
            "Offset of the subscription log up to which the table was read when this generation began.",
            ["partition"],
            registry=registry,
        )

    def began(self, generation: int) -> None:
        """A generation is in charge, and its query started."""
        self.generation.set(generation)
        self.generation_began.set(time.time())
        self.queries.inc()

    def surveyed(self, survey: Survey) -> None:
        """The table as the next plan finds it."""
        self._routes.set(survey.routes)
        self._shapes.set(len(survey.shapes))
        for partition, version in survey.versions.items():
            self._version.labels(partition).set(version)

    def proved(self, seconds: float) -> None:
        """A generation has proved what it has written."""
        self._marker_seconds.observe(seconds)

    def rolled_over(self, seconds: float | None) -> None:
        """A rollover is done; None: it was put off."""
        self._rollovers.labels("deferred" if seconds is None else "done").inc()
        if seconds is not None:
            self._rollover_seconds.observe(seconds)


def last_progress(query: StreamingQuery | None) -> dict[str, Any] | None:
    """Of a query; None where there is none, or its JVM is gone, and the job soon too."""
    with contextlib.suppress(Py4JError, ConnectionError, EOFError):
        found: Any = query.lastProgress if query is not None else None
        return found if found is None else dict(found)
    return None


def _gauge(registry: CollectorRegistry, name: str, help: str) -> Gauge:
    return Gauge(f"sluicemq_router_{name}", help, registry=registry)


def _counter(registry: CollectorRegistry, name: str, help: str) -> Counter:
    return Counter(f"sluicemq_router_{name}", help, registry=registry)
