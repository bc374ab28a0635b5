"""What a JVM needs: its heap after a collection, and its resident memory over time."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from collections.abc import Callable

import psutil

_GENERATION = re.compile(r"^ *(?:def new|tenured) generation .*? used (\d+)K", re.M)
"""Of serial collection, which the router's settings ask for."""
_CLASS = re.compile(r"^ *\d+: +\d+ +(\d+) +(\S+)", re.M)
_SECONDS_TO_ANSWER = 120.0
"""A heap of gigabytes takes seconds to collect."""


def live_heap_bytes(pid: int) -> int | None:
    """What is alive on a JVM's heap: used after a full collection. None where no JDK is there to ask with."""
    if _ask(pid, "GC.run") is None:
        return None
    return live_bytes(_ask(pid, "GC.heap_info") or "")


def largest_classes(pid: int, count: int = 6) -> dict[str, int]:
    """Bytes that instances of a class take on a JVM's heap, of those classes that take most; they alone count."""
    found = _CLASS.findall(_ask(pid, "GC.class_histogram") or "")
    return {name: int(size) for size, name in found[:count]}


def _ask(pid: int, command: str) -> str | None:
    program = shutil.which("jcmd")
    if program is None:
        return None
    done = subprocess.run(
        [program, str(pid), command], check=True, capture_output=True, text=True, timeout=_SECONDS_TO_ANSWER
    )
    return done.stdout


def live_bytes(said: str) -> int:
    """What both generations use, by what `jcmd PID GC.heap_info` says."""
    return 1024 * sum(map(int, _GENERATION.findall(said)))


class SizeWatch(threading.Thread):
    """Some size of a process, again and again until the block ends."""

    def __init__(self, look: Callable[[int], int | None], pid: int, seconds_between: float) -> None:
        """Watch a process.

        Args:
            look: `resident_bytes`, `live_heap_bytes`; None where nothing can be said.
            pid: Of which process.
            seconds_between: How often to look.
        """
        super().__init__(daemon=True)
        self._look, self._pid, self._seconds_between = look, pid, seconds_between
        self._over = threading.Event()
        self.sizes: list[int] = []
        """In bytes, in the order of time."""

    def run(self) -> None:
        """Look until it is ended."""
        while not self._over.wait(self._seconds_between):
            try:
                size = self._look(self._pid)
            except (psutil.NoSuchProcess, subprocess.CalledProcessError):
                return
            if size is not None:
                self.sizes.append(size)

    def __enter__(self) -> SizeWatch:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()
