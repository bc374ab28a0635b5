"""Checks, those that hang or break among them."""

from __future__ import annotations

import threading

import pytest

from telemetry import health
from telemetry.health import Asked, Failure, Health, report


def test_what_fails_and_since_when() -> None:
    now, wrong = 1_000.0, dict[str, Failure | None]({"a": None, "b": Failure("b is wrong")})
    checks = Health(lambda: now)
    for name in wrong:
        checks.add(name, lambda name=name: wrong[name])  # type: ignore[misc]
    assert checks.failures() == {"b": Failure("b is wrong", 1_000.0)}
    now = 1_030.0
    assert checks.failures() == {"b": Failure("b is wrong", 1_000.0)}
    told = report(checks, checks.failures(), (), 1_030.0)
    assert told == {
        "status": "down",
        "checks": {
            "a": {"status": "up"},
            "b": {
                "status": "down", "reason": "b is wrong", "since": "1970-01-01T00:16:40+00:00", "seconds": 30.0,
            },
        },
    }  # fmt: skip
    assert checks.failures(exclude=["b"]) == {}
    assert report(checks, {}, ["b"], now) == {"status": "up", "checks": {"a": {"status": "up"}}}
    wrong["b"] = None
    assert checks.failures() == {}
    now, wrong["b"] = 1_060.0, Failure("again")
    assert checks.failures() == {"b": Failure("again", 1_060.0)}, "what was over has begun anew"
    wrong["b"] = Failure("it knows better", 7.0)
    assert checks.failures()["b"].since == 7.0


def test_who_hangs_fails_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PATIENCE_SECONDS", "FIRST_PATIENCE_SECONDS"):
        monkeypatch.setattr(health, name, 0.01)
    clock, may_answer, asked = 0.0, threading.Event(), threading.Semaphore(0)

    def check() -> Failure | None:
        asked.release()
        assert may_answer.wait(120)
        return None

    hanging = Asked(check, lambda: clock, lambda: 5_000.0 + clock)
    first = hanging()
    assert first is not None, "nobody knows yet"
    assert asked.acquire(timeout=120)
    clock = 30.0
    assert hanging() == Failure("there has been no answer for 30 s", 5_000.0)
    assert not asked.acquire(blocking=False), "it is not asked a second time meanwhile"
    monkeypatch.setattr(health, "FIRST_PATIENCE_SECONDS", 120.0)
    may_answer.set()
    assert hanging() is None
    assert hanging() is None
    assert not asked.acquire(blocking=False), "an answer is good for a while"


def test_a_last_answer_stands_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "PATIENCE_SECONDS", 0.01)
    clock, may_answer = 0.0, threading.Event()
    may_answer.set()
    found: Failure | None = None

    def check() -> Failure | None:
        assert may_answer.wait(120)
        return found

    asked = Asked(check, lambda: clock)
    assert asked() is None
    may_answer.clear()
    clock = health.FRESH_SECONDS + 1
    assert asked() is None, "as it was, since the answer may come any moment"
    clock += health.SILENCE_SECONDS + 1
    assert asked() is not None
    found = Failure("gone")
    monkeypatch.setattr(health, "PATIENCE_SECONDS", 120.0)
    may_answer.set()
    assert asked() == Failure("gone")


def test_a_check_that_breaks_fails() -> None:
    def check() -> Failure | None:
        raise ZeroDivisionError("by zero")

    failure = Asked(check)()
    assert failure is not None
    assert "ZeroDivisionError" in failure.reason
