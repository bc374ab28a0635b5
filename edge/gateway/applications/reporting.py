"""Tells the owners of sessions how far applications are.

That PUBREC came is told at once, since PUBREL waits for it. What was acknowledged gathers for a while: if it gets lost
with the gateway, the client is asked once more. Each event says all there is to say, so a later one replaces those
before it; the owner applies a connection's last one before anything of the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from confluent_kafka import KafkaError, Message

from contracts.session_event import ApplicationProgress, SessionEvent
from edge.gateway.appender import Durable
from edge.gateway.applications.reading import Reading

INTERVAL = 0.1
"""Seconds for which acknowledgements gather; what a crash of the gateway makes come again, with DUP."""
AT_MOST = 500
"""Acknowledgements of one application that gather, and applications that are told of in one interval: the rest wait
for the next, so that ten thousand busy ones cost the owners no more than a few thousand events a second."""


class Reported(Protocol):
    """Whose progress is told."""

    client_id: str
    connection_id: str
    reading: Reading


class Reporting:
    """For all applications of this gateway."""

    def __init__(self, tell: Callable[[str, SessionEvent, Durable | None], None]) -> None:
        """Args: `tell` appends a session's event for its owner; in the order of the calls for each client."""
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        self._gathered: dict[Reported, int] = {}
        self._noted: dict[Reported, list[Callable[[], None]]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def gather(self, feed: Reported) -> None:
        """Something is done with."""
        count = self._gathered.get(feed, 0) + 1
        self._gathered[feed] = count
        if count >= AT_MOST:
            self._report(feed)
        elif self._timer is None:
            self._timer = self._loop.call_later(INTERVAL, self._report_some)

    def note(self, feed: Reported, durable: Callable[[], None]) -> None:
        """PUBREC came; `durable` is called when that can get lost no more."""
        if not self._noted:
            self._loop.call_soon(self._report_noted)
        self._noted.setdefault(feed, []).append(durable)

    def settle(self, feed: Reported) -> None:
        """Its connection is over: tell what is left to tell."""
        if feed in self._gathered or feed in self._noted:
            self._report(feed)

    def _report_some(self) -> None:
        self._timer = None
        for feed in list(self._gathered)[:AT_MOST]:
            self._report(feed)
        if self._gathered:
            self._timer = self._loop.call_later(INTERVAL, self._report_some)

    def _report_noted(self) -> None:
        for feed in list(self._noted):
            self._report(feed)

    def _report(self, feed: Reported) -> None:
        self._gathered.pop(feed, None)
        waiting = self._noted.pop(feed, ())
        progress = ApplicationProgress(feed.connection_id, feed.reading.progress())

        def durable(error: KafkaError | None, _: Message) -> None:
            if error is None:  # Else it is as if this gateway had died: the client is asked once more.
                for callback in waiting:
                    callback()

        self._tell(feed.client_id, progress, durable if waiting else None)
