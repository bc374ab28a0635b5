"""A load generator's result comes out whole, however long it is and whatever comes in between."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
from dataclasses import dataclass

import pytest

from bench.load import process
from bench.load.process import LoadError, run

GENERATOR = """
import signal, sys
from dataclasses import dataclass
from bench.load.process import main

@dataclass
class Load:
    samples: int

async def measure(load):
    signal.signal(signal.SIGUSR1, lambda *_: print("interrupted", file=sys.stderr, flush=True))
    return {"samples": [0.5] * load.samples}

main(Load, measure)
"""
CAPACITY = 65_536
"""Bytes that a pipe of Linux holds."""


@dataclass(frozen=True)
class Load:
    number: int = 1


def unread(pipe: int) -> int:
    """Bytes that wait in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4), sys.byteorder)


def wait_until_full(pipe: int) -> None:
    while unread(pipe) < CAPACITY:
        os.sched_yield()


@pytest.mark.skipif(sys.platform != "linux", reason="it counts on what a pipe of Linux holds")
def test_a_signal_while_the_result_is_written() -> None:
    command = [sys.executable, "-c", GENERATOR, json.dumps({"samples": 60_000})]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=process.ROOT, env=environment
    ) as generator:
        assert generator.stdout is not None
        assert generator.stderr is not None
        try:
            pipe = generator.stdout.fileno()
            wait_until_full(pipe)
            said = os.read(pipe, CAPACITY // 2)
            wait_until_full(pipe)  # it is in the middle of what it writes, and waits
            generator.send_signal(signal.SIGUSR1)
            assert generator.stderr.readline() == b"interrupted\n"
            said += generator.stdout.read()
        finally:
            generator.kill()
    assert json.loads(said) == {"samples": [0.5] * 60_000}


def test_what_is_not_understood_is_an_error_of_the_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/echo")
    with pytest.raises(LoadError, match="Load was not understood"):
        run(Load(), 60.0)
