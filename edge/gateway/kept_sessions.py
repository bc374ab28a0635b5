"""Connections as their sessions see them: what begins with a grant, who feeds it, and what the end takes along."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from contracts.session_event import APPLICATION, Granted
from edge.gateway.applications.applications import Applications
from edge.gateway.applications.feed import Start
from edge.gateway.connection import Connection
from edge.gateway.persistence.persistence import Persistence
from edge.gateway.sessions.flows import inherited_flows
from edge.gateway.shares.returning import Returning
from edge.gateway.subscribing import Subscribing
from edge.mqtt.events import DeliveryCompleted, DeliveryReceived
from edge.mqtt.inflight import Session
from edge.mqtt.limits import ServerLimits
from edge.mqtt.states import State


class KeptSessions:
    """Puts together what a connection needs of the parts that outlive it."""

    def __init__(
        self, subscribing: Subscribing, persistence: Persistence | None, applications: Applications,
        returning: Returning, limits: ServerLimits,
    ) -> None:  # fmt: skip
        """Args: `persistence` is None where sessions end with their connection."""
        self._subscribing = subscribing
        self._persistence = persistence
        self._applications = applications
        self._returning = returning
        self._limits = limits

    def resume(
        self, connection: Connection, granted: Granted, accept: Callable[[Session | None], None]
    ) -> None:
        """Make ready what a granted client's session has; then call back, at once or later, with its flows."""

        def is_there() -> bool:
            return connection.core.state is not State.CLOSED

        persistence = self._persistence
        if persistence is None or connection.seat is None or not connection.seat.is_persistent:
            flows = inherited_flows(granted, self._limits)
            self._subscribing.resume(connection, granted, lambda: accept(flows))
            return

        def ready(settled: Granted, attach: Callable[[], None]) -> None:
            if not is_there():
                return
            connection.is_kept = True

            def resumed() -> None:
                if is_there():
                    # Attached first: what the client sent behind its CONNECT may already end the connection again.
                    attach()
                    accept(inherited_flows(settled, self._limits))

            self._subscribing.resume(connection, settled, resumed)

        def device_ready(settled: Granted) -> None:
            sent = None if settled.is_sent_unknown else settled.sent
            ready(settled, lambda: persistence.attach(connection, sent))

        def application_ready(settled: Granted) -> None:
            def begin(start: Start) -> None:
                ready(settled, lambda: self._applications.attach(connection, start))

            self._applications.resume(connection, settled, begin)

        is_application = connection.seat.client_type == APPLICATION
        persistence.resume(granted, is_there, application_ready if is_application else device_ready)

    def leave(self, connection: Connection, is_kept: bool, done: Callable[[], None]) -> None:
        """Serve a connection's subscriptions no more; end them unless its session keeps them, then call back."""

        def left() -> None:
            if not is_kept:
                self._returning.leave(connection)
            done()

        self._subscribing.leave(connection, is_kept, left)

    def detach(self, connection: Connection, settled: Callable[[], None]) -> Sequence[int] | None:
        """Deliver nothing more to a kept session's connection, and call back when Kafka has all acknowledgements.

        Returns:
            The offsets of what was sent and not acknowledged; None where nothing was delivered yet.
        """
        feeding = self._feeding(connection)
        if feeding is None:
            settled()
            return None
        return feeding.detach(connection, settled)

    def completed(self, connection: Connection, event: DeliveryCompleted) -> None:
        """A delivery is over, whether it was fed or not."""
        if (feeding := self._feeding(connection)) is not None:
            feeding.completed(connection, event)

    def received(self, connection: Connection, event: DeliveryReceived) -> None:
        """PUBREC came for what was fed."""
        if (feeding := self._feeding(connection)) is not None:
            feeding.received(connection, event)

    def wake(self, connection: Connection) -> None:
        """A connection that was held to its rate may be sent more."""
        if connection.is_kept and (feeding := self._feeding(connection)) is not None:
            feeding.pump(connection)

    def _feeding(self, connection: Connection) -> Persistence | Applications | None:
        """What delivers to a client whose session outlives its connection."""
        if connection.seat is not None and connection.seat.client_type == APPLICATION:
            return self._applications
        return self._persistence
