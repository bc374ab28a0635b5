"""Sends copies of retained messages to one connection as fast as it takes them, in bounded memory.

A hundred thousand copies must neither end the connection for what waits for it nor hold up the event loop: a copy goes
out when the window or the socket has room for it, and only a few in one turn of the loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.local_subscriptions import LocalSubscriptions, Subscription
from edge.gateway.outgoing import outgoing_message
from edge.gateway.retained.order import Decision, Kind, LiveOrder
from edge.gateway.retained.reading import Reading, qos_of
from edge.gateway.retained.view import Retained
from edge.mqtt.errors import LocalProtocolError
from edge.mqtt.events import DeliveryOutcome
from edge.mqtt.states import State

log = logging.getLogger(__name__)

_PORTION = 100  # copies in one turn of the loop: about a millisecond
_PORTION_BYTES = (
    256 << 10
)  # of payload in one turn: it is in memory until the turn's end, whatever the socket takes


class Copies:
    """What is under way to one connection."""

    def __init__(
        self, connection: Connection, order: LiveOrder[Connection], local: LocalSubscriptions[Connection],
        counters: Counters, hurry: Callable[[], None],
    ) -> None:  # fmt: skip
        """Args: `hurry` asks for a sign of how far the downlink is."""
        self._hurry = hurry
        self._connection = connection
        self._order = order
        self._local = local
        self._counters = counters
        self._loop = asyncio.get_running_loop()
        self._readings: deque[Reading] = deque()
        self._next: Retained | None = None
        self._is_due = False
        self._waits = False

    def add(self, reading: Reading) -> None:
        """Send one filter's copies after those that are under way."""
        self._readings.append(reading)
        self._connection.wants_more = self.pump
        self.pump()

    def drop(self, filter: str | None = None) -> None:
        """Send no more of a filter's copies; or of any."""
        if self._readings and filter in (None, self._readings[0].filter):
            self._next = None
        self._readings = deque(one for one in self._readings if filter not in (None, one.filter))

    def pump(self) -> None:
        """Send what there is room for."""
        if self._connection.core.state is not State.CONNECTED:
            self.drop()
        size = sent = 0
        while self._readings and not self._waits:
            retained = self._look()
            if retained is None:
                if self._is_due:
                    break
                continue
            if not self._send(self._readings[0], retained):
                break
            self._next = None
            sent += 1
            size += len(retained.record.payload)
            if sent >= _PORTION or size >= _PORTION_BYTES:
                self._go_on_soon()
                break
        if sent:
            self._connection.changed()
        if not self._readings:
            self._connection.wants_more = None

    def _look(self) -> Retained | None:
        """The next copy; None where others are to have their turn, or a filter's copies are at their end."""
        if self._next is not None:
            return self._next
        try:
            self._next = next(self._readings[0].found)
        except StopIteration:
            self._readings.popleft()
            return None
        if self._next is None:
            self._go_on_soon()
        return self._next

    def _go_on_soon(self) -> None:
        if not self._is_due:
            self._is_due = True
            self._connection.changed()  # first what there is goes out, so that the socket can tell how it does
            self._loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        self._is_due = False
        self.pump()

    def _decided(self) -> None:
        self._waits = False
        self.pump()

    def _send(self, reading: Reading, retained: Retained) -> bool:
        """Send a copy, or pass over it; False when it has to wait."""
        connection = self._connection
        subscription = self._local.holders(reading.filter).get(connection)
        if subscription is None:
            return True
        qos = qos_of(retained, subscription, connection.client_id)
        if qos is None or (qos and connection.is_kept):
            return True  # The latter come by the log of its session.
        place = retained.partition, retained.offset
        decision = self._order.decide(
            reading.kind, connection, reading.since, reading.filter, retained.topic, *place
        )
        if decision is Decision.WAIT:
            self._waits = True
            self._order.when_decided(*place, self._decided)
            self._hurry()
            return False
        if decision is Decision.SKIP:
            return True
        if connection.is_slow or (qos and not connection.core.has_room):
            return False
        outflow = None if qos else connection.outflow  # at QoS 1 and 2, the core asks
        if outflow is not None and not outflow.is_open:
            return False
        if outflow is not None:
            outflow.passed()
        if self._deliver(subscription, retained, qos) and reading.kind is Kind.NEW:
            self._order.sent(connection, reading.filter, retained.topic, *place)
        return True

    def _deliver(self, subscription: Subscription, retained: Retained, qos: int) -> bool:
        identifier = subscription.subscription_id
        now = self._loop.time()
        try:
            # A copy has RETAIN=1 whatever Retain As Published says [MQTT-3.3.1-8] of 3.1.1.
            outcome = self._connection.core.deliver(
                outgoing_message(retained.record, now),
                qos,
                True,
                () if identifier is None else (identifier,),  # [MQTT-3.3.4-3]
                now,
            )
        except LocalProtocolError as error:
            self._counters.poison_records += 1
            log.warning("what is retained of %r is skipped: %s", retained.topic[:80], error)
            return False
        if outcome is DeliveryOutcome.SENT:
            self._counters.retained_copies += 1
        elif outcome is DeliveryOutcome.DROPPED_TOO_LARGE:
            self._counters.dropped_large += 1
        elif outcome is DeliveryOutcome.DROPPED_EXPIRED:
            self._counters.dropped_expired += 1
        return outcome is DeliveryOutcome.SENT
