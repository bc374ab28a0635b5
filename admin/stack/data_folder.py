"""The folder of one embedded stack: where each part keeps what it has, and the lock that makes it one stack's own.

DIR/lock        held while a stack runs on DIR; contains the supervisor's process id
DIR/logs/       one file a part
DIR/kafka/      the broker's data and settings
DIR/router/     the router's checkpoint and its scratch space
DIR/sink/       the sinks' scratch space
DIR/spark/      the Spark cluster's folders, where the stack has one
DIR/valkey/     the embedded store's data
DIR/identity.db users, credentials and who is blocked, where no other database is named
DIR/statistics.db  what gateways have counted, over time
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from admin.errors import AdminError, UsageError

SECONDS_TO_CLEAR = 10.0
"""After `kill -9` of a supervisor its watcher holds the lock until the last part is dead: it is worth waiting for."""


@dataclass(frozen=True)
class DataFolder:
    """A folder that this process holds the lock of."""

    path: Path
    lock: int
    """The lock's file descriptor. Whoever inherits it keeps the folder locked."""

    @property
    def kafka(self) -> Path:
        """The Kafka broker's folder."""
        return self.path / "kafka"

    @property
    def checkpoint(self) -> Path:
        """The router's checkpoint."""
        return self.path / "router" / "checkpoint"

    @property
    def snapshots(self) -> Path:
        """The router's copies of the subscription table."""
        return self.path / "router" / "snapshots"

    @property
    def scratch(self) -> Path:
        """Spark's scratch space, which a new run does not need."""
        return self.path / "router" / "scratch"

    @property
    def sink_scratch(self) -> Path:
        """The sinks' scratch space, which a new run does not need; each has its place where it writes."""
        return self.path / "sink" / "scratch"

    @property
    def spark(self) -> Path:
        """The Spark cluster's folder, which a new run does not need."""
        return self.path / "spark"

    @property
    def valkey(self) -> Path:
        """The embedded store's folder."""
        return self.path / "valkey"

    @property
    def statistics(self) -> str:
        """URL of the embedded database of statistics."""
        return f"sqlite:///{self.path / 'statistics.db'}"

    @property
    def identity(self) -> str:
        """URL of the embedded database of identity."""
        return f"sqlite:///{self.path / 'identity.db'}"

    @property
    def logs(self) -> Path:
        """The parts' log files."""
        return self.path / "logs"


@contextmanager
def locked_data_folder(path: Path) -> Iterator[DataFolder]:
    """Make the folder when it is missing, and hold its lock for the length of the block.

    Raises:
        UsageError: It cannot be made or written.
        AdminError: A stack already runs on it.
    """
    path = path.absolute()
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise UsageError(
            f"Cannot write to the data folder {path} ({error.strerror}): give another one."
        ) from error
    try:
        _acquire(lock, path)
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        yield DataFolder(path, lock)
    finally:
        # A watcher that still clears up has its own copy of the descriptor, and with it the lock.
        os.close(lock)


def _acquire(lock: int, path: Path) -> None:
    deadline = time.monotonic() + SECONDS_TO_CLEAR
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(lock, 32, 0).decode().strip()
            if _is_alive(owner) or time.monotonic() > deadline:
                raise AdminError(
                    f"A stack already runs on {path} (process {owner or 'unknown'}): stop it, or give another folder."
                ) from None
            time.sleep(
                0.05
            )  # flock can wait only for ever, and a dead supervisor's parts are gone in a moment.
        else:
            return


def _is_alive(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
