"""What a sink tells of itself, with a destination and a Kafka that the test plays."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import cast

import pytest
from prometheus_client import CollectorRegistry

from sinks import metrics
from sinks.destination import Destination
from sinks.metrics import PREFIX, QueryCheck, SinkCollector, StoreCheck, last_progress
from sinks.outcomes import Counters
from sinks.progress import Progress
from sinks.supervision import Supervisor
from stores import StoreUnavailableError
from telemetry.last_batch import LastBatchCollector
from tests.docs.metrics_page import page_metrics, scraped_metrics
from tests.telemetry.scraping import served


class PlayedLog:
    """A topic of two partitions with ten records each, the last one from a time that the test says."""

    oldest: int | None = None

    def __init__(self, *_: str) -> None:
        pass

    def partitions(self) -> int:
        return 2

    def ends(self, partitions: int) -> dict[int, int]:
        return dict.fromkeys(range(partitions), 10)

    def oldest_missing(self, positions: Mapping[int, int | None], before_ms: int) -> int | None:
        assert positions
        return self.oldest if self.oldest is not None and self.oldest < before_ms else None


class PlayedDestination:
    """Stands at an offset, or is away."""

    at: int | None = 10

    def positions(self, partitions: Iterable[int]) -> dict[int, int | None]:
        if self.at is not None and self.at < 0:
            raise StoreUnavailableError("redis://h", "away")
        return dict.fromkeys(partitions, self.at)


@pytest.fixture
def supervisor(monkeypatch: pytest.MonkeyPatch) -> Supervisor:
    monkeypatch.setattr(metrics, "LogLag", PlayedLog)
    monkeypatch.setattr(PlayedLog, "oldest", None)
    played = SimpleNamespace(
        kafka="127.0.0.1:1", topic="t", destination=cast(Destination, PlayedDestination()), query=None,
        progress=Progress(), restarts=2,
    )  # fmt: skip
    return cast(Supervisor, played)


def test_the_destination_is_up_to_date_behind_or_away(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    destination = cast(PlayedDestination, supervisor.destination)
    check = StoreCheck(supervisor, 60.0)
    assert check() is None
    assert check.lag == {0: 0, 1: 0}
    destination.at = 4
    assert check() is None, "it is behind, but not for long"
    assert check.lag == {0: 6, 1: 6}
    monkeypatch.setattr(PlayedLog, "oldest", round((time.time() - 100) * 1_000))
    failure = check()
    assert failure is not None
    assert failure.since == (PlayedLog.oldest or 0) / 1_000
    destination.at = -1
    failure = check()
    assert failure is not None
    assert "away" in failure.reason
    supervisor.destination = None
    assert check() is not None


def test_a_scrape_is_what_the_page_says(supervisor: Supervisor) -> None:
    check = StoreCheck(supervisor, 60.0)
    check()
    supervisor.progress.batches += 1
    supervisor.progress.add(Counters(records=5, messages=4, stored=3))
    supervisor.progress.tell(now=True)
    supervisor.progress.batches += 1
    registry = CollectorRegistry()
    registry.register(SinkCollector({"persisted": (supervisor, check)}))
    last = {"numInputRows": 5, "durationMs": {"triggerExecution": 250}}
    registry.register(LastBatchCollector(PREFIX, {("persisted",): lambda: last}, ["sink"]))
    with served(registry, {}) as scrape:
        text = scrape.metrics()
    assert scraped_metrics(text, "sink") == page_metrics("sink")
    assert 'sluicemq_sink_batches_total{sink="persisted"} 2.0' in text
    assert 'sluicemq_sink_stored_total{sink="persisted"} 3.0' in text
    assert 'sluicemq_sink_query_restarts_total{sink="persisted"} 2.0' in text
    assert 'sluicemq_sink_last_batch_duration_seconds{sink="persisted"} 0.25' in text


def test_without_a_query(supervisor: Supervisor) -> None:
    assert QueryCheck(supervisor)() is not None
    assert last_progress(supervisor) is None
