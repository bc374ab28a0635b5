"""Leave no process behind: a watcher that kills the stack's process groups when the supervisor is gone.

The supervisor may be killed with `kill -9` and then cannot stop anything. So it starts this file as a program of its
own, in a session of its own, and holds the other end of its standard input. Each line there is `+PGID` (a child was
started) or `-PGID` (it is gone). When the pipe ends, however it came to that, what is left is killed with its children.
A pipe works on every system, does not depend on which thread started a child (as PR_SET_PDEATHSIG does), and covers
grandchildren.

The program imports little and runs isolated (`-I -S`), to cost few megabytes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable


class Reaper:
    """The supervisor's side: tell the watcher what to kill."""

    def __init__(self, keep_open: Iterable[int] = ()) -> None:
        """Start the watcher.

        Args:
            keep_open: File descriptors that the watcher inherits and so holds until everything is dead (locks).
        """
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=tuple(keep_open),
        )

    @property
    def pid(self) -> int:
        """The watcher's process id."""
        return self._process.pid

    def watch(self, group: int) -> None:
        """From now on, kill this process group when the supervisor is gone."""
        self._tell(f"+{group}\n")

    def release(self, group: int) -> None:
        """Forget this process group: it is gone, and its number may be given to others."""
        self._tell(f"-{group}\n")

    def close(self) -> None:
        """End the watcher, which kills what is still watched, and wait for it."""
        if self._process.stdin:
            self._process.stdin.close()
        self._process.wait()

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None  # noqa: S101  (PIPE was asked for)
        try:
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            # Somebody killed the watcher. The stack runs on; only the protection against kill -9 is lost.
            pass


def _kill(group: int) -> bool:
    """Send SIGKILL; tell whether the group still exists."""
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def main() -> None:
    """Read the pipe to its end, then kill."""
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    # They are not our children, so there is no waiting for them: look every 20 ms, for at most 10 s.
    for _ in range(500):
        groups = {group for group in groups if _kill(group)}
        if not groups:
            break
        time.sleep(0.02)


if __name__ == "__main__":
    main()
