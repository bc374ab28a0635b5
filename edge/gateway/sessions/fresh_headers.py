"""The `routes` headers of what this gateway's owner publishes, behind a barrier as that of clients' publishes (I2)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future

from edge.gateway.fresh_routes import FreshRoutes
from edge.gateway.shares.view import ShareView
from edge.gateway.state_reading import StaleStateError

_PATIENCE = 10.0  # seconds for the event loop to answer


class OwnersFreshHeaders:
    """For the owner's thread; fresh routes belong to the event loop's."""

    def __init__(self, view: ShareView, fresh: FreshRoutes) -> None:
        """Args: `view` brings the gateway's view of subscriptions up to date; used by this thread alone."""
        self._view = view
        self._fresh = fresh
        self._loop = asyncio.get_running_loop()

    def find(self, messages: Sequence[tuple[str, int]]) -> list[tuple[str, bytes] | None]:
        """The header of each message (topic, QoS), or None, with all subscriptions that there are by now.

        Raises:
            KafkaException, StaleStateError: Kafka does not tell them, or all is about to stop.
        """
        if not messages:
            return []
        self._view.catch_up()
        found: Future[list[tuple[str, bytes] | None]] = Future()
        self._loop.call_soon_threadsafe(
            lambda: found.set_result([self._fresh.header(topic, qos) for topic, qos in messages])
        )
        try:
            return found.result(_PATIENCE)
        except TimeoutError:
            raise StaleStateError("the event loop does not answer") from None

    def close(self) -> None:
        """Let go of Kafka, when the thread has ended."""
        self._view.close()
