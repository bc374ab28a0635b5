"""Observers: a scraper really scrapes, in its turns alone; a browser that hangs is waited for no longer."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry

from admin.stack.embedded import Stack
from bench import observers
from bench.load.process import LoadError
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


@pytest.mark.parametrize("script", ["import sys; sys.exit(1)", "import time; time.sleep(3_000)"])
def test_a_browser_that_ends_or_hangs_is_told(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observers, "_SECONDS_TO_ANSWER", 0.5)
    visitor = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with visitor:
        with pytest.raises(LoadError, match="has ended, or does not answer"):
            observers._ask(visitor, "a-long-password")
        observers._see_off(visitor)
    assert visitor.returncode


def test_one_that_does_not_leave_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observers, "_SECONDS_TO_LEAVE", 0.1)
    command = [sys.executable, "-c", "import time; time.sleep(3_000)"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as visitor:
        observers._see_off(visitor)
    assert visitor.returncode
