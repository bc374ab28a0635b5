"""Who looks at a stack while it is measured: a Prometheus that scrapes every part once a second, or an open console.

An observer takes turns: what it is made of is there all the time, and does nothing, not even follow Kafka, but in its
turns. Another one is one more entry of `OBSERVERS`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Protocol

import psutil

from admin.stack.embedded import Stack
from bench.load.process import ROOT, LoadError
from bench.processes import tree
from identity.database import open_database
from identity.roles import Role
from identity.users import Users

SECONDS_BETWEEN = 1.0
_PATIENCE = 30.0
_SECONDS_TO_ANSWER, _SECONDS_TO_LEAVE = 240.0, 30.0
"""Of the browser, whose start takes a busy machine most of a minute."""
_USER, _PASSWORD = "bench", "a-long-password"
LEAST_DRAWN = 2
"""Charts that move in each turn, at least: there are four, and one look of each turn comes when it begins."""
BROWSER = "browser"
ADMINISTRATION = "admin"


class Observer(Protocol):
    """Looks in its turns; what it was waits in between."""

    processes: Mapping[str, int]
    """Its own, whose CPU seconds to measure."""

    def begin(self) -> None:
        """Its turn begins."""

    def look(self) -> None:
        """Called about twice a second in its turn."""

    def end(self) -> None:
        """Its turn is over."""


class Scraper:
    """Asks every part of a stack for its metrics, once a second, as Prometheus does."""

    def __init__(self, stack: Stack) -> None:
        self._urls = list(stack.metrics.values())
        self._due_at = 0.0
        self.processes: Mapping[str, int] = {}
        self.scrapes = 0
        """How many answers there were."""

    def begin(self) -> None:
        """Scrape at once."""
        self._due_at = 0.0

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

    def end(self) -> None:
        """Nothing goes on without `look`."""


@contextmanager
def scraping(stack: Stack) -> Iterator[Scraper]:
    """Somebody who scrapes.

    Raises:
        RuntimeError: It came to nothing, so nothing was measured.
    """
    scraper = Scraper(stack)
    yield scraper
    if not scraper.scrapes:
        raise RuntimeError("no part of the stack was scraped")


class Console:
    """A process of `sluicemq admin`, and a browser that shows the overview with its charts; stopped between turns."""

    def __init__(self, stack: Stack, visitor: subprocess.Popen[str]) -> None:
        self._stack, self._visitor = stack, visitor
        browser = {f"{BROWSER} {pid}": pid for pid in tree(visitor.pid)}
        self.processes: Mapping[str, int] = {ADMINISTRATION: stack.pid(ADMINISTRATION), **browser}
        self.turns = 0
        """That it had."""

    def begin(self) -> None:
        """Both go on; what the gateways have told meanwhile, and one look that is overdue, come at once."""
        self.turns += 1
        self._stack.resume(ADMINISTRATION)
        self._signal(signal.SIGCONT)

    def look(self) -> None:
        """The page looks by itself."""

    def end(self) -> None:
        """Both stand still."""
        self._signal(signal.SIGSTOP)
        self._stack.pause(ADMINISTRATION)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(
            psutil.NoSuchProcess, ProcessLookupError
        ):  # It has ended, which is told where it is asked.
            for pid in tree(self._visitor.pid):
                os.kill(pid, number)


@contextmanager
def console_open(stack: Stack) -> Iterator[Console]:
    """Somebody who has the overview open.

    Raises:
        LoadError: The browser did not come so far.
        RuntimeError: The charts stood still, so nothing was measured.
    """
    if stack.administration is None:
        raise RuntimeError("the stack has no administration")
    database = open_database(stack.administration.database)
    try:
        users = Users(database)
        if not users.count():
            users.add(_USER, _PASSWORD, Role.ADMINISTRATOR)
    finally:
        database.close()
    command = [sys.executable, "-m", "bench.visitor", stack.administration.url, _USER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as visitor:
        console = None
        try:
            _ask(visitor, _PASSWORD)
            drawn = _ask(visitor)
            console = Console(stack, visitor)
            console.end()
            yield console
            console.begin()
            if _ask(visitor) - drawn < LEAST_DRAWN * (console.turns - 1):
                raise RuntimeError("the console's charts stood still")
        finally:
            if console is not None:
                console.begin()
            _see_off(visitor)


def _see_off(visitor: subprocess.Popen[str]) -> None:
    """End the visit, whether it answers or not."""
    try:
        visitor.communicate(timeout=_SECONDS_TO_LEAVE)  # which closes its input
    except subprocess.TimeoutExpired:
        _kill(visitor)


def _kill(visitor: subprocess.Popen[str]) -> None:
    with suppress(psutil.NoSuchProcess, ProcessLookupError):
        for pid in tree(visitor.pid):
            os.kill(pid, signal.SIGKILL)


def _ask(visitor: subprocess.Popen[str], said: str = "") -> int:
    """Say a line, and hear how often the charts were drawn so far."""
    assert visitor.stdin is not None  # noqa: S101 - pipes were asked for
    assert visitor.stdout is not None  # noqa: S101
    # A browser that hangs is no reason to hang with it.
    watchdog = threading.Timer(_SECONDS_TO_ANSWER, _kill, [visitor])
    watchdog.start()
    try:
        with suppress(BrokenPipeError):  # It has ended, so there is no answer either.
            visitor.stdin.write(said + "\n")
            visitor.stdin.flush()
        line = visitor.stdout.readline()
    finally:
        watchdog.cancel()
    if not line:
        raise LoadError(
            "the browser of the console has ended, or does not answer: what it wrote on standard error says why"
        )
    return int(json.loads(line)["drawn"])


SCRAPE, CONSOLE = "a scrape every second", "an open console"
OBSERVERS: dict[str, Callable[[Stack], AbstractContextManager[Observer]]] = {
    SCRAPE: scraping,
    CONSOLE: console_open,
}
