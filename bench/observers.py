"""Who looks at a stack while it is measured: nobody, or a Prometheus that scrapes every part once a second.

Another observer, such as a console that is open, is one more entry of `OBSERVERS`.
"""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from admin.stack.embedded import Stack

Look = Callable[[], None]
"""Called about twice a second while something is measured."""

SECONDS_BETWEEN = 1.0
_PATIENCE = 30.0


@contextmanager
def nobody(_stack: Stack) -> Iterator[Look]:
    """Look at nothing."""
    yield lambda: None


class Scraper:
    """Asks every part of a stack for its metrics, once a second, as Prometheus does."""

    def __init__(self, stack: Stack) -> None:
        self._urls = list(stack.metrics.values())
        self._due_at = 0.0
        self.scrapes = 0
        """How many answers there were."""

    def look(self) -> None:
        """Scrape, if it is time."""
        now = time.monotonic()
        if now < self._due_at:
            return
        self._due_at = now + SECONDS_BETWEEN
        for url in self._urls:
            request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})  # noqa: S310 - our own, on loopback
            with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:  # noqa: S310  # nosec B310
                answer.read()
            self.scrapes += 1


@contextmanager
def scraping(stack: Stack) -> Iterator[Look]:
    """Scrape while the block runs.

    Raises:
        RuntimeError: It came to nothing, so nothing was measured.
    """
    scraper = Scraper(stack)
    yield scraper.look
    if not scraper.scrapes:
        raise RuntimeError("no part of the stack was scraped")


NOBODY = "nobody looks"
SCRAPE = "a scrape every second"
OBSERVERS = {NOBODY: nobody, SCRAPE: scraping}
"""The first is what the others are compared with."""
