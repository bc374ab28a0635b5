"""Subscribing: one client that subscribes to one filter after the other, and times each SUBACK."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass

from bench.load.client import open_client
from bench.load.process import Measured, main


@dataclass(frozen=True)
class SubscribingLoad:
    """What to do."""

    host: str
    port: int
    count: int = 400
    warm_up: int = 20


async def measure(load: SubscribingLoad) -> Measured:
    """Subscribe so often; returns seconds from SUBSCRIBE to SUBACK."""
    client = await open_client(load.host, load.port, f"subscribing-{os.getpid()}")
    latencies = []
    for number in range(load.warm_up + load.count):
        began_at = time.perf_counter()
        await client.subscribed(f"bench/subscribing/{os.getpid()}/{number}", 1, number + 1)
        latencies.append(time.perf_counter() - began_at)
    client.close()
    await asyncio.sleep(0.1)
    return {"latencies": latencies[load.warm_up :]}


if __name__ == "__main__":
    main(SubscribingLoad, measure)
