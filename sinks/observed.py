"""Sinks under observation: their metrics and health over HTTP, from the driver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from sinks.metrics import BEHIND_SECONDS, PREFIX, QueryCheck, SinkCollector, StoreCheck, last_progress
from sinks.supervision import Supervisor
from telemetry.addresses import Address
from telemetry.health import Asked, Check
from telemetry.last_batch import LastBatchCollector
from telemetry.registry import process_registry
from telemetry.server import serving


@dataclass(frozen=True)
class Watched:
    """One sink of a process."""

    name: str
    supervisor: Supervisor
    interval_ms: int
    """How long a batch gathers."""

    def last_progress(self) -> dict[str, Any] | None:
        """Of its running query."""
        return last_progress(self.supervisor)


def observed(name: str, sinks: Sequence[Watched], address: Address | None) -> AbstractContextManager[None]:
    """Serve metrics and health while the block runs, where there is an address.

    Args:
        name: The process's.
        sinks: Its sinks. Where there are several, the checks' names tell which one's they are.
        address: Where to listen.

    Raises:
        OSError: It can't be listened on; it stands in `filename`.
    """
    checks: dict[str, Check] = {}
    stores: dict[str, tuple[Supervisor, StoreCheck]] = {}
    for sink in sinks:
        store = StoreCheck(sink.supervisor, BEHIND_SECONDS + 2 * sink.interval_ms / 1_000)
        stores[sink.name] = (sink.supervisor, store)
        suffix = f"-{sink.name}" if len(sinks) > 1 else ""
        checks |= {f"query{suffix}": QueryCheck(sink.supervisor), f"store{suffix}": Asked(store)}
    batches: Mapping[tuple[str, ...], Callable[[], Mapping[str, Any] | None]] = {
        (sink.name,): sink.last_progress for sink in sinks
    }
    registry = process_registry("sink", sink=name)
    registry.register(SinkCollector(stores))
    registry.register(LastBatchCollector(PREFIX, batches, ["sink"]))
    return serving(registry, address, checks)
