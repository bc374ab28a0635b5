"""A sink's job as a real process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from sinks.running import STARTED
from tests import job_process
from tests.spark_session import submit_environment


def sink_process(
    module: str,
    arguments: Sequence[str],
    place: Path,
    environment: Mapping[str, str],
    further_jars: Sequence[Path] = (),
) -> AbstractContextManager[subprocess.Popen[str]]:
    """Start it, with its variables and jars beside what Spark needs; whatever is left is gone when the block ends."""
    variables = {
        **submit_environment(place, "local[2]", further_jars),
        "PYSPARK_PYTHON": sys.executable,
        **environment,
    }
    return job_process.job_process(module, arguments, place, variables)


def wait_until_started(process: subprocess.Popen[str]) -> None:
    """Wait for the line that says that the query runs."""
    job_process.wait_until_started(process, STARTED)
