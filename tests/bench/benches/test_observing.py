"""The observing bench: costs are shares of the same round's run that nobody looked at, and a scraper really scrapes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry

from admin.stack.embedded import Stack
from bench.benches.observing import Observed
from bench.load.process import Measured
from bench.observers import NOBODY, SCRAPE, scraping
from tests.telemetry.scraping import served


def run_of(messages: int, cpu: float) -> Measured:
    return {"messages": messages, "seconds": 2.0, "cpu": {"gw1": cpu}}


def test_costs() -> None:
    observed = Observed(
        {NOBODY: [run_of(1_000, 1.0), run_of(500, 1.0)], SCRAPE: [run_of(900, 0.9), run_of(450, 0.99)]}
    )
    assert observed.rate(NOBODY) == pytest.approx(375.0)
    assert observed.cost(SCRAPE) == pytest.approx(10.0)
    assert observed.added(SCRAPE) == pytest.approx((0.0 + 10.0) / 2)


def stack_at(*urls: str) -> Stack:
    given: Any = SimpleNamespace(metrics=dict(enumerate(urls)))
    return cast(Stack, given)


def test_a_scraper_scrapes_each_part_once_a_second() -> None:
    asked = 0

    class Counting:
        def describe(self) -> list[Any]:
            return []

        def collect(self) -> list[Any]:
            nonlocal asked
            asked += 1
            return []

    registry = CollectorRegistry()
    registry.register(cast(Any, Counting()))
    with (
        served(registry, {}) as scrape,
        scraping(stack_at(f"{scrape.url}/metrics", f"{scrape.url}/metrics")) as look,
    ):
        look()
        assert asked == 2
        look()
    assert asked in (2, 4)  # a second may have passed


def test_one_that_reached_nobody_has_measured_nothing() -> None:
    with pytest.raises(RuntimeError, match="scraped"), scraping(stack_at()):
        pass
