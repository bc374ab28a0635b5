"""A load generator as a process: its arguments go in as JSON, its result comes out as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import uvloop

Load = TypeVar("Load")
Measured = dict[str, Any]

ROOT = Path(__file__).parents[2]


class LoadError(Exception):
    """A load generator failed, or took too long; the message is what it said last."""


def run(load: object, seconds: float, on_tick: Callable[[], None] = lambda: None) -> Measured:
    """Run the generator whose arguments these are, and return what it measured.

    Args:
        load: The arguments: a dataclass of the generator's module.
        seconds: How long it may take.
        on_tick: Called about twice a second meanwhile.

    Raises:
        LoadError: It failed, took too long, or said something else than what it measured.
    """
    if not is_dataclass(load) or isinstance(load, type):
        raise TypeError(f"{load!r} is no load generator's arguments")
    command = [sys.executable, "-m", type(load).__module__, json.dumps(asdict(load))]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        deadline = time.monotonic() + seconds
        try:
            while True:
                try:
                    said, complaint = process.communicate(timeout=0.5)
                    break
                except subprocess.TimeoutExpired:
                    on_tick()
                    if time.monotonic() > deadline:
                        raise LoadError(f"{type(load).__name__} did not end within {seconds:.0f} s") from None
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise LoadError(f"{type(load).__name__}: {(complaint.strip().splitlines() or ['no reason'])[-1]}")
    try:
        return dict(json.loads(said))
    except ValueError as error:
        raise LoadError(
            f"{type(load).__name__} was not understood, in {len(said)} characters: {error}"
        ) from None


def main(kind: type[Load], measure: Callable[[Load], Awaitable[Measured]]) -> None:
    """The generator's side: read the arguments, measure, print."""

    async def measured() -> Measured:
        return await measure(kind(**json.loads(sys.argv[1])))

    result = json.dumps(uvloop.run(measured()))
    # Not `print`: Python's standard output loses the rest of what a signal has cut off where it is unbuffered, as
    # PYTHONUNBUFFERED makes it. A result may be several times what a pipe holds, so it is waited for in the middle.
    with open(sys.stdout.fileno(), "w", encoding="utf-8", closefd=False) as out:
        out.write(result + "\n")
