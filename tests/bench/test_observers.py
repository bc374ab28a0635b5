"""Observers: a scraper really scrapes, in its turns alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry

from admin.stack.embedded import Stack
from bench.observers import console_open, scraping
from tests.telemetry.scraping import served


def stack_at(*urls: str) -> Stack:
    given: Any = SimpleNamespace(metrics=dict(enumerate(urls)), administration=None)
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
        scraping(stack_at(f"{scrape.url}/metrics", f"{scrape.url}/metrics")) as scraper,
    ):
        scraper.begin()
        scraper.look()
        assert asked == 2
        scraper.look()
        assert asked in (2, 4)  # a second may have passed
        scraper.end()
    assert asked in (2, 4)


def test_one_that_reached_nobody_has_measured_nothing() -> None:
    with pytest.raises(RuntimeError, match="scraped"), scraping(stack_at()):
        pass


def test_a_stack_without_a_console_has_none_open() -> None:
    with pytest.raises(RuntimeError, match="no administration"), console_open(stack_at()):
        pass
