"""The connections that are let in, or about to be, with what they are let in as; and what ends that."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator

from edge.gateway.access.identities import Identity
from edge.gateway.connection import Connection
from edge.mqtt.reason_codes import ReasonCode
from edge.mqtt.states import State

_LONGEST_WAIT = 3_600.0  # seconds between looks at the clock of the day, which may be set meanwhile


class Admitted:
    """Connection → its identity, from the proof on to the end."""

    def __init__(self, drop_denied: Callable[[Connection], None]) -> None:
        """`drop_denied`: ends those of a connection's subscriptions that its permissions allow no more."""
        self._drop_denied = drop_denied
        self._identities: dict[Connection, Identity] = {}
        self._timers: dict[Connection, asyncio.TimerHandle] = {}
        self._loop = asyncio.get_running_loop()

    def __iter__(self) -> Iterator[tuple[Connection, Identity]]:
        return iter(list(self._identities.items()))

    def get(self, connection: Connection) -> Identity | None:
        """What a connection was let in as."""
        return self._identities.get(connection)

    def add(self, connection: Connection, identity: Identity) -> None:
        """A client has proven who it is, for the first time or again."""
        self._identities[connection] = identity
        self._forget_timer(connection)
        connection.permissions = identity.permissions
        if identity.expires_at is not None:
            self._expire(connection, identity.expires_at)

    def change(self, connection: Connection, identity: Identity) -> None:
        """What it may do has changed: what it does no more is ended."""
        self.add(connection, identity)
        permissions = connection.permissions
        if permissions is None:
            return
        if connection.will is not None and permissions.publish(connection.will.topic) is None:
            connection.will = None
        self._drop_denied(connection)

    def remove(self, connection: Connection) -> None:
        """It is over."""
        self._identities.pop(connection, None)
        self._forget_timer(connection)

    def end(self, connection: Connection, reason: ReasonCode) -> None:
        """Send a client away, wherever it stands."""
        if connection.core.state is State.CONNECTED:
            connection.disconnect(reason)
        else:
            connection.refuse(reason)

    def close(self) -> None:
        """Wait for no one's end any more."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _expire(self, connection: Connection, expires_at: float) -> None:
        left = expires_at - time.time()
        if left <= 0:
            self._timers.pop(connection, None)
            self.end(connection, ReasonCode.NOT_AUTHORIZED)
        else:
            self._timers[connection] = self._loop.call_later(
                min(left, _LONGEST_WAIT), self._expire, connection, expires_at
            )

    def _forget_timer(self, connection: Connection) -> None:
        if (timer := self._timers.pop(connection, None)) is not None:
            timer.cancel()
