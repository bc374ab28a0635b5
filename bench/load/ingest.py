"""Ingest: publishers that keep a window of QoS 1 messages under way, and count PUBACKs."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field

from bench.load.client import PUBACK_BYTES, RawClient, connect_bytes, publish_bytes
from bench.load.process import Measured, main
from bench.load.recording import Recording


@dataclass(frozen=True)
class IngestLoad:
    """What to do."""

    host: str
    port: int
    seconds: float
    watch: dict[str, int] = field(default_factory=dict)
    """Processes whose CPU seconds to measure."""
    connections: int = 8
    window: int = 1_000
    """Unacknowledged messages of each publisher."""
    payload: int = 256
    warm_up: float = 1.5
    topics: int = 1
    """Of each publisher, in turn."""
    user_name: str | None = None
    """Of all publishers, where they are asked for it."""
    password: str | None = None
    """The same."""


def topics_of(load: IngestLoad, number: int) -> list[str]:
    """The topics of one publisher."""
    own = f"bench/ingest/{number}"
    return [own] if load.topics == 1 else [f"{own}/{place}" for place in range(load.topics)]


class Publisher:
    """One connection with one topic or some, as a device has them: its acknowledgements come back in order.

    The window is two bursts of prepared bytes; when as many acknowledgements have come as a burst has messages, the
    older burst is sent again. Its packet identifiers are free by then.
    """

    def __init__(self, load: IngestLoad, number: int) -> None:
        self.acknowledged = 0
        self._half = load.window // 2
        payload = bytes(load.payload)
        topics = topics_of(load, number)
        packets = [
            publish_bytes(topics[identifier % len(topics)], payload, 1, identifier)
            for identifier in range(1, 2 * self._half + 1)
        ]
        self._bursts = [b"".join(packets[: self._half]), b"".join(packets[self._half :])]
        self._begun = 0  # bursts that were sent
        self._older = 0  # … and those that are acknowledged
        self._bytes = 0
        self._client: RawClient | None = None
        self._is_stopped = False
        self._settled: asyncio.Future[None] | None = None

    async def start(self, load: IngestLoad, number: int) -> None:
        """Connect."""
        loop = asyncio.get_running_loop()
        _, client = await loop.create_connection(lambda: RawClient(self._count), load.host, load.port)
        await client.let_in(
            connect_bytes(
                f"ingest-{os.getpid()}-{load.user_name or ''}-{number}",
                user_name=load.user_name,
                password=load.password,
            )
        )
        self._client = client
        self._client.hand_over()

    def begin(self) -> None:
        """Fill the window, for the first time or again when nothing is under way any more."""
        self._is_stopped = False
        self._begun += 2
        for turn in (self._older, self._older + 1):
            self._write(self._bursts[turn % 2])

    def stop(self) -> None:
        """Send no more."""
        self._is_stopped = True

    async def settle(self) -> None:
        """Wait until all that was sent is acknowledged; call `stop` first."""
        if self._older < self._begun:
            self._settled = asyncio.get_running_loop().create_future()
            await self._settled

    def close(self) -> None:
        """End the connection."""
        if self._client:
            self._client.close()

    def _count(self, data: memoryview) -> None:
        self._bytes += len(data)
        self.acknowledged = self._bytes // PUBACK_BYTES
        while self._bytes >= (self._older + 1) * self._half * PUBACK_BYTES:
            burst = self._bursts[self._older % 2]
            self._older += 1
            if not self._is_stopped:
                self._begun += 1
                self._write(burst)
        if self._settled is not None and not self._settled.done() and self._older == self._begun:
            self._settled.set_result(None)

    def _write(self, data: bytes) -> None:
        if self._client:
            self._client.write(data)


async def connected_publishers(load: IngestLoad) -> list[Publisher]:
    """All publishers of a load, of which none has begun."""
    publishers = [Publisher(load, number) for number in range(load.connections)]
    for number, publisher in enumerate(publishers):
        await publisher.start(load, number)
    return publishers


async def measure(load: IngestLoad) -> Measured:
    """Publish for the given time; the result has all moments, too."""
    publishers = await connected_publishers(load)
    for publisher in publishers:
        publisher.begin()
    await asyncio.sleep(load.warm_up)
    recording = Recording(load.watch, lambda: sum(p.acknowledged for p in publishers))
    await recording.go_on(load.seconds)
    for publisher in publishers:
        publisher.stop()
    await asyncio.sleep(
        0.5
    )  # What is under way comes back, so that the broker has no half window to clear up.
    for publisher in publishers:
        publisher.close()
    await asyncio.sleep(0.1)
    return recording.measured() | {"moments": recording.moments}


if __name__ == "__main__":
    main(IngestLoad, measure)
