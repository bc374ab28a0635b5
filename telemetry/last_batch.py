"""What Spark says of the last batch of a streaming query; it is asked when somebody wants to know."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


class LastBatchCollector(Collector):
    """Its duration and size."""

    def __init__(self, prefix: str, last_progress: Callable[[], Mapping[str, Any] | None]) -> None:
        """Prepare.

        Args:
            prefix: Of the metrics' names.
            last_progress: `lastProgress` of the running query; None while no batch has ended, or nobody can say.
        """
        self._prefix = prefix
        self._last_progress = last_progress

    def describe(self) -> Iterable[Metric]:
        """Nothing is asked for the sake of names."""
        return []

    def collect(self) -> Iterator[Metric]:
        """See `Collector`."""
        progress = self._last_progress()
        seconds = GaugeMetricFamily(
            f"{self._prefix}last_batch_duration_seconds",
            "How long the last batch that has ended took.",
            labels=[],
        )
        rows = GaugeMetricFamily(
            f"{self._prefix}last_batch_rows",
            "Records that the last batch that has ended has read.",
            labels=[],
        )
        if progress is not None:
            seconds.add_metric([], float(progress.get("durationMs", {}).get("triggerExecution", 0)) / 1_000)
            rows.add_metric([], float(progress.get("numInputRows") or 0))
        yield seconds
        yield rows
