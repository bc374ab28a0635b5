"""One run of a program: in a process group of its own, its output in a log file, its lines shown to a listener."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from admin.stack.reaper import Reaper

MAX_LOG_BYTES = 16 << 20
"""A log file that has grown to this is renamed to `.1`, so a part that complains for ever fills no disk."""


class ChildProcess:
    """A started program. Everything it starts itself stays in its process group and is killed with it."""

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        reaper: Reaper,
        on_line: Callable[[str], None],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start it.

        Args:
            command: Program and arguments.
            log: File that its stdout and stderr are appended to.
            reaper: Kills it when this process is gone.
            on_line: Called in another thread with each line of its output.
            environment: Variables to set besides those of this process.
        """
        self._log = log
        self._on_line = on_line
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
            process_group=0,
        )
        reaper.watch(self.pid)
        self._reaper = reaper
        self._reader = threading.Thread(target=self._read, name=f"log of {log.stem}", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The process id, which is also the id of its process group."""
        return self._process.pid

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the program and all that it has started."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            pass

    def wait(self) -> int:
        """Wait for its end, kill what it left behind, and return its status (negative: the signal that killed it)."""
        status = self._process.wait()
        # A JVM may outlive the Python that it belongs to, or the other way round; half a part must not linger.
        self.signal(signal.SIGKILL)
        self._reaper.release(self.pid)
        self._reader.join()
        return status

    def stop(self, patience: float) -> None:
        """Ask it to end; kill it when it has not ended after so many seconds. Another thread is in `wait`."""
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)  # One that was paused would not see the request.
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)

    def _read(self) -> None:
        assert self._process.stdout is not None  # noqa: S101  (PIPE was asked for)
        log: BinaryIO = self._log.open("ab")
        try:
            with self._process.stdout as output:
                for line in output:
                    log = self._append(log, line)
                    self._on_line(line.decode(errors="replace").rstrip())
        finally:
            log.close()

    def _append(self, log: BinaryIO, line: bytes) -> BinaryIO:
        log.write(line)
        log.flush()
        if log.tell() < MAX_LOG_BYTES:
            return log
        log.close()
        self._log.replace(self._log.with_name(self._log.name + ".1"))
        return self._log.open("ab")
