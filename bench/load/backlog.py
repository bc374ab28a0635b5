"""Backlog: messages for clients that are away, and how soon they come when these return.

In two steps, two processes: `fill`, then `drain`; between them the broker may put in order what it has.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from itertools import islice

from bench.load.client import PUBACK_BYTES, forget_session, open_client, publish_bytes
from bench.load.inbox import Inbox
from bench.load.process import Measured, main
from bench.processes import CpuMeter

_MOST_UNDER_WAY = 10_000
"""Messages that the publisher sends before it waits for their acknowledgements."""


@dataclass(frozen=True)
class BacklogLoad:
    """What to do."""

    step: str
    """`fill` or `drain`."""
    host: str
    publish_port: int
    subscribe_port: int
    name: str
    """What client ids and topics begin with; the same in both steps, and nobody else's."""
    clients: int = 1
    messages: int = 10_000
    """For each client."""
    payload: int = 256
    watch: dict[str, int] = field(default_factory=dict)
    """Processes whose CPU seconds to measure."""
    patience: float = 30.0

    def client_id(self, number: int) -> str:
        """A client's id."""
        return f"{self.name}-{number}"

    def topic(self, number: int) -> str:
        """What a client subscribes to; all are of one length."""
        return f"bench/backlog/{self.name}/{number:06d}"


async def measure(load: BacklogLoad) -> Measured:
    """Do one of the steps."""
    return await (_fill(load) if load.step == "fill" else _drain(load))


async def _fill(load: BacklogLoad) -> Measured:
    for number in range(load.clients):
        client = await open_client(load.host, load.subscribe_port, load.client_id(number), clean=False)
        await client.subscribed(load.topic(number), 1)
        client.close()
    publisher = await open_client(load.host, load.publish_port, f"{load.name}-publisher")
    base, sent = publisher.received, 0
    payload = bytes(load.payload)
    wanted = (number for number in range(load.clients) for _ in range(load.messages))
    began_at = time.monotonic()
    while batch := list(islice(wanted, _MOST_UNDER_WAY)):
        packets = (
            publish_bytes(load.topic(number), payload, 1, identifier)
            for identifier, number in enumerate(batch, 1)
        )
        publisher.write(b"".join(packets))
        sent += len(batch)
        await publisher.received_bytes(base + sent * PUBACK_BYTES, load.patience)
    elapsed = time.monotonic() - began_at
    publisher.close()
    await asyncio.sleep(0.1)
    return {"messages": sent, "seconds": elapsed}


async def _drain(load: BacklogLoad) -> Measured:
    """The clients come back one after the other; the times run from before the TCP connection.

    Raises:
        RuntimeError: What is owed does not come. A broker that has lost it for one has lost it for all.
    """
    first, whole = [], []
    meter = CpuMeter(load.watch)
    for number in range(load.clients):
        inbox = Inbox(load.topic(0), load.payload, load.messages)
        began_at = time.monotonic()
        await inbox.connect(load.host, load.subscribe_port, load.client_id(number))
        try:
            await asyncio.wait_for(inbox.complete, load.patience)
        except TimeoutError:
            raise RuntimeError(f"{inbox.count} of {load.messages} messages came to a client") from None
        first.append(inbox.first_at - began_at)
        whole.append(inbox.last_at - began_at)
        inbox.client.close()
    cpu = meter.seconds()
    for number in range(load.clients):
        await forget_session(load.host, load.subscribe_port, load.client_id(number))
    await asyncio.sleep(0.1)
    return {"first": first, "whole": whole, "cpu": cpu}


if __name__ == "__main__":
    main(BacklogLoad, measure)
