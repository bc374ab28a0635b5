"""Checks of a process, and what they come to: ready or not, which check fails, and since when.

A check tells what is wrong, at once; one that has to ask somebody, who may not answer, is put into an `Asked`. Nothing
is looked at but when somebody wants to know.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

Clock = Callable[[], float]


@dataclass(frozen=True)
class Failure:
    """What is wrong."""

    reason: str
    """In a sentence."""
    since: float | None = None
    """Seconds since 1970; None: since somebody noticed."""


Check = Callable[[], Failure | None]
"""None: nothing is wrong. It may be called from any thread."""

FRESH_SECONDS = 2.0
"""An answer is good for so long: whoever asks more often costs nothing more."""
PATIENCE_SECONDS = 0.5
"""A report waits so long for an answer, then it is made of the last one: Kubernetes, for one, waits for a second."""
FIRST_PATIENCE_SECONDS = 3.0
"""The same while there is no last one."""
SILENCE_SECONDS = 5.0
"""Who has not answered for so long fails the check."""


class Asked:
    """A check that may take its time: it is made in a thread, and answered for by what it found last."""

    def __init__(
        self,
        check: Check,
        clock: Clock = time.monotonic,
        now: Clock = time.time,
        *,
        fresh: float = FRESH_SECONDS,
    ) -> None:
        """Ask nothing yet.

        Args:
            check: May block.
            clock: Seconds that go on evenly.
            now: Seconds since 1970.
            fresh: For how many seconds an answer is good.
        """
        self._check = check
        self._fresh = fresh
        self._clock = clock
        self._now = now
        self._lock = threading.Lock()
        self._answered = threading.Event()
        self._asked_at: float | None = None
        self._answered_at: float | None = None
        self._found: Failure | None = None

    def __call__(self) -> Failure | None:
        """See `Check`."""
        if self.begin():
            self._answered.wait(FIRST_PATIENCE_SECONDS if self._answered_at is None else PATIENCE_SECONDS)
        with self._lock:
            asked_at, clock = self._asked_at, self._clock()
            if asked_at is None:
                return self._found
            waited = clock - asked_at
            if waited > SILENCE_SECONDS or self._answered_at is None:
                return Failure(f"there has been no answer for {waited:.0f} s", self._now() - waited)
            return self._found

    def begin(self) -> bool:
        """Ask, unless that was done a moment ago; returns whether an answer is due."""
        with self._lock:
            if self._asked_at is not None:
                return True
            at = self._clock()
            if self._answered_at is not None and at - self._answered_at < self._fresh:
                return False
            self._asked_at = at
            self._answered.clear()
        threading.Thread(target=self._run, name="health-check", daemon=True).start()
        return True

    def _run(self) -> None:
        try:
            found = self._check()
        except Exception as error:  # a check that breaks must not pass for one that finds nothing
            found = Failure(f"the check broke: {type(error).__name__}: {error}")
        with self._lock:
            self._found, self._answered_at, self._asked_at = found, self._clock(), None
            self._answered.set()


class Health:
    """Named checks."""

    def __init__(self, now: Clock = time.time) -> None:
        self._now = now
        self._checks: dict[str, Check] = {}
        self._since: dict[str, float] = {}

    @property
    def names(self) -> list[str]:
        """The checks, in the order in which they were added."""
        return list(self._checks)

    def add(self, name: str, check: Check) -> None:
        """Add a check, or replace the one of that name."""
        self._checks[name] = check

    def failures(self, exclude: Collection[str] = ()) -> dict[str, Failure]:
        """Make the checks; those that fail, each with its time."""
        found: dict[str, Failure] = {}
        checks = {name: check for name, check in list(self._checks.items()) if name not in exclude}
        for check in checks.values():
            if isinstance(check, Asked):
                check.begin()  # all at once: their answers are waited for together
        for name, check in checks.items():
            failure = check()
            if failure is None:
                self._since.pop(name, None)
                continue
            noticed = self._since.setdefault(name, self._now())
            found[name] = Failure(failure.reason, noticed if failure.since is None else failure.since)
        return found


def report(
    health: Health, failures: Mapping[str, Failure], exclude: Collection[str], now: float
) -> dict[str, Any]:
    """What is told of checks: `status`, and of each its own, the reason, and since when in two forms."""
    checks: dict[str, Any] = {}
    for name in health.names:
        if name in exclude:
            continue
        failure = failures.get(name)
        if failure is None:
            checks[name] = {"status": "up"}
            continue
        since = now if failure.since is None else failure.since
        checks[name] = {
            "status": "down",
            "reason": failure.reason,
            "since": datetime.fromtimestamp(since, UTC).isoformat(timespec="seconds"),
            "seconds": round(max(now - since, 0.0), 1),
        }
    return {"status": "down" if failures else "up", "checks": checks}
