"""How a load gets on: what was done and which CPU was used, moment by moment, on a clock that all processes share."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence

from bench.load.process import Measured
from bench.processes import CpuMeter

Moment = tuple[float, int, dict[str, float]]
"""When, on the monotonic clock; messages since the start of the load; CPU seconds since that of the recording."""

_SECONDS_BETWEEN = 0.1


class Recording:
    """Begins when it is made."""

    def __init__(self, watch: Mapping[str, int], count: Callable[[], int]) -> None:
        """Record a load.

        Args:
            watch: Processes whose CPU seconds to measure; the generator's is added.
            count: How many messages there were so far.
        """
        self._count = count
        self._meter = CpuMeter({**watch, "generator": os.getpid()})
        self.moments: list[Moment] = []
        self.note()

    def note(self) -> None:
        """Add a moment."""
        self.moments.append((time.monotonic(), self._count(), self._meter.seconds()))

    async def go_on(self, seconds: float) -> None:
        """Add moments for so long."""
        until = self.moments[0][0] + seconds
        while time.monotonic() < until:
            await asyncio.sleep(max(0.0, min(_SECONDS_BETWEEN, until - time.monotonic())))
            self.note()

    @property
    def seconds(self) -> float:
        """From the first moment to the last."""
        return self.moments[-1][0] - self.moments[0][0]

    def measured(self) -> Measured:
        """From the first moment to the last."""
        return between(self.moments, self.moments[0][0], self.moments[-1][0])


def between(moments: Sequence[Moment], since: float, until: float) -> Measured:
    """What was done from one time to another, which need not be moments.

    Raises:
        ValueError: They are not within the recording, or not in order.
    """
    if not moments or not moments[0][0] <= since < until <= moments[-1][0]:
        raise ValueError("what was not recorded is not known")
    messages, cpu = _at(moments, since)
    later_messages, later_cpu = _at(moments, until)
    return {
        "messages": later_messages - messages,
        "seconds": until - since,
        "cpu": {name: used - cpu[name] for name, used in later_cpu.items()},
    }


def _at(moments: Sequence[Moment], at: float) -> tuple[float, dict[str, float]]:
    after = next(place for place, moment in enumerate(moments) if moment[0] >= at)
    time_after, messages, cpu = moments[after]
    if not after:
        return messages, cpu
    time_before, messages_before, cpu_before = moments[after - 1]
    share = (at - time_before) / (time_after - time_before)
    return (
        messages_before + share * (messages - messages_before),
        {name: cpu_before[name] + share * (used - cpu_before[name]) for name, used in cpu.items()},
    )
