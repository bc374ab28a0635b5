"""Sinks that share a process: each has its own end, and only the JVM's is the end of all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from unittest.mock import MagicMock

import pytest
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]

from sinks import running
from sinks.errors import SinkFailedError
from sinks.running import STARTED, Sink, run_sinks
from telemetry.settings import TelemetrySettings

QUIET = TelemetrySettings()


class Supervised:
    """What stands for a supervisor: each run raises the next of these, and the last runs until it is told to stop."""

    def __init__(self, errors: list[Exception], started: Callable[[], None], ends: bool) -> None:
        self.runs = 0
        self._errors = iter(errors)
        self._started = started
        self._stopping = threading.Event()
        self._ends = ends

    def run(self) -> None:
        self.runs += 1
        if error := next(self._errors, None):
            raise error
        self._started()
        if not self._ends:
            assert self._stopping.wait(60)

    def stop(self) -> None:
        self._stopping.set()

    def stops_within(self, seconds: float) -> bool:
        return self._stopping.wait(seconds)


@pytest.fixture(autouse=True)
def spark(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    """No session: none of this is Spark's. Handlers of signals stay as they are."""
    session = MagicMock()
    monkeypatch.setattr(running, "SparkSession", session)
    monkeypatch.setattr("sinks.running.signal.signal", lambda *_: None)
    return session


def sink(*errors: Exception, ends: bool = True) -> tuple[Sink, list[Supervised]]:
    made: list[Supervised] = []

    def supervised(_spark: object, started: Callable[[], None]) -> Supervised:
        made.append(Supervised(list(errors), started, ends))
        return made[0]

    return Sink(f"sink {id(made)}", {}, supervised), made  # type: ignore[arg-type]


def test_one_gives_up_and_is_tried_again(capsys: pytest.CaptureFixture[str]) -> None:
    (failing, _), (healthy, _) = sink(SinkFailedError("no room left")), sink()
    assert run_sinks("both", [failing, healthy], QUIET, retry_seconds=0) == 0
    said = capsys.readouterr()
    assert said.out == f"{STARTED}\n"  # once, when both have started
    assert said.err == "The sink has stopped: no room left\n"


def test_one_gives_up_and_the_other_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    (failing, _), (healthy, made) = sink(SinkFailedError("no room left")), sink()
    assert run_sinks("both", [failing, healthy], QUIET, retry_seconds=None) == 1
    assert [each.runs for each in made] == [1]
    assert STARTED not in capsys.readouterr().out


def test_the_jvms_end_is_the_end_of_all(capsys: pytest.CaptureFixture[str], spark: MagicMock) -> None:
    (dying, _), (healthy, made) = sink(Py4JNetworkError("gone")), sink(ends=False)
    assert run_sinks("both", [dying, healthy], QUIET) == 1
    assert made[0].stops_within(0)
    assert "its Spark JVM is gone" in capsys.readouterr().err
    assert spark.builder.appName.called


def test_while_one_waits_to_be_tried_again_all_may_be_stopped() -> None:
    (failing, waiting), (dying, _) = sink(SinkFailedError("x"), ends=False), sink(Py4JNetworkError("gone"))
    assert run_sinks("both", [failing, dying], QUIET, retry_seconds=600) == 1
    assert waiting[0].runs <= 1
