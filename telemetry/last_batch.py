"""What Spark says of the last batch of streaming queries; it is asked when somebody wants to know."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


class LastBatchCollector(Collector):
    """Its duration and size; of several queries, each by its labels."""

    def __init__(
        self,
        prefix: str,
        last_progress: Mapping[tuple[str, ...], Callable[[], Mapping[str, Any] | None]],
        labels: Sequence[str] = (),
    ) -> None:
        """Prepare.

        Args:
            prefix: Of the metrics' names.
            last_progress: By the labels' values, `lastProgress` of the running query; None while no batch has ended,
                or nobody can say.
            labels: What tells queries apart.
        """
        self._prefix = prefix
        self._last_progress = last_progress
        self._labels = labels

    def describe(self) -> Iterable[Metric]:
        """Nothing is asked for the sake of names."""
        return []

    def collect(self) -> Iterator[Metric]:
        """See `Collector`."""
        seconds = GaugeMetricFamily(
            f"{self._prefix}last_batch_duration_seconds",
            "How long the last batch that has ended took.",
            labels=self._labels,
        )
        rows = GaugeMetricFamily(
            f"{self._prefix}last_batch_rows",
            "Records that the last batch that has ended has read.",
            labels=self._labels,
        )
        for values, last_progress in self._last_progress.items():
            if (progress := last_progress()) is None:
                continue
            took_ms = float(progress.get("durationMs", {}).get("triggerExecution", 0))
            seconds.add_metric(values, took_ms / 1_000)
            rows.add_metric(values, float(progress.get("numInputRows") or 0))
        yield seconds
        yield rows
