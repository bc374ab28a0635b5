"""The whole stack as a user starts it, `sluicemq up`, administration included: how soon it is ready, and its memory."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from admin.stack import sink
from bench.environment import Environment
from bench.figures import Bars, Figure, Result, at_most
from bench.load.ingest import IngestLoad
from bench.load.process import ROOT, run
from bench.processes import CpuMeter, name_of, proportional_bytes, tree

_SETTLE = 20.0
"""Seconds of idleness before memory is read, so that a batch's start is over."""


def measure_stack(environment: Environment) -> Result:
    """A start on an empty folder, one on its data, and the memory after it."""
    result = Result("stack", "The embedded stack, `sluicemq up`, two gateways")
    environment.stop_stack()
    data = environment.folder / "up"
    environment.tell("starting on an empty folder")
    with _up(data) as (ready, fresh, _):
        where = ready["mqtt"][0]
        run(IngestLoad(where["host"], where["port"], environment.seconds), environment.seconds + 60)
    environment.tell("starting on its data")
    log = data / "logs" / "sink.log"
    old = log.stat().st_size
    with _up(data) as (_, existing, pid):
        _wait_for_sink(log, old)
        time.sleep(_SETTLE)  # Idleness is what is measured.
        meter = CpuMeter({name_of(part): part for part in tree(pid)})
        time.sleep(_SETTLE)
        cpu = {name: 100 * used / _SETTLE for name, used in meter.seconds().items()}
        memory = proportional_bytes(tree(pid))
    peers = {
        name: sum(proportional_bytes(tree(peer.pid)).values()) / 2**20 if peer else None
        for name, peer in environment.peers().items()
    }
    total = sum(memory.values()) / 2**20
    result.figures = [
        Figure("memory, idle (sum of PSS)", total, "MiB", at_most(2_048.0), peers),
        Figure("CPU, idle", sum(cpu.values()), "% of a core", note=_largest(cpu)),
        Figure("READY on an empty folder", fresh, "s"),
        Figure("READY on existing data", existing, "s", at_most(25.0)),
    ]
    parts: dict[str, float] = {}
    for name, size in memory.items():
        part = name.rpartition(" ")[0]
        parts[part] = parts.get(part, 0.0) + size / 2**20
    result.plots = [Bars("Memory of the idle stack by process", "MiB", parts)]
    result.details = {"memory_mib": {name: size / 2**20 for name, size in memory.items()}, "cpu_percent": cpu}
    return result


def _largest(cpu: dict[str, float]) -> str:
    largest = sorted(cpu.items(), key=lambda item: -item[1])[:4]
    return ", ".join(f"{name.rpartition(' ')[0]} {percent:.0f}" for name, percent in largest)


@contextmanager
def _up(data: Path) -> Iterator[tuple[dict[str, Any], float, int]]:
    """Run `sluicemq up`; gives what READY says, the seconds until it said so, and the process id."""
    command = [sys.executable, "-m", "admin", "up", "--port", "0", "--data", str(data)]
    began_at = time.monotonic()
    told = data.with_suffix(".err")
    with (
        told.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT) as up,
    ):
        try:
            assert up.stdout is not None  # noqa: S101 - PIPE was asked for
            ready = _ready(up.stdout, told)
            yield ready, time.monotonic() - began_at, up.pid
        finally:
            up.send_signal(signal.SIGTERM)
            up.wait(60)


def _wait_for_sink(log: Path, old: int) -> None:
    """Wait until its log tells, behind what it had told before: READY does not wait for it."""
    deadline = time.monotonic() + sink.SECONDS_TO_START
    while sink.STARTED.encode() not in log.read_bytes()[old:]:
        if time.monotonic() > deadline:
            raise RuntimeError(f"the sink did not start: see {log}")
        time.sleep(0.5)  # A file tells nobody that it grows.


def _ready(output: IO[str], told: Path) -> dict[str, Any]:
    for line in output:
        if line.startswith("READY "):
            return dict(json.loads(line.removeprefix("READY ")))
    raise RuntimeError(f"`sluicemq up` ended before it was ready: {told.read_text().strip()}")
