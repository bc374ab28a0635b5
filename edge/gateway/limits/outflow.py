"""What goes to one client, held to its rate: at QoS 0 what is over it is dropped, at QoS 1 and 2 it waits.

What waits stays where it waits for the client's window, too: behind it in the MQTT core, in the log of a session, in an
application's Kafka topic, among retained messages. So it keeps its order and its bounds, and nothing new is queued.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from edge.gateway.limits.rate import Rate, take

if TYPE_CHECKING:
    from edge.gateway.connection import Connection


class Outflow:
    """Of one connection; the gate of its core (`edge.mqtt.inflight.Gate`)."""

    __slots__ = ("_all", "_connection", "_loop", "_owed", "_timer", "_total", "_wake")

    def __init__(
        self, connection: Connection, rates: Sequence[Rate], owed: Sequence[Rate], total: Rate | None,
        wake: Callable[[Connection], None],
    ) -> None:  # fmt: skip
        """Prepare to hold back.

        Args:
            connection: Whose.
            rates: What all its deliveries are held to.
            owed: What those at QoS 1 and 2 are held to.
            total: What counts all clients' messages. Those at QoS 1 and 2 do not wait for it: publishers do.
            wake: Has whoever feeds the connection go on.
        """
        self._connection = connection
        self._all = (*rates, total) if total is not None else tuple(rates)
        self._owed = tuple(owed)
        self._total = total
        self._wake = wake
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    def take(self) -> bool:
        """Whether one more may go that is dropped otherwise; it counts as gone."""
        return take(self._all, self._loop.time())

    @property
    def is_open(self) -> bool:
        """Whether one more may go that waits otherwise; if not, the connection goes on by itself when it may."""
        now = self._loop.time()
        wait = max((rate.wait(now) for rate in self._owed), default=0.0)
        if wait and self._timer is None:
            self._timer = self._loop.call_later(wait, self._go_on)
        return not wait

    def passed(self) -> None:
        """One more has gone that may wait."""
        now = self._loop.time()
        for rate in self._owed:
            rate.spend(now)
        if self._total is not None:
            self._total.spend(now)

    def close(self) -> None:
        """The connection is over."""
        if self._timer is not None:
            self._timer.cancel()

    def _go_on(self) -> None:
        self._timer = None
        connection = self._connection
        connection.core.continue_deliveries()
        connection.react()
        self._wake(connection)
        if connection.wants_more is not None:
            connection.wants_more()
