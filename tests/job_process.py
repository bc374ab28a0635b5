"""A Spark job as a real process, to be killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest


@contextmanager
def job_process(
    module: str,
    arguments: Sequence[str],
    place: Path,
    environment: Mapping[str, str],
    started_by: Sequence[str] = (),
) -> Iterator[subprocess.Popen[str]]:
    """Start a job as a process in that folder, by a command that runs others if one is given.

    Whatever is left of it is gone when the block ends.
    """
    with (place / "job.log").open("a") as output:
        process = subprocess.Popen(
            [*started_by, sys.executable, "-m", module, *arguments],
            cwd=place, env=dict(environment), stdout=subprocess.PIPE, stderr=output, text=True,
        )  # fmt: skip
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


def wait_until_started(process: subprocess.Popen[str], started: str) -> None:
    """Wait for the line that says that the query runs."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == started:
            return
    pytest.fail(f"the job ended with {process.wait()}")


def kill_jvm(process: subprocess.Popen[str]) -> None:
    """`kill -9` the job's JVM; the job does not outlive it."""
    [jvm] = [child for child in psutil.Process(process.pid).children() if child.name() == "java"]
    jvm.kill()
    assert process.wait(60) != 0
