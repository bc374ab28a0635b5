"""This gateway's own clients' subscriptions: from a filter to everyone here who holds it.

Pure data. A routed record names the filter that matched, so delivery is one look-up; no topic is matched here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, TypeVar

Subscriber = TypeVar("Subscriber")

_NOBODY: Mapping[object, Subscription]


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a client asked for with one filter."""

    qos: int
    """Maximum QoS granted."""
    no_local: bool = False
    """Not to be sent what the client itself published."""
    retain_as_published: bool = False
    """Keep the RETAIN flag as published."""
    subscription_id: int | None = None
    """MQTT 5 identifier to send along."""
    floors: tuple[int, ...] = ()
    """In a session that outlives its connection: the highest offset that was seen of each partition of `tbmq.msg.all`
    when the client subscribed. What stands there or before was published before."""


FindSubscription = Callable[[str], Subscription | None]
"""What one client asked for with a filter; None when it does not hold it any more."""

_NOBODY = MappingProxyType({})


class LocalSubscriptions(Generic[Subscriber]):
    """Filter → subscriber → subscription, and each subscriber's filters."""

    def __init__(self) -> None:
        self._by_filter: dict[str, dict[Subscriber, Subscription]] = {}
        self._filters: dict[Subscriber, set[str]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_filter.values()))

    def add(self, subscriber: Subscriber, filter: str, subscription: Subscription) -> bool:
        """Add or replace [MQTT-3.8.4-3]; True when nobody here held the filter before."""
        holders = self._by_filter.get(filter)
        first = holders is None
        if holders is None:
            holders = self._by_filter[filter] = {}
        holders[subscriber] = subscription
        self._filters.setdefault(subscriber, set()).add(filter)
        return first

    def holds(self, subscriber: Subscriber, filter: str) -> bool:
        """Whether the subscriber has exactly this filter."""
        return filter in self._filters.get(subscriber, ())

    def remove(self, subscriber: Subscriber, filter: str) -> bool:
        """Remove one the subscriber holds; True when nobody here holds the filter any more."""
        self._filters[subscriber].discard(filter)
        holders = self._by_filter[filter]
        del holders[subscriber]
        if not holders:
            del self._by_filter[filter]
        return not holders

    def filters(self, subscriber: Subscriber) -> list[str]:
        """The filters of one subscriber."""
        return list(self._filters.get(subscriber, ()))

    def drop(self, subscriber: Subscriber) -> Iterator[tuple[str, bool]]:
        """Remove a subscriber; yields each filter, and whether nobody here holds it any more."""
        for filter in self._filters.get(subscriber, set()).copy():
            yield filter, self.remove(subscriber, filter)
        self._filters.pop(subscriber, None)

    def holders(self, filter: str) -> Mapping[Subscriber, Subscription]:
        """Everyone here who holds a filter."""
        return self._by_filter.get(filter, _NOBODY)  # type: ignore[arg-type]
