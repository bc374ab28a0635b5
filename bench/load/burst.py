"""Burst: some publishers send all they have at QoS 1 to one persistent subscriber that is connected."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass, field

from bench.load.client import forget_session, open_client, publish_bytes, subscribe_bytes
from bench.load.inbox import Inbox
from bench.load.process import Measured, main
from bench.processes import CpuMeter

_SUBACK_BYTES = 5


@dataclass(frozen=True)
class BurstLoad:
    """What to do."""

    host: str
    publish_port: int
    subscribe_port: int
    watch: dict[str, int] = field(default_factory=dict)
    """Processes whose CPU seconds to measure."""
    messages: int = 20_000
    publishers: int = 4
    """Each on its own topic."""
    payload: int = 256
    patience: float = 60.0


async def measure(load: BurstLoad) -> Measured:
    """Publish all of it; the time runs from the first PUBLISH to the last delivery."""
    each = load.messages // load.publishers
    topics = [f"bench/burst/{number}" for number in range(load.publishers)]
    name = f"burst-sub-{os.getpid()}"
    subscriber = Subscribing(topics[0], load.payload, each * load.publishers)
    await subscriber.connect(load.host, load.subscribe_port, name)
    await subscriber.subscribe("bench/burst/+")
    publishers = []
    for topic in topics:
        client = await open_client(load.host, load.publish_port, f"burst-{os.getpid()}-{topic[-1]}")
        payload = bytes(load.payload)
        publishers.append((client, b"".join(publish_bytes(topic, payload, 1, n + 1) for n in range(each))))
    meter = CpuMeter(load.watch | {"generator": os.getpid()})
    began_at = time.monotonic()
    for client, packets in publishers:
        client.write(packets)
    try:
        await asyncio.wait_for(subscriber.complete, load.patience)
    except TimeoutError:
        pass  # `lost` tells.
    cpu = meter.seconds()
    for client, _ in publishers:
        client.close()
    subscriber.client.close()
    await forget_session(load.host, load.subscribe_port, name)
    await asyncio.sleep(0.2)
    return {
        "messages": subscriber.count,
        "seconds": subscriber.last_at - began_at,
        "lost": max(0, each * load.publishers - subscriber.count),
        "cpu": cpu,
    }


class Subscribing(Inbox):
    """An inbox whose client subscribes first."""

    _granted: asyncio.Future[None] | None = None

    async def subscribe(self, filter: str) -> None:
        """Subscribe, and wait for the SUBACK, while nothing else comes."""
        self._granted = asyncio.get_running_loop().create_future()
        self.client.write(subscribe_bytes(filter, 1))
        await asyncio.wait_for(self._granted, 30.0)

    def take(self, data: memoryview) -> None:
        """Take the SUBACK, or what `Inbox` takes."""
        if self._granted is not None and not self._granted.done() and len(data) == _SUBACK_BYTES:
            self._granted.set_result(None)
            return
        super().take(data)


if __name__ == "__main__":
    main(BurstLoad, measure)
