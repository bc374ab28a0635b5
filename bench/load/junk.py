"""Junk on many connections at a time: noise, packets that are nearly right, and announcements that nothing follows.

Each connection sends its junk, and waits for the broker to have had enough; then another takes its place, in each place
one a second. So brokers that are quick to end a connection get no more of them than others.
"""

from __future__ import annotations

import asyncio
import os
import random
from dataclasses import dataclass, field

from bench.load.client import CONNACK_BYTES, connect_bytes, publish_bytes
from bench.load.connections import allow_files
from bench.load.process import Measured, main
from bench.processes import CpuMeter

_CHUNK = 2_000
"""Bytes of junk at a time, at most."""
_CHUNKS = 20
"""As many at most on one connection."""


@dataclass(frozen=True)
class JunkLoad:
    """What to do."""

    host: str
    port: int
    seconds: float
    connections: int = 500
    seed: int = 1
    watch: dict[str, int] = field(default_factory=dict)


def junk_of(noise: random.Random, client_id: str) -> list[bytes]:
    """What one connection sends, chunk by chunk; half of all begin with a CONNECT that is right."""
    match noise.randrange(6):
        case 0:
            return [b"\x30\xff\xff\xff\x7f" + noise.randbytes(10)]  # 256 MiB are announced
        case 1:
            return [connect_bytes(client_id)[: noise.randrange(1, 12)]]
        case 2:
            return [noise.randbytes(noise.randrange(1, _CHUNK)) for _ in range(noise.randrange(1, _CHUNKS))]
        case 3:
            return [connect_bytes(client_id), b"\x30\xff\xff\x02" + noise.randbytes(_CHUNK)]  # 48 KiB are
        case 4:
            chunks = [noise.randbytes(noise.randrange(1, _CHUNK)) for _ in range(noise.randrange(1, _CHUNKS))]
            return [connect_bytes(client_id), *chunks]
    packets = bytearray(b"".join(publish_bytes("junk/" + client_id, b"x" * 20) for _ in range(30)))
    packets[noise.randrange(len(packets))] ^= 1 << noise.randrange(8)
    return [connect_bytes(client_id), bytes(packets)]


async def measure(load: JunkLoad) -> Measured:
    """Send junk for the given time; returns how many connections there were, and how they ended."""
    allow_files(2 * load.connections + 100)
    counts = {"opened": 0, "ended_by_broker": 0, "refused": 0, "bytes": 0}
    loop = asyncio.get_running_loop()
    end = loop.time() + load.seconds
    meter = CpuMeter(load.watch | {"generator": os.getpid()})

    async def place(number: int) -> None:
        noise = random.Random(load.seed * load.connections + number)  # noqa: S311 - that it can be repeated  # nosec B311
        turn = loop.time() + number / load.connections
        while turn < end:
            await asyncio.sleep(max(0.0, turn - loop.time()))
            turn = max(turn + 1.0, loop.time())
            try:
                await _send_junk(load, junk_of(noise, f"junk-{number}"), turn, counts)
            except OSError:
                counts["refused"] += 1  # or reset, with bytes of ours unread

    await asyncio.gather(*map(place, range(load.connections)))
    return counts | {"cpu": meter.seconds()}


async def _send_junk(load: JunkLoad, chunks: list[bytes], until: float, counts: dict[str, int]) -> None:
    """One connection; it is given up when the next one's turn has come."""
    reader, writer = await asyncio.open_connection(load.host, load.port)
    counts["opened"] += 1
    try:
        async with asyncio.timeout_at(until):
            for chunk in chunks:
                writer.write(chunk)
                counts["bytes"] += len(chunk)
                await writer.drain()
                if chunk[:1] == b"\x10" and len(chunks) > 1:
                    await reader.readexactly(CONNACK_BYTES)
            while await reader.read(_CHUNK):
                pass
            counts["ended_by_broker"] += 1
    except TimeoutError:
        pass
    except (asyncio.IncompleteReadError, ConnectionError):
        counts["ended_by_broker"] += 1
    finally:
        writer.transport.abort()


if __name__ == "__main__":
    main(JunkLoad, measure)
