"""Applications: very many that are connected, each with a Kafka topic of its own, and what one message to one costs."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from typing import Any

import psutil

from bench.load.client import RawClient, open_client, publish_bytes
from bench.load.connections import allow_files
from bench.load.process import Measured, main
from bench.processes import CpuMeter, resident_bytes
from edge.mqtt.packets import PubAck
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.writing import write_packet

_SOURCES = 4
"""Loopback addresses to connect from, as in `connections`."""


@dataclass(frozen=True)
class ApplicationsLoad:
    """What to do."""

    host: str
    port: int
    gateway: int
    """The gateway's process."""
    kafka: int
    """Kafka's process."""
    count: int = 10_000
    at_once: int = 100
    idle: float = 20.0
    """Seconds of quiet whose CPU counts."""
    messages: int = 500
    """One after the other, each to another application."""


class Application(RawClient):
    """A client that acknowledges each message, and tells when one came."""

    def __init__(self) -> None:
        super().__init__(self._take)
        self.came: asyncio.Future[float] | None = None

    def _take(self, read: memoryview) -> None:
        # One small PUBLISH at QoS 1, whole: header, length, topic, packet identifier, payload.
        topic_bytes = int.from_bytes(read[2:4], "big")
        packet_id = int.from_bytes(read[4 + topic_bytes : 6 + topic_bytes], "big")
        self.write(write_packet(PubAck(packet_id), ProtocolVersion.V3_1_1))
        if self.came is not None and not self.came.done():
            self.came.set_result(time.perf_counter())


async def measure(load: ApplicationsLoad) -> Measured:
    """Connect all, be quiet, then send messages."""
    allow_files(load.count + 100)
    processes = {"gateway": load.gateway, "kafka": load.kafka}
    before = resident_bytes(load.gateway)
    threads_before = psutil.Process(load.gateway).num_threads()
    clients: dict[int, Application] = {}
    began_at = time.monotonic()
    await _connect_all(load, clients)
    seconds = time.monotonic() - began_at
    await asyncio.sleep(5.0)  # Connecting leaves work behind.
    meter = CpuMeter(processes)
    await asyncio.sleep(load.idle)
    found: dict[str, Any] = {
        "count": len(clients),
        "seconds": seconds,
        "bytes": resident_bytes(load.gateway) - before,
        "threads_before": threads_before,
        "threads": psutil.Process(load.gateway).num_threads(),
        "idle_cpu": {name: used / load.idle for name, used in meter.seconds().items()},
    }
    found["latencies"] = await _latencies(load, clients)
    for client in clients.values():
        client.close()
    await asyncio.sleep(1.0)
    return found


async def _connect_all(load: ApplicationsLoad, clients: dict[int, Application]) -> None:
    numbers = iter(range(load.count))

    async def connect() -> None:
        loop = asyncio.get_running_loop()
        for number in numbers:
            source = (f"127.0.0.{1 + number % _SOURCES}", 0)
            _, client = await loop.create_connection(Application, load.host, load.port, local_addr=source)
            await client.connected(f"app{os.getpid()}x{number}", clean=False)
            await client.subscribed(_topic(number), 1)
            client.hand_over()
            clients[number] = client

    await asyncio.gather(*(connect() for _ in range(load.at_once)))


async def _latencies(load: ApplicationsLoad, clients: dict[int, Application]) -> list[float]:
    publisher = await open_client(load.host, load.port, f"publisher-{os.getpid()}")
    step = max(1, len(clients) // load.messages)
    chosen = sorted(clients)[::step][: load.messages]
    latencies = []
    for number in chosen:
        client = clients[number]
        client.came = asyncio.get_running_loop().create_future()
        sent_at = time.perf_counter()
        publisher.write(publish_bytes(_topic(number), b"x" * 64, 1, 1))
        latencies.append(await asyncio.wait_for(client.came, 60.0) - sent_at)
    publisher.close()
    return latencies


def _topic(number: int) -> str:
    return f"bench/applications/{os.getpid()}/{number}"


if __name__ == "__main__":
    main(ApplicationsLoad, measure)
