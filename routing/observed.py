"""The router under observation: its metrics and health over HTTP, from the driver."""

from __future__ import annotations

from contextlib import AbstractContextManager

from routing.checks import QueryCheck, RoutingCheck
from routing.metrics import PREFIX, last_progress
from routing.passage import Passage
from routing.supervision import Supervisor
from telemetry.addresses import Address
from telemetry.health import Asked, Check
from telemetry.last_batch import LastBatchCollector
from telemetry.server import serving

_FRESH_SECONDS = 5.0
"""Each answer costs a record for each partition, and a Kafka client that reads the answers."""


def observed(supervisor: Supervisor, address: Address | None) -> AbstractContextManager[None]:
    """Serve metrics and health while the block runs, where there is an address.

    Raises:
        OSError: It can't be listened on; it stands in `filename`.
    """

    def passage() -> Passage:
        return Passage(supervisor.kafka, supervisor.topics, lambda: False)

    checks: dict[str, Check] = {
        "query": QueryCheck(lambda: supervisor.query),
        "routing": Asked(RoutingCheck(passage, lambda: supervisor.in_charge), fresh=_FRESH_SECONDS),
    }
    registry = supervisor.metrics.registry
    registry.register(LastBatchCollector(PREFIX, {(): lambda: last_progress(supervisor.query)}))
    return serving(registry, address, checks)
