"""The parts of a gateway by whose state one sees how it is."""

from __future__ import annotations

from collections.abc import Callable, Sized
from dataclasses import dataclass

from edge.gateway.appender import Appender
from edge.gateway.ingress import Ingress
from edge.gateway.metrics.readings import Readings
from edge.gateway.probing import Probing
from edge.gateway.pulse import Pulse


@dataclass(frozen=True)
class Signs:
    """What readings are taken of."""

    appender: Appender
    ingress: Ingress
    probing: Probing
    pulse: Pulse
    subscriptions: Sized
    retained: Sized
    fresh: Sized
    connections: Callable[[], int]

    def readings(self) -> Readings:
        """Take them; call it in the event loop."""
        return Readings(
            connections=self.connections(),
            subscriptions=len(self.subscriptions),
            retained_messages=len(self.retained),
            held_bytes=self.ingress.held_bytes,
            unacknowledged_records=self.appender.pending,
            fresh_routes=len(self.fresh),
            unanswered_probes=self.probing.outstanding,
            router_backlog=self.probing.backlog,
            loop_delay=self.pulse.delay,
        )
