"""The rates of this gateway's clients: each connection gets those of its client id when it is let in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from contracts.session_event import DEVICE
from edge.gateway.limits.keyed_rates import KeyedRates
from edge.gateway.limits.outflow import Outflow
from edge.gateway.limits.rate import Rate, Window
from edge.gateway.limits.settings import LimitSettings

if TYPE_CHECKING:
    from edge.gateway.connection import Connection


class ClientRates:
    """Hands them out, and takes them back."""

    def __init__(self, settings: LimitSettings, wake: Callable[[Connection], None]) -> None:
        """Args: `wake` has whoever feeds a connection go on."""
        self._wake = wake
        self._incoming = _keyed(settings.incoming_rate)
        self._outgoing = _keyed(settings.outgoing_rate)
        self._stored = _keyed(settings.stored_rate)
        windows = settings.total_rate
        self._total = Rate(windows) if windows else None
        self._loop = asyncio.get_running_loop()

    def accepted(self, connection: Connection) -> None:
        """A client was let in, and nothing that it sent behind its CONNECT is read yet."""
        now = self._loop.time()
        total = self._total
        client_id = connection.client_id
        connection.incoming = () if total is None else (total,)
        if self._incoming is not None:
            connection.incoming = (self._incoming.of(client_id, now), *connection.incoming)
        rates: tuple[Rate, ...] = ()
        if self._outgoing is not None:
            rates = (self._outgoing.of(client_id, now),)
        owed = rates
        if self._stored is not None and _is_persistent_device(connection):
            owed = (*rates, self._stored.of(client_id, now))
        if owed or total is not None:
            connection.outflow = Outflow(connection, rates, owed, total, self._wake)
            connection.core.pace(connection.outflow)

    def ended(self, connection: Connection) -> None:
        """A connection is over; its client may be back soon."""
        if connection.outflow is not None:
            connection.outflow.close()
        now = self._loop.time()
        for rates in (self._incoming, self._outgoing, self._stored):
            if rates is not None:
                rates.keep(connection.client_id, now)


def _keyed(windows: Sequence[Window]) -> KeyedRates | None:
    return KeyedRates(windows) if windows else None


def _is_persistent_device(connection: Connection) -> bool:
    return connection.is_kept and connection.seat is not None and connection.seat.client_type == DEVICE


def open_rates(settings: LimitSettings, wake: Callable[[Connection], None]) -> ClientRates | None:
    """The rates, or None where none is limited."""
    windows = (settings.incoming_rate, settings.outgoing_rate, settings.stored_rate, settings.total_rate)
    return ClientRates(settings, wake) if any(windows) else None
