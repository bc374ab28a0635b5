"""Latency: one publisher and one subscriber in one process, so that one clock times both ends.

Messages leave by a schedule, whether or not earlier ones have arrived (open loop): a broker that pauses is charged for
every message that it kept waiting.
"""

from __future__ import annotations

import asyncio
import os
import struct
import time
from dataclasses import dataclass, field

from bench.load.client import PUBACK_BYTES, RawClient, forget_session, open_client, publish_bytes
from bench.load.process import Measured, main
from bench.processes import CpuMeter

_STAMP = struct.Struct(">Q")
_FAREWELL = 20.0
"""Seconds to wait for the last messages; longer than any rollover."""


@dataclass(frozen=True)
class LatencyLoad:
    """What to do."""

    host: str
    publish_port: int
    subscribe_port: int
    seconds: float
    watch: dict[str, int] = field(default_factory=dict)
    rate: float = 200.0
    """Messages a second."""
    topics: int = 16
    """As many, so that all partitions are used."""
    payload: int = 256
    warm_up: float = 3.0
    """Seconds whose messages do not count."""
    is_persistent: bool = False
    """Whether the subscriber's session outlives its connection."""


class Receiver:
    """Takes apart what the subscriber gets: frames of one length, each with its number at the payload's start."""

    def __init__(self, load: LatencyLoad) -> None:
        self._frame = len(publish_bytes(topic_of(0), bytes(load.payload), 1, 1))
        self._identifier = self._frame - load.payload - 2
        self._rest = b""
        self.arrived: dict[int, int] = {}
        """Number → nanoseconds of the monotonic clock."""
        self.repeated = 0
        self.disordered = 0
        self._newest: dict[int, int] = {}
        self._topics = load.topics
        self.client: RawClient | None = None

    def take(self, data: memoryview) -> None:
        """Take what was read, and acknowledge each message."""
        now = time.monotonic_ns()
        whole = self._rest + bytes(data)
        frame, identifier = self._frame, self._identifier
        acknowledgements = b""
        end = len(whole) - len(whole) % frame
        for start in range(0, end, frame):
            place = start + identifier
            acknowledgements += b"\x40\x02" + whole[place : place + 2]
            self._note(_STAMP.unpack_from(whole, place + 2)[0], now)
        self._rest = whole[end:]
        if self.client and acknowledgements:
            self.client.write(acknowledgements)

    def _note(self, number: int, now: int) -> None:
        if number in self.arrived:
            self.repeated += 1
            return
        topic = number % self._topics
        if number < self._newest.get(topic, -1):
            self.disordered += 1
        self._newest[topic] = number
        self.arrived[number] = now


def topic_of(number: int) -> str:
    """The topic of a message; all are of one length."""
    return f"bench/latency/{number:04d}"


async def measure(load: LatencyLoad) -> Measured:
    """Publish at the rate for the given time, and return when each message was sent and how long it took."""
    receiver = Receiver(load)
    name = f"latency-sub-{os.getpid()}"
    subscriber = await open_client(
        load.host, load.subscribe_port, name, receiver.take, clean=not load.is_persistent
    )
    await subscriber.subscribed("bench/latency/+", 1)
    receiver.client = subscriber
    subscriber.hand_over()
    publisher = await open_client(load.host, load.publish_port, f"latency-pub-{os.getpid()}")
    publisher.received = 0

    sent: list[int] = []
    count = int((load.warm_up + load.seconds) * load.rate)
    first_counted = int(load.warm_up * load.rate)
    padding = bytes(load.payload - _STAMP.size)
    loop = asyncio.get_running_loop()
    meter = CpuMeter(load.watch | {"generator": os.getpid()})
    began_at = loop.time()
    for number in range(count):
        delay = began_at + number / load.rate - loop.time()
        if delay > 0:
            await asyncio.sleep(delay)
        # Identifiers must not be in use again: at 200/s they come round after five minutes.
        packet = publish_bytes(
            topic_of(number % load.topics), _STAMP.pack(number) + padding, 1, number % 65_535 + 1
        )
        sent.append(time.monotonic_ns())
        publisher.write(packet)
    deadline = loop.time() + _FAREWELL
    while len(receiver.arrived) < count and loop.time() < deadline:  # noqa: ASYNC110 - the end is no hot path
        await asyncio.sleep(0.05)
    cpu = meter.seconds()
    acknowledged = publisher.received // PUBACK_BYTES
    publisher.close()
    subscriber.close()
    if load.is_persistent:
        await forget_session(load.host, load.subscribe_port, name)
    await asyncio.sleep(0.1)
    arrived = {n: at for n, at in receiver.arrived.items() if n >= first_counted}
    return {
        "samples": [[sent[n] / 1e9, (at - sent[n]) / 1e9] for n, at in sorted(arrived.items())],
        "sent": count,
        "acknowledged": acknowledged,
        "lost": count - len(receiver.arrived),
        "repeated": receiver.repeated,
        "disordered": receiver.disordered,
        "wall_minus_monotonic": time.time() - time.monotonic(),
        "latest_send": max((at - sent[0]) / 1e9 - n / load.rate for n, at in enumerate(sent)),
        "cpu": cpu,
    }


if __name__ == "__main__":
    main(LatencyLoad, measure)
