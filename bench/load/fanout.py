"""Fan-out: one publisher, many subscribers, QoS 0. Deliveries are counted as bytes, since all have one length."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass, field

from bench.load.client import RawClient, open_client, publish_bytes
from bench.load.process import Measured, main
from bench.load.recording import Recording

_PATIENCE = 5.0
"""Seconds without a single delivery after which what is under way counts as lost; a rollover may take one or two."""


@dataclass(frozen=True)
class FanoutLoad:
    """What to do."""

    host: str
    publish_port: int
    subscribe_port: int
    seconds: float
    watch: dict[str, int] = field(default_factory=dict)
    subscribers: int = 500
    payload: int = 64
    window: int = 60
    """Messages that may be under way: enough to cover the way through the router, too few to overrun anybody."""
    burst: int = 10
    """Messages that are sent at once."""
    warm_up: float = 2.0


class Fan:
    """The publisher, kept in step with its subscribers."""

    def __init__(self, load: FanoutLoad) -> None:
        self._load = load
        self._topic = f"bench/fanout/{os.getpid()}"
        packet = publish_bytes(self._topic, bytes(load.payload))
        self._size = len(packet) * load.subscribers
        self._burst = packet * load.burst
        self._publisher: RawClient | None = None
        self._subscribers: list[RawClient] = []
        self.bytes = 0
        self.published = 0
        self.lost = 0
        """Messages that not everybody got in time."""
        self.is_stopped = False

    async def start(self) -> None:
        """Connect and subscribe everybody, and begin."""
        load = self._load
        for number in range(load.subscribers):
            name = f"fanout-{os.getpid()}-{number}"
            subscriber = await open_client(load.host, load.subscribe_port, name, self._count)
            await subscriber.subscribed(self._topic, 0)
            subscriber.hand_over()
            self._subscribers.append(subscriber)
        self._publisher = await open_client(load.host, load.publish_port, f"fanout-{os.getpid()}")
        self._publish()

    @property
    def deliveries(self) -> int:
        """Messages that subscribers got."""
        return self.bytes * self._load.subscribers // self._size

    def write_off(self) -> None:
        """Give up on what is under way, and go on."""
        done = self.bytes // self._size
        self.lost += self.published - done
        self.published = done
        self._publish()

    def close(self) -> None:
        """End all connections."""
        for client in [*self._subscribers, *([self._publisher] if self._publisher else [])]:
            client.close()

    def _count(self, data: memoryview) -> None:
        self.bytes += len(data)
        if self.bytes >= (self.published - self._load.window + self._load.burst) * self._size:
            self._publish()

    def _publish(self) -> None:
        load = self._load
        while self._publisher and not self.is_stopped:
            if (self.published + load.burst - load.window) * self._size > self.bytes:
                return
            self.published += load.burst
            self._publisher.write(self._burst)


async def measure(load: FanoutLoad) -> Measured:
    """Publish for the given time, as fast as the subscribers are served; the result has all moments, too."""
    fan = Fan(load)
    await fan.start()
    await asyncio.sleep(load.warm_up)
    recording = Recording(load.watch, lambda: fan.deliveries)
    moved_at, seen = time.monotonic(), fan.deliveries
    while recording.seconds < load.seconds:
        await asyncio.sleep(0.1)
        recording.note()
        if fan.deliveries != seen:
            moved_at, seen = time.monotonic(), fan.deliveries
        elif time.monotonic() - moved_at > _PATIENCE:
            fan.write_off()
            moved_at = time.monotonic()
    fan.is_stopped = True
    await asyncio.sleep(0.5)
    fan.close()
    await asyncio.sleep(0.2)
    return recording.measured() | {"lost": fan.lost, "moments": recording.moments}


if __name__ == "__main__":
    main(FanoutLoad, measure)
