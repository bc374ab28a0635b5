"""Subscriptions by the million at one broker: clients with hundreds of filters each, and what they cost in memory."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from itertools import islice

from bench.load.client import V4, RawClient, open_client
from bench.load.connections import allow_files
from bench.load.process import Measured, main
from bench.processes import resident_bytes
from bench.routes import mixed_filters
from edge.mqtt.packets import Subscribe, Subscription
from edge.mqtt.writing import write_packet


@dataclass(frozen=True)
class SubscriptionsLoad:
    """What to do."""

    host: str
    port: int
    pid: int
    """The broker's process, whose memory counts."""
    subscriptions: int
    of_each: int = 500
    """Filters of one client, in one SUBSCRIBE."""
    settle: float = 2.0
    """Seconds of quiet before memory is read."""


async def measure(load: SubscriptionsLoad) -> Measured:
    """Subscribe, client by client, and hold all of it while memory is read."""
    allow_files(load.subscriptions // load.of_each + 100)
    before = resident_bytes(load.pid)
    clients: list[RawClient] = []
    seconds = 0.0
    wanted = mixed_filters(load.subscriptions)
    while filters := tuple(islice(wanted, load.of_each)):
        number = len(clients)
        client = await open_client(load.host, load.port, f"subscriptions-{os.getpid()}-{number}")
        packet = write_packet(Subscribe(1, tuple(Subscription(one, 1) for one in filters)), V4)
        began_at = time.monotonic()
        client.write(packet)
        # Fixed header of one or two bytes of length, packet identifier, a return code for each.
        await client.received_bytes(client.received + 4 + (len(filters) > 125) + len(filters), 120)
        seconds += time.monotonic() - began_at
        clients.append(client)
    await asyncio.sleep(load.settle)
    size = resident_bytes(load.pid) - before
    for client in clients:
        client.close()
    await asyncio.sleep(0.1)
    return {"subscriptions": load.subscriptions, "seconds": seconds, "bytes": size}


if __name__ == "__main__":
    main(SubscriptionsLoad, measure)
