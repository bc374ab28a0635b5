"""Brokers to measure: ours and its peers, each as addresses and process ids."""

from __future__ import annotations

import getpass
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from admin.stack.embedded import Stack
from admin.stack.ports import LOOPBACK, free_ports
from bench.load.process import ROOT

OURS = "SluiceMQ"
_SECONDS_TO_START = 20.0


@dataclass(frozen=True)
class Broker:
    """A broker that runs."""

    name: str
    ports: tuple[int, ...]
    """Of its nodes; ours has several, its peers one."""
    pid: int
    """The process that serves the first port."""
    processes: dict[str, int] = field(default_factory=dict)
    """Whose CPU seconds to measure."""
    host: str = LOOPBACK

    @property
    def subscribe_port(self) -> int:
        """Another node than the first where there is one."""
        return self.ports[-1]


def broker_of(stack: Stack) -> Broker:
    """Our own broker."""
    nodes = [address.node for address in stack.mqtt]
    processes = {name: stack.pid(name) for name in (*nodes, "kafka", "router", "sink")}
    return Broker(OURS, tuple(address.port for address in stack.mqtt), processes[nodes[0]], processes)


@contextmanager
def mosquitto(folder: Path, access: str = "allow_anonymous true") -> Iterator[Broker | None]:
    """Eclipse Mosquitto as it is installed, its limits raised; None where it is not.

    Args:
        folder: For its files; one that runs beside another has a folder of its own.
        access: The lines of its configuration that say who is let in, and may do what.
    """
    program = _mosquitto_program()
    if program is None:
        yield None
        return
    (port,) = free_ports(1)
    settings = folder / "mosquitto.conf"
    # Started by root it would become another user, who can't read the folder.
    settings.write_text(
        f"user {getpass.getuser()}\nlistener {port} {LOOPBACK}\n{access}\npersistence false\nset_tcp_nodelay true\n"
        "max_queued_messages 0\nmax_inflight_messages 0\nlog_type error\n"
    )
    with _running("mosquitto", [program, "-c", str(settings)], port, folder) as broker:
        yield broker


@contextmanager
def amqtt(folder: Path) -> Iterator[Broker | None]:
    """amqtt, the Python broker; None where it is not installed."""
    if not _has_amqtt():
        yield None
        return
    (port,) = free_ports(1)
    with _running("amqtt", [sys.executable, "-m", "bench.amqtt_broker", str(port)], port, folder) as broker:
        yield broker


PEERS: dict[str, Callable[[Path], AbstractContextManager[Broker | None]]] = {
    "mosquitto": mosquitto,
    "amqtt": amqtt,
}
"""What to measure ours beside."""


def is_installed(peer: str) -> bool:
    """Whether one of `PEERS` is there to be measured."""
    return _has_amqtt() if peer == "amqtt" else _mosquitto_program() is not None


def _mosquitto_program() -> str | None:
    return shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")


def _has_amqtt() -> bool:
    return find_spec("amqtt") is not None


@contextmanager
def _running(name: str, command: list[str], port: int, folder: Path) -> Iterator[Broker]:
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT)
        try:
            _wait_until_open(name, process, port)
            yield Broker(name, (port,), process.pid, {name: process.pid})
        finally:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_until_open(name: str, process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _SECONDS_TO_START
    while True:
        try:
            socket.create_connection((LOOPBACK, port), 1).close()
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{name} did not start on port {port}") from None
            time.sleep(0.05)  # It has no other way to tell that it listens.
        else:
            return
