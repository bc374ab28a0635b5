"""The job as a process: the command line, and kill -9 in the middle of the log."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psutil
import pytest

from admin.stack.jars import connector_jars
from admin.stack.spark_submit import spark_defaults
from sinks.job import STARTED, parse_arguments
from sinks.persisted.store import StoreSettings
from stores import Limits
from tests.sinks.log import Log
from tests.sinks.running import stored, wait_for_end

ROOT = Path(__file__).parents[2]


@contextmanager
def job(log: Log, settings: StoreSettings, place: Path) -> Iterator[subprocess.Popen[str]]:
    """Start the job as a process; whatever is left of it is gone when the block ends."""
    submit = [
        "--properties-file", str(spark_defaults()), "--master", "local[2]",
        "--jars", ",".join(map(str, connector_jars())),
        "--conf", "spark.jars.packages=", "--conf", f"spark.local.dir={place / 'scratch'}", "pyspark-shell",
    ]  # fmt: skip
    environment = {
        **os.environ,
        "PYSPARK_SUBMIT_ARGS": " ".join(submit),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SLUICEMQ_STORE": settings.url,
    }
    command = [sys.executable, "-m", "sinks.job", "--kafka", log.bootstrap]
    command += ["--topic-prefix", log.topics.prefix, "--interval-ms", "50"]
    with (place / "job.log").open("a") as output:
        process = subprocess.Popen(
            command, cwd=place, env=environment, stdout=subprocess.PIPE, stderr=output, text=True
        )
    try:
        yield process
    finally:
        family = (
            [process, *psutil.Process(process.pid).children(recursive=True)] if process.poll() is None else []
        )
        for member in family:
            member.kill()
        process.wait(30)
        assert process.stdout is not None
        process.stdout.close()


def wait_until_started(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == STARTED:
            return
    pytest.fail(f"the job ended with {process.wait()}")


@pytest.mark.live
@pytest.mark.timeout(400)
def test_kill_loses_nothing_and_doubles_nothing(log: Log, tmp_path: Path) -> None:
    settings = StoreSettings(f"sqlite:///{tmp_path / 'store.db'}", log.topics.prefix)
    with job(log, settings, tmp_path) as process:
        wait_until_started(process)
        [jvm] = [child for child in psutil.Process(process.pid).children() if child.name() == "java"]
        for number in range(600):
            offset = log.message(f"c{number % 3}")
            if number % 2:
                log.acked(f"c{number % 3}", offset)
            if number == 150:
                with closing(settings.open()) as store:
                    wait_for_end(log, store)
            if number == 300:
                jvm.kill()
        assert process.wait(60) != 0  # The job does not outlive its JVM.
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
