"""What may be wrong with the router, as checks of `/health/ready`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql.streaming.query import StreamingQuery

from routing.errors import RouteTableError
from routing.passage import Passage
from telemetry.health import Failure

SECONDS_TO_ROUTE = 4.0
"""A marker takes milliseconds; so long only where the router is that far behind."""


@dataclass
class QueryCheck:
    """Whether a query runs. It does not yet while the router starts, nor while it waits for Kafka."""

    running: Callable[[], StreamingQuery | None]
    """The query that routes; None: there is none."""
    _began_at: float = field(default_factory=time.time)

    def __call__(self) -> Failure | None:
        """See `telemetry.health.Check`."""
        query = self.running()
        with contextlib.suppress(Py4JError, ConnectionError, EOFError):
            if query is not None and query.isActive and query.status["isTriggerActive"]:
                return None
        return Failure("no query runs: messages wait in Kafka")


@dataclass
class RoutingCheck:
    """Whether what is written to `tbmq.msg.all` now comes out again, through each of its partitions."""

    passage: Callable[[], Passage]
    """Makes one; it is kept."""
    in_charge: Callable[[], int | None]
    """Which generation answers; None: none does yet."""
    _passage: Passage | None = None

    def __call__(self) -> Failure | None:
        """See `telemetry.health.Check`."""
        number = self.in_charge()
        if number is None:
            return Failure("no generation has begun to route")
        if self._passage is None:
            self._passage = self.passage()
        try:
            if not self._passage.has_node():
                return None  # nobody would get anything
        except RouteTableError as error:
            return Failure(str(error))
        if self._passage.is_live(number, SECONDS_TO_ROUTE):
            return None
        # One may have taken over meanwhile.
        if (other := self.in_charge()) not in (None, number):
            return None if self._passage.is_live(int(other or 0), SECONDS_TO_ROUTE) else self._silent()
        return self._silent()

    def _silent(self) -> Failure:
        return Failure(f"a message has not come through the router for {SECONDS_TO_ROUTE:.0f} s")
