"""Publishes this gateway's values at a steady interval, and which clients come and go."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from contracts.errors import TopicError
from contracts.topics import validate_topic
from contracts.wall_clock import epoch_ms
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.gathering import Gathering
from edge.gateway.system_topics.client_events import Visit, word
from edge.gateway.system_topics.values import Snapshot, values_of
from edge.mqtt.events import ConnectionEnded
from edge.mqtt.packets import Publish
from edge.mqtt.states import State
from telemetry.version import installed_version

log = logging.getLogger(__name__)
_GATHER = 0.1
"""Seconds between publications of clients' comings and goings: each round costs Kafka a look at the subscription log's
end and an append to each partition, whether it tells of one client or of two hundred."""


class SystemTopics:
    """All of it at QoS 0: while Kafka stalls it gives way, as what clients send at QoS 0 does."""

    def __init__(
        self, node: str, interval: float, with_events: bool, counters: Counters,
        publish: Callable[[Publish], None], nodes: Callable[[], frozenset[str] | None],
        subscriptions: Callable[[], int],
    ) -> None:  # fmt: skip
        """Prepare to publish.

        Args:
            node: This gateway.
            interval: Seconds between two publications of its values; 0 for none.
            with_events: Whether to tell of clients.
            counters: The gateway's.
            publish: Takes a message on its way to the router.
            nodes: Tells the gateways that live; None while nobody knows.
            subscriptions: Tells how many there are here.
        """
        self._node, self._interval, self._with_events = node, interval, with_events
        self._counters = counters
        self._publish = publish
        self._nodes = nodes
        self._subscriptions = subscriptions
        self._version = installed_version()
        self._loop = asyncio.get_running_loop()
        self._began_at = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._visits: dict[Connection, Visit] = {}
        self._most = 0
        self._events: Gathering[Publish] = Gathering(self.publish_events, _GATHER)

    @property
    def connections(self) -> int:
        """Clients that are connected here."""
        return len(self._visits)

    def start(self) -> None:
        """Publish the values now, and then at the interval."""
        if self._interval:
            self._tick()

    def stop(self) -> None:
        """Publish no more values; those who go are still told of."""
        if self._timer:
            self._timer.cancel()

    def publish_events(self) -> None:
        """Publish what is to be told of clients now."""
        self._events.begin_round()
        while self._events.items:
            self._publish(self._events.items.popleft())

    def connected(self, connection: Connection) -> None:
        """A client was let in."""
        seat = connection.seat
        if seat is None or connection.core.state is not State.CONNECTED:
            return
        visit = self._visits[connection] = Visit(
            connection.client_id, connection.user_name, connection.host, connection.core.version,
            connection.keep_alive, seat.clean_start, seat.expiry, epoch_ms(),
        )  # fmt: skip
        self._most = max(self._most, len(self._visits))
        log.info(
            "client %r has come from %s",
            visit.client_id[:80],
            visit.address,
            extra={"client": visit.client_id},
        )
        self._tell(visit, "connected", visit.connected())

    def ended(self, connection: Connection, event: ConnectionEnded) -> None:
        """A connection is over; one that was never let in is passed over."""
        visit = self._visits.pop(connection, None)
        if visit is not None:
            log.info(
                "client %r has gone: %s",
                visit.client_id[:80],
                word(event.reason_code),
                extra={"client": visit.client_id},
            )
            self._tell(visit, "disconnected", visit.disconnected(event.reason_code, epoch_ms()))

    def _tell(self, visit: Visit, event: str, payload: bytes) -> None:
        if not self._with_events:
            return
        topic = visit.topic(self._node, event)
        try:
            validate_topic(topic)
        except TopicError:
            return  # a client id that nearly fills a topic by itself
        self._events.add(Publish(topic, payload))

    def _tick(self) -> None:
        self._timer = self._loop.call_later(self._interval, self._tick)
        snapshot = Snapshot(
            self._node, self._version, sorted(self._nodes() or ()), self._loop.time() - self._began_at,
            time.time(), len(self._visits), self._most, self._subscriptions(), self._counters,
        )  # fmt: skip
        for topic, payload in values_of(snapshot):
            self._publish(Publish(topic, payload.encode(), retain=True))
