"""Faults: which there are, in what order a seed brings them, and how each is done to a stack. One at a time."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from admin.stack.embedded import Stack

KILL, STOP = "kill -9", "stop"
_STOPPED = {"kafka": (1.0, 8.0)}
_STOPPED_OTHERS = (1.0, 14.0)
"""Seconds of SIGSTOP: from a hiccup to longer than a gateway's session timeout. Kafka's own clients give up later."""
_CALM = (1.0, 4.0)
"""Seconds between one fault's end and the next."""
_SECONDS_TO_RECOVER = 180.0


@dataclass(frozen=True)
class Fault:
    """One thing that may happen."""

    part: str
    kind: str
    """`kill -9`, or `stop`: SIGSTOP, and SIGCONT some seconds later."""


@dataclass(frozen=True)
class Struck:
    """A fault that happened."""

    fault: Fault
    at: float
    """Seconds since the run began."""
    lasted: float
    """Until the part, and all others, said that they were ready."""


def all_faults(gateways: Sequence[str]) -> list[Fault]:
    """Each kind for each part."""
    parts = (*gateways, "router", "sink", "kafka", "valkey")
    return [Fault(part, kind) for part in parts for kind in (KILL, STOP)]


def dealt(faults: Sequence[Fault], choice: random.Random) -> Iterator[Fault]:
    """Faults without end: as from a pack of cards that is shuffled anew when it is used up, so none is left out."""
    while True:
        yield from choice.sample(faults, len(faults))


class Faults:
    """Does them to a stack, until told to stop."""

    def __init__(self, stack: Stack, choice: random.Random, tell: Callable[[str], None]) -> None:
        self.struck: list[Struck] = []
        self._stack = stack
        self._choice = choice
        self._tell = tell
        self._parts = stack.supervisor.names
        self._restarts_before = {part: stack.restarts(part) for part in self._parts}

    async def strike_until(self, began_at: float, seconds: float) -> None:
        """One fault after the other, the last of which begins before so many seconds are over.

        Raises:
            PartError: A part did not come back.
        """
        gateways = [address.node for address in self._stack.mqtt]
        for fault in dealt(all_faults(gateways), self._choice):
            await asyncio.sleep(self._choice.uniform(*_CALM))
            at = time.monotonic() - began_at
            if at >= seconds:
                return
            await self._strike(fault)
            lasted = time.monotonic() - began_at - at
            self.struck.append(Struck(fault, at, lasted))
            self._tell(f"{at:6.1f} s  {fault.kind} {fault.part}, all well after {lasted:.1f} s")

    def restarts_unasked(self) -> dict[str, int]:
        """How often parts ended that nobody had killed, where any did."""
        killed = Counter(struck.fault.part for struck in self.struck if struck.fault.kind == KILL)
        unasked = {
            part: self._stack.restarts(part) - self._restarts_before[part] - killed[part]
            for part in self._parts
        }
        return {part: count for part, count in unasked.items() if count > 0}

    async def _strike(self, fault: Fault) -> None:
        if fault.kind == KILL:
            restarts = self._stack.kill(fault.part)
            await asyncio.to_thread(self._stack.wait_restarted, fault.part, restarts, _SECONDS_TO_RECOVER)
        else:
            self._stack.pause(fault.part)
            try:
                await asyncio.sleep(self._choice.uniform(*_STOPPED.get(fault.part, _STOPPED_OTHERS)))
            finally:
                self._stack.resume(fault.part)
        await self.all_ready()  # One may have gone down with the other.

    async def all_ready(self) -> None:
        """Wait until each part says that it is.

        Raises:
            PartError: One does not.
        """
        for part in self._parts:
            await asyncio.to_thread(self._stack.wait_ready, part, _SECONDS_TO_RECOVER)
