"""Which feed serves which connection, and what is told to it; whoever makes the feeds begins and ends them."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from edge.gateway.connection import Connection
from edge.mqtt.events import DeliveryCompleted, DeliveryReceived


class Fed(Protocol):
    """What delivers to one client whose session outlives its connection."""

    def completed(self, event: DeliveryCompleted) -> None:
        """A delivery is over."""

    def received(self, event: DeliveryReceived) -> None:
        """PUBREC came."""

    def pump(self) -> None:
        """Its client may be sent more."""


FeedT = TypeVar("FeedT", bound=Fed)


class Feeds(Generic[FeedT]):
    """The feeds of one kind."""

    def __init__(self) -> None:
        self._feeds: dict[Connection, FeedT] = {}

    def completed(self, connection: Connection, event: DeliveryCompleted) -> None:
        """A delivery is over, whether one of a feed or not."""
        if (feed := self._feeds.get(connection)) is not None:
            feed.completed(event)

    def received(self, connection: Connection, event: DeliveryReceived) -> None:
        """PUBREC came for a delivery of a feed."""
        if (feed := self._feeds.get(connection)) is not None:
            feed.received(event)

    def pump(self, connection: Connection) -> None:
        """A client may be sent more."""
        if (feed := self._feeds.get(connection)) is not None:
            feed.pump()
