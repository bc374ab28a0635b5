"""Visits: clients that connect, are let in, and leave with DISCONNECT, so many at a time; how many a second."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from bench.load.client import RawClient, connect_bytes
from bench.load.process import Measured, main
from bench.processes import CpuMeter
from bench.statistics import percentile

_SOURCES = 16
"""Loopback addresses to connect from: each has some 28,000 ports, which a closed connection holds for a minute."""


@dataclass(frozen=True)
class VisitsLoad:
    """What to do."""

    host: str
    port: int
    prefix: str
    """Of the client ids: `<prefix>-<number>`."""
    clients: int
    """How many there are, each with an id of its own."""
    passes: int = 1
    """How often each of them comes."""
    watch: dict[str, int] = field(default_factory=dict)
    """Processes whose CPU seconds to measure."""
    at_once: int = 200
    """Visits under way at a time."""
    users: int = 0
    """User names: client `n` is `user-<first_user + n modulo users>`, with that user's password; 0 for none."""
    first_user: int = 0
    """The number that these begin with."""
    authority: str | None = None
    """The file of the authority of the broker's certificate; None without TLS."""
    certificate: str | None = None
    """The file of the clients' own, its key beside it."""
    patience: float = 60.0
    """Seconds for one visit to be let in."""


def user_of(number: int) -> str:
    """A user name."""
    return f"user-{number}"


def password_of(number: int) -> str:
    """That user's password: each has its own, since what is alike might be remembered as one."""
    return f"password of user {number}"


def connect_of(load: VisitsLoad, client: int) -> bytes:
    """The CONNECT of a client: a clean session, and its user name and password where there are users."""
    name = f"{load.prefix}-{client}"
    if not load.users:
        return connect_bytes(name)
    user = load.first_user + client % load.users
    return connect_bytes(name, user_name=user_of(user), password=password_of(user))


def clients_of(load: VisitsLoad, visitor: int) -> Iterator[int]:
    """The clients that come one after the other in one of the places; nobody comes in two, so none meets itself."""
    for _ in range(load.passes):
        yield from range(visitor, load.clients, load.at_once)


async def measure(load: VisitsLoad) -> Measured:
    """Have all visits made; the time runs from the first connection to the last CONNACK."""
    context = _context(load)
    loop = asyncio.get_running_loop()
    waits: list[float] = []

    async def visit(visitor: int) -> None:
        source = (f"127.0.0.{1 + visitor % _SOURCES}", 0)
        for client in clients_of(load, visitor):
            packet = connect_of(load, client)
            began_at = loop.time()
            _, raw = await loop.create_connection(
                RawClient, load.host, load.port, local_addr=source, ssl=context,
                server_hostname=load.host if context else None,
            )  # fmt: skip
            try:
                await raw.let_in(packet, load.patience)
                waits.append(loop.time() - began_at)
            finally:
                raw.close()

    meter = CpuMeter(load.watch | {"generator": os.getpid()})
    began_at = time.monotonic()
    await asyncio.gather(*(visit(visitor) for visitor in range(load.at_once)))
    elapsed = time.monotonic() - began_at
    await asyncio.sleep(0.5)  # The ends of the last visits are part of what they cost.
    return {
        "messages": len(waits),
        "seconds": elapsed,
        "cpu": meter.seconds(),
        "p50": percentile(waits, 50),
        "p99": percentile(waits, 99),
    }


def _context(load: VisitsLoad) -> ssl.SSLContext | None:
    if load.authority is None:
        return None
    context = ssl.create_default_context(cafile=load.authority)
    if load.certificate is not None:
        context.load_cert_chain(load.certificate)
    return context


if __name__ == "__main__":
    main(VisitsLoad, measure)
