"""A sink under observation: its metrics and health over HTTP, from the driver."""

from __future__ import annotations

from contextlib import AbstractContextManager

from sinks.metrics import BEHIND_SECONDS, PREFIX, QueryCheck, SinkCollector, StoreCheck, last_progress
from sinks.supervision import Supervisor
from telemetry.addresses import Address
from telemetry.health import Asked, Check
from telemetry.last_batch import LastBatchCollector
from telemetry.registry import process_registry
from telemetry.server import serving


def observed(
    name: str, supervisor: Supervisor, address: Address | None, interval_ms: int
) -> AbstractContextManager[None]:
    """Serve metrics and health while the block runs, where there is an address.

    Args:
        name: The sink's.
        supervisor: Its own.
        address: Where to listen.
        interval_ms: How long a batch gathers.

    Raises:
        OSError: It can't be listened on; it stands in `filename`.
    """
    store = StoreCheck(supervisor, BEHIND_SECONDS + 2 * interval_ms / 1_000)
    checks: dict[str, Check] = {"query": QueryCheck(supervisor), "store": Asked(store)}
    registry = process_registry("sink", sink=name)
    registry.register(SinkCollector(supervisor, store))
    registry.register(LastBatchCollector(PREFIX, lambda: last_progress(supervisor)))
    return serving(registry, address, checks)
