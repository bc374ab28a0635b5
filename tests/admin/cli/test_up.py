"""`sluicemq up` as a user runs it: the whole stack as real processes, started, killed, started again, stopped."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from admin.stack.ports import free_ports

pytestmark = [
    pytest.mark.live,
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc"),
]

MARK = "SLUICEMQ_TEST_RUN"
"""A variable in the environment of a run: whatever it starts, however deep, has it too and can be found by it."""


def processes(mark: str) -> set[int]:
    """Return all living processes with this mark, but not those that are dead and only not yet collected."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.add(int(folder.name))
        except OSError:
            continue  # It has ended meanwhile.
    return found


def wait_until_all_are_gone(pids: set[int], seconds: float = 30) -> None:
    for pid in pids:
        try:
            end = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            readable, _, _ = select.select([end], [], [], seconds)
            assert readable, f"process {pid} is still there: {Path(f'/proc/{pid}/cmdline').read_bytes()!r}"
        finally:
            os.close(end)


def first_run(administration: str) -> dict[str, bool]:
    """Ask the console's API, which the stack does not wait for, whether there is a user."""
    while True:
        try:
            return dict(httpx.get(f"{administration}/api/v1/session/first-run", timeout=120).json())
        except httpx.TransportError:
            time.sleep(0.2)  # nothing tells that it listens; the test's timeout ends this


@contextmanager
def running_up(data: Path, port: int, mark: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Run the command until the end of the block, by SIGKILL if the block has not ended it."""
    command = [
        sys.executable,
        "-m",
        "admin",
        "up",
        "--data",
        str(data),
        "--port",
        str(port),
        "--ws-port",
        "0",
        "--admin-port",
        "0",
        "--gateways",
        "1",
    ]
    environment = {**os.environ, MARK: mark}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("READY "), line
            yield process, json.loads(line.removeprefix("READY "))
        finally:
            process.kill()


def test_up(tmp_path: Path) -> None:
    [port] = free_ports(1)
    mark = str(uuid.uuid4())
    with running_up(tmp_path, port, mark) as (process, ready):
        [mqtt] = ready["mqtt"]
        websocket_port = mqtt.pop("websocket_port")
        assert mqtt == {"node": "gw1", "host": "127.0.0.1", "port": port}
        assert ready["data"] == str(tmp_path)
        assert first_run(ready["admin"]) == {"needs_user": True}
        assert (tmp_path / "identity.db").is_file()
        for address in (
            ("127.0.0.1", port),
            ("127.0.0.1", websocket_port),
            ("127.0.0.1", int(ready["kafka"].rpartition(":")[2])),
        ):
            socket.create_connection(address, timeout=5).close()

        second = subprocess.run(
            [sys.executable, "-m", "admin", "up", "--data", str(tmp_path), "--port", "0"],
            capture_output=True,
            text=True,
        )
        assert second.returncode == 1
        assert second.stdout == ""
        assert f"A stack already runs on {tmp_path} (process {process.pid})" in second.stderr

        # kill -9 of the supervisor: its watcher must leave nothing.
        started = processes(mark)
        assert len(started) >= 5  # the command, its watcher, Kafka, the router's JVM and Python, the gateway
        process.kill()
        process.wait()
        wait_until_all_are_gone(started)

    # At once again, on the same folder and port; then a clean stop.
    with running_up(tmp_path, port, mark) as (process, ready):
        assert ready["mqtt"][0]["port"] == port
        started = processes(mark)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        wait_until_all_are_gone(started, seconds=5)
        assert processes(mark) == set()
