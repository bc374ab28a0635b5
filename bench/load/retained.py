"""Retained messages: what each costs the broker in memory, and how long a filter that matches none of them takes."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from dataclasses import dataclass

from bench.load.client import PUBACK_BYTES, RawClient, open_client, subscribe_bytes
from bench.load.process import Measured, main
from bench.processes import resident_bytes
from edge.mqtt.packets import Publish
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.writing import write_packet

_WINDOW = 500  # publishes that wait for their acknowledgement
_SUBACK_BYTES = 5


@dataclass(frozen=True)
class RetainedLoad:
    """What to do."""

    host: str
    port: int
    pid: int
    """The broker's process, whose memory counts."""
    messages: int = 100_000
    payload: int = 64
    """Bytes of each."""
    subscribes: int = 400
    warm_up: int = 20
    settle: float = 2.0
    """Seconds of quiet before memory is read."""


async def measure(load: RetainedLoad) -> Measured:
    """Retain all, subscribe to what matches none, then to all; at the end delete them.

    Returns:
        Bytes of the broker's memory for all messages, seconds to retain them, seconds from SUBSCRIBE to SUBACK, the
        same of filters whose every level stands somewhere, and seconds until one subscriber has them all.
    """
    root = f"bench/retained/{os.getpid()}"
    topics = [f"{root}/{number % 100}/sensor-{number}/value" for number in range(load.messages)]
    publisher = await open_client(load.host, load.port, f"retained-{os.getpid()}")
    await asyncio.sleep(load.settle)
    before = resident_bytes(load.pid)
    began_at = time.monotonic()
    await _publish(publisher, topics, bytes(load.payload))
    elapsed = time.monotonic() - began_at
    await asyncio.sleep(load.settle)
    memory = resident_bytes(load.pid) - before
    subscriber = await open_client(load.host, load.port, f"matches-none-{os.getpid()}")
    latencies = await _subscribe(subscriber, load, f"{root}/+/+/none-")
    # Each of these names stands at its depth as well, under another root: no filter is known as in vain by its names.
    beside = [f"{root}-beside/0/sensor/walked-{number}" for number in range(load.warm_up + load.subscribes)]
    await _publish(publisher, beside, bytes(load.payload))
    walked = await _subscribe(subscriber, load, f"{root}/+/+/walked-")
    all_of_them = await open_client(load.host, load.port, f"matches-all-{os.getpid()}")
    sizes = sum(
        len(write_packet(Publish(topic, bytes(load.payload)), ProtocolVersion.V3_1_1)) for topic in topics
    )
    asked_at = time.perf_counter()
    all_of_them.write(subscribe_bytes(f"{root}/#", 0))
    await all_of_them.received_bytes(all_of_them.received + _SUBACK_BYTES + sizes, 120.0)
    to_one = time.perf_counter() - asked_at
    all_of_them.close()
    await _publish(publisher, topics + beside, b"")
    for client in (publisher, subscriber):
        client.close()
    await asyncio.sleep(0.1)
    return {
        "messages": load.messages,
        "bytes": memory,
        "seconds": elapsed,
        "latencies": latencies,
        "walked": walked,
        "to_one": to_one,
    }


async def _subscribe(client: RawClient, load: RetainedLoad, filter: str) -> list[float]:
    """Subscribe to filters that match nothing, one after the other; returns how long each took."""
    latencies = []
    for number in range(load.warm_up + load.subscribes):
        asked_at = time.perf_counter()
        await client.subscribed(f"{filter}{number}", 1, number + 1)
        latencies.append(time.perf_counter() - asked_at)
    return latencies[load.warm_up :]


async def _publish(client: RawClient, topics: list[str], payload: bytes) -> None:
    """Retain at QoS 1, a window at a time."""
    ids = itertools.count()
    for begin in range(0, len(topics), _WINDOW):
        window = topics[begin : begin + _WINDOW]
        wanted = client.received + PUBACK_BYTES * len(window)
        packets = [
            write_packet(
                Publish(topic, payload, 1, retain=True, packet_id=next(ids) % 65_535 + 1),
                ProtocolVersion.V3_1_1,
            )
            for topic in window
        ]
        client.write(b"".join(packets))
        await client.received_bytes(wanted)


if __name__ == "__main__":
    main(RetainedLoad, measure)
