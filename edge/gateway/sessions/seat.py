"""A seat: one connection's way through the cluster's sessions, seen from its gateway.

    HELD ──► ASKING ──► CONNECTED ──► ENDING ──► OVER
                                        │ ▲
                                        ▼ │
                                     LINGERING (the will waits)

HELD waits until an older connection of the same client here has ended; ASKING for the owner's answer; ENDING until all
that the connection has written is in Kafka. `ended` goes to the owner on the way out of ENDING, so whoever is let in
next comes after all of it: the will, the tombstones, the publishes.
"""

from __future__ import annotations

import asyncio
import uuid
from enum import Enum, auto
from itertools import count

from contracts.session_event import Subscription
from edge.gateway.applications.client_types import ClientTypes
from edge.gateway.connection import Connection
from edge.gateway.limits.longest import Longest
from edge.mqtt.packets import Connect

# To ask the system for random bytes at each connection takes longer than all else that a seat needs.
_LIFE = uuid.uuid4().hex
_NUMBERS = count(1)


class Phase(Enum):
    """Where a seat stands."""

    HELD = auto()
    ASKING = auto()
    CONNECTED = auto()
    ENDING = auto()
    LINGERING = auto()
    OVER = auto()


class Seat:
    """What a gateway has to remember of a connection for the sake of its session."""

    __slots__ = (
        "after", "before", "clean_start", "client_id", "client_type", "connection", "expiry", "id", "is_assigned",
        "is_persistent", "is_unfed", "leaves_will", "linger", "longest", "offer", "phase", "sent", "subscriptions",
        "timer", "unsettled", "warning",
    )  # fmt: skip

    def __init__(
        self,
        connection: Connection,
        packet: Connect,
        is_assigned: bool,
        persistence: bool,
        types: ClientTypes,
        longest: Longest,
    ) -> None:
        self.id = f"{_LIFE}-{next(_NUMBERS)}"
        """The connection's name in the cluster: no other ever has it."""
        self.connection = connection
        self.client_id = connection.client_id
        self.is_assigned = is_assigned
        """Whether the server chose the client id."""
        self.clean_start = packet.clean_start
        self.client_type = types.of(self.client_id)
        self.expiry = 0
        if persistence and types.can_keep(self.client_id):
            self.expiry = longest.of_connect(packet)
        """Seconds that the session outlives the connection."""
        self.is_persistent = self.expiry > 0
        """Whether the session was asked to, or what it is owed was kept for it (`goes_on`). A DISCONNECT can change the
        first back, but not into it."""
        self.warning = types.warning(self.client_id, self.is_persistent)
        """What whoever looks at the session should know of it."""
        self.phase = Phase.HELD
        self.offer = packet.properties.session_expiry_interval
        """What the client asked for in CONNECT, MQTT 5."""
        self.longest = longest.named
        """What a DISCONNECT may ask for."""
        self.before: Seat | None = None
        """Whom it waits for, while HELD."""
        self.after: Seat | None = None
        """Who waits for it."""
        self.leaves_will = False
        """Whether a will that would have to wait is left to the owner."""
        self.sent: tuple[int, ...] = ()
        """What was sent to it and not acknowledged, by offset in the persisted log or in an APPLICATION's own topic."""
        self.is_unfed = True
        """Whether it has been given nothing yet that is kept for it, so that what was sent before stands."""
        self.linger = 0
        """Seconds that the will still has to wait when ENDING is over."""
        self.unsettled = 0
        """What of the connection is not in Kafka yet."""
        self.timer: asyncio.TimerHandle | None = None
        self.subscriptions: tuple[Subscription, ...] = ()
        """Of a grant whose last part has not come yet."""

    def goes_on(self) -> None:
        """Its session was there: what was kept for it is served as before, though it may end with this connection."""
        self.is_persistent = True

    def prolong(self, expiry: int) -> None:
        """A DISCONNECT said how long the session is to last."""
        if self.is_persistent:
            self.expiry = min(expiry, self.longest)
