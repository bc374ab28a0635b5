"""Connections: many that do nothing, how fast they come in, and what each costs the broker in memory."""

from __future__ import annotations

import asyncio
import os
import resource
import time
from dataclasses import dataclass

from bench.load.client import RawClient
from bench.load.process import Measured, main
from bench.processes import CpuMeter, resident_bytes

_SOURCES = 4
"""Loopback addresses to connect from: one has some 28,000 ports, of which earlier runs may still hold many."""


@dataclass(frozen=True)
class ConnectionsLoad:
    """What to do."""

    host: str
    port: int
    pid: int
    """The broker's process, whose memory counts."""
    connections: int = 10_000
    at_once: int = 200
    """Connections that wait for their CONNACK at a time."""
    settle: float = 2.0
    """Seconds of quiet before memory is read."""
    is_persistent: bool = False
    """Whether the sessions outlive their connections."""


async def measure(load: ConnectionsLoad) -> Measured:
    """Connect all, hold them, and read the broker's memory before and after."""
    allow_files(load.connections + 100)
    before = resident_bytes(load.pid)
    meter = CpuMeter({"broker": load.pid, "generator": os.getpid()})
    clients: list[RawClient] = []
    numbers = iter(range(load.connections))

    async def connect() -> None:
        loop = asyncio.get_running_loop()
        for number in numbers:
            source = (f"127.0.0.{1 + number % _SOURCES}", 0)
            _, client = await loop.create_connection(RawClient, load.host, load.port, local_addr=source)
            await client.connected(f"idle-{os.getpid()}-{number}", clean=not load.is_persistent)
            clients.append(client)

    began_at = time.monotonic()
    await asyncio.gather(*(connect() for _ in range(load.at_once)))
    elapsed = time.monotonic() - began_at
    cpu = meter.seconds()
    await asyncio.sleep(load.settle)
    after = resident_bytes(load.pid)
    for client in clients:
        client.close()
    await asyncio.sleep(1.0)
    return {"connections": len(clients), "seconds": elapsed, "bytes": after - before, "cpu": cpu}


def allow_files(wanted: int) -> None:
    """Let this process open so many files, if it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))


if __name__ == "__main__":
    main(ConnectionsLoad, measure)
