"""Ingest by two kinds of publishers in turn, a second each: what a machine does to the one it does to the other too.

For differences that are smaller than what two runs, one after the other, differ by on a machine with neighbours.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from bench.load.ingest import IngestLoad, Publisher, connected_publishers
from bench.load.process import Measured, main
from bench.load.recording import Recording

_SETTLE = 0.3
"""Seconds of each turn that do not count: the window fills."""


@dataclass(frozen=True)
class IngestTurnsLoad:
    """What to do. What differs between the two kinds is a pair; all else is as in `IngestLoad`."""

    host: str
    ports: tuple[int, int]
    user_names: tuple[str, str]
    passwords: tuple[str, str]
    turns: int
    """Of each kind."""
    seconds: float = 1.0
    """Of each turn that count."""
    topics: int = 1
    watch: tuple[dict[str, int], dict[str, int]] = ({}, {})
    """Processes whose CPU seconds to measure."""
    connections: int = 8
    window: int = 1_000

    def of(self, kind: int) -> IngestLoad:
        """What one kind's publishers do."""
        return IngestLoad(
            self.host, self.ports[kind], self.seconds, self.watch[kind], self.connections, self.window,
            topics=self.topics, user_name=self.user_names[kind], password=self.passwords[kind],
        )  # fmt: skip


async def measure(load: IngestTurnsLoad) -> Measured:
    """Have both kinds publish in turn; returns for each of them its turns, as `bench.load.ingest` returns one run."""
    kinds = [await connected_publishers(load.of(kind)) for kind in (0, 1)]
    found: list[list[Measured]] = [[], []]
    for kind in (0, 1):
        await _turn(load.of(kind), kinds[kind])  # a warm-up
    for number in range(load.turns):
        # Now the one first, now the other: who comes second may find what the first has left behind.
        for kind in (0, 1) if number % 2 else (1, 0):
            found[kind].append(await _turn(load.of(kind), kinds[kind]))
    for publisher in (*kinds[0], *kinds[1]):
        publisher.close()
    await asyncio.sleep(0.1)
    return {"kinds": found}


async def _turn(load: IngestLoad, publishers: list[Publisher]) -> Measured:
    for publisher in publishers:
        publisher.begin()
    await asyncio.sleep(_SETTLE)
    recording = Recording(load.watch, lambda: sum(p.acknowledged for p in publishers))
    await asyncio.sleep(load.seconds)
    recording.note()
    for publisher in publishers:
        publisher.stop()
    for publisher in publishers:
        await publisher.settle()
    return recording.measured()


if __name__ == "__main__":
    main(IngestTurnsLoad, measure)
