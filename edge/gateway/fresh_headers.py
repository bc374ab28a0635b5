"""The `routes` headers of what a thread publishes (wills, delayed messages), behind the barrier of I2."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from contracts import retained_record
from contracts.publish_record import MAX_ROUTES_BYTES
from edge.gateway.fresh_routes import FreshRoutes
from edge.gateway.shares.view import ShareView
from edge.gateway.state_reading import StaleStateError

_STEP = 10.0  # seconds for the event loop to answer

Header = tuple[str, bytes]


class RoutesTooLargeError(Exception):
    """More fresh routes match than a record can carry; until the router's table has some of them, it must wait."""


_Answer = tuple[list[Header | RoutesTooLargeError | None], Header]


class FreshHeaders:
    """Asks the event loop, which owns the fresh routes."""

    def __init__(
        self, view: ShareView, fresh: FreshRoutes, read_header: Callable[[], Header] | None = None
    ) -> None:
        """Prepare to ask.

        Args:
            view: Brings the gateway's view of the subscription log up to date.
            fresh: The fresh routes.
            read_header: Tells how far that log has been read, as a header of retained records.
        """
        self._view = view
        self._fresh = fresh
        self._read_header = read_header or (lambda: retained_record.subscriptions_header({}))
        self.subscriptions_read = retained_record.subscriptions_header({})
        """The same as of the last answer."""
        self._loop = asyncio.get_running_loop()

    def of(self, messages: Sequence[tuple[str, int]]) -> list[Header | RoutesTooLargeError | None]:
        """The `routes` header of each (topic, QoS): of all subscriptions that were acknowledged before the call.

        Raises:
            KafkaException: Kafka does not answer.
            StaleStateError: The gateway's view of the log is not to be had.
        """
        if not messages:
            return []
        self._view.catch_up()
        answer: Future[_Answer] = Future()
        self._loop.call_soon_threadsafe(
            _answer, answer, lambda: ([self._header(*one) for one in messages], self._read_header())
        )
        try:
            headers, self.subscriptions_read = answer.result(_STEP)
        except TimeoutError:
            raise StaleStateError("the event loop does not answer") from None
        return headers

    def close(self) -> None:
        """Let go of Kafka, when the thread has ended."""
        self._view.close()

    def _header(self, topic: str, qos: int) -> Header | RoutesTooLargeError | None:
        header = self._fresh.header(topic, qos)
        return RoutesTooLargeError() if header and len(header[1]) > MAX_ROUTES_BYTES else header


def _answer(
    future: Future[_Answer],
    ask: Callable[[], _Answer],
) -> None:
    try:
        future.set_result(ask())
    except Exception as error:  # the thread that waits has to hear of it
        future.set_exception(error)
