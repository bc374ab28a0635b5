"""The job as a process: the command line, and kill -9 in the middle of the log."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from sinks.job import parse_arguments
from sinks.persisted.store import StoreSettings
from stores import Limits
from tests.job_process import kill_jvm
from tests.sinks.log import Log
from tests.sinks.process import sink_process, wait_until_started
from tests.sinks.running import stored, wait_for_end


@contextmanager
def job(log: Log, settings: StoreSettings, place: Path) -> Iterator[subprocess.Popen[str]]:
    """The job that stores what persistent clients are owed."""
    arguments = ["--kafka", log.bootstrap, "--topic-prefix", log.topics.prefix, "--interval-ms", "50"]
    with sink_process("sinks.job", arguments, place, {"SLUICEMQ_STORE": settings.url}) as process:
        yield process


@pytest.mark.live
@pytest.mark.timeout(400)
def test_kill_loses_nothing_and_doubles_nothing(log: Log, tmp_path: Path) -> None:
    settings = StoreSettings(f"sqlite:///{tmp_path / 'store.db'}", log.topics.prefix)
    with job(log, settings, tmp_path) as process:
        wait_until_started(process)
        for number in range(600):
            offset = log.message(f"c{number % 3}")
            if number % 2:
                log.acked(f"c{number % 3}", offset)
            if number == 150:
                with closing(settings.open()) as store:
                    wait_for_end(log, store)
            if number == 300:
                kill_jvm(process)
    with job(log, settings, tmp_path) as process, closing(settings.open()) as store:
        wait_until_started(process)
        wait_for_end(log, store)
        assert stored(log, store) == log.owed()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICEMQ_STORE", "redis://there")
    found = parse_arguments(
        ["--kafka", "k:1", "--topic-prefix", "mine", "--limit", "5", "--ttl-seconds", "60"]
    )
    assert found.store == StoreSettings("redis://there", "mine", Limits(5, 60))
    assert found.trigger == "microbatch"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--store", "redis://s"], "--kafka"),
        (["--kafka", "k:1"], "--store: name the store, or set SLUICEMQ_STORE"),
        (["--kafka", "k:1", "--store", "redis://s", "--limit", "0"], "--limit: write a number from 1 up"),
        (["--kafka", "k:1", "--store", "redis://s", "--interval-ms", "0"], "--interval-ms"),
        (["--kafka", "k:1", "--store", "redis://s", "--topic-prefix", "a b"], "prefix"),
        (["--kafka", "k:1", "--store", "redis://s", "--trigger", "realtime"], "available-now"),
    ],
)
def test_bad_arguments_are_told(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLUICEMQ_STORE", raising=False)
    with pytest.raises(SystemExit):
        parse_arguments(arguments)
    assert sentence in capsys.readouterr().err
