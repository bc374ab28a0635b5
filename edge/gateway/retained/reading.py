"""One filter's retained messages for one client: asked for at its SUBSCRIBE, and found bit by bit afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice, takewhile

from edge.gateway.connection import Connection
from edge.gateway.local_subscriptions import Subscription
from edge.gateway.retained.newcomers import Newcomer
from edge.gateway.retained.order import Kind
from edge.gateway.retained.view import Retained, RetainedView

_AT_ONCE = 100
"""Copies of one filter that are looked up at its SUBSCRIBE."""


@dataclass(slots=True, eq=False)
class Wish:
    """A filter of a SUBSCRIBE whose retained messages are wanted."""

    position: int
    """Its place in the packet."""
    filter: str
    """The filter."""
    since: int
    """The moment from which on it was served (`LiveOrder.now`)."""
    newcomer: Newcomer[Connection] | None
    """Where the subscription is new."""

    @property
    def kind(self) -> Kind:
        """What its copies are for."""
        return Kind.AGAIN if self.newcomer is None else Kind.NEW


@dataclass(slots=True, eq=False)
class Reading:
    """The copies of one filter that are still to be looked at."""

    filter: str
    """The filter."""
    kind: Kind
    """What the copies are for."""
    since: int
    """As `Wish.since`."""
    found: Iterator[Retained | None]
    """What is retained; None now and then, as `TopicIndex.find` has it."""


def read(view: RetainedView, filter: str) -> Iterator[Retained | None]:
    """What is retained now of the topics that match a filter; None now and then.

    The first are looked up at once, so that few are those of this moment, whenever they are asked for. Of many, those
    that are replaced or removed before their turn are left out: what comes in their place comes live.
    """
    walk, read_at = view.find(filter), view.sequence
    first = list(islice(takewhile(lambda found: found is not None, walk), _AT_ONCE))
    later = (
        found
        for found in walk
        if found is None or (found.sequence <= read_at and view.get(found.topic) is found)
    )
    return chain(first, later)


def qos_of(retained: Retained, subscription: Subscription, client_id: str) -> int | None:
    """The QoS at which a subscriber gets a copy; None where it gets none."""
    record = retained.record
    if subscription.no_local and record.client_id == client_id:
        return None  # [MQTT-3.8.3-3]
    return min(record.qos, subscription.qos)
