"""This gateway's own clients' subscriptions: from a filter to everyone here who holds it.

Pure data. A routed record names the filter that matched, so delivery is one look-up. What else here matches its topic
is found as the router finds it: one look-up for each shape in use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, TypeVar

from contracts.shared_record import is_group
from contracts.topics import Shape, candidate_keys, shape_of

Subscriber = TypeVar("Subscriber")

_NOBODY: Mapping[object, Subscription]
_REMEMBERED = 10_000  # topics whose filters are kept until a filter comes or goes
_LONGEST_REMEMBERED = 512  # characters of such a topic, so that they are some MB at most


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
    by_administrator: bool = False
    """Whether an administrator made it, whatever the client's rules."""

    def is_newer_than(self, partition: int, offset: int) -> bool:
        """Whether what stands there in `tbmq.msg.all` was published before the subscription was made."""
        floors = self.floors
        return partition < len(floors) and offset <= floors[partition]


FindSubscriptions = Callable[[str | None, str], Mapping[str, Subscription]]
"""By what one client gets a message now; topic, the record's filter → as `LocalSubscriptions.counting`."""

_NOBODY = MappingProxyType({})


class LocalSubscriptions(Generic[Subscriber]):
    """Filter → subscriber → subscription, and each subscriber's filters."""

    def __init__(self) -> None:
        self._by_filter: dict[str, dict[Subscriber, Subscription]] = {}
        self._filters: dict[Subscriber, set[str]] = {}
        self._shapes: Counter[Shape] = Counter()
        self._matching: dict[str, tuple[str, ...]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_filter.values()))

    def add(self, subscriber: Subscriber, filter: str, subscription: Subscription) -> bool:
        """Add or replace [MQTT-3.8.4-3]; True when nobody here held the filter before."""
        holders = self._by_filter.get(filter)
        first = holders is None
        if holders is None:
            holders = self._by_filter[filter] = {}
            self._index(filter, 1)
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
            self._index(filter, -1)
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

    def matching(self, topic: str) -> tuple[str, ...]:
        """The filters that are held here and match a topic, those of share groups left out."""
        found = self._matching.get(topic)
        if found is None:
            keys = () if is_group(topic) else candidate_keys(topic, self._shapes)
            found = tuple(key for key in keys if key in self._by_filter)
            if len(topic) <= _LONGEST_REMEMBERED:
                if len(self._matching) >= _REMEMBERED:
                    self._matching.clear()
                self._matching[topic] = found
        return found

    def counting(self, subscriber: Subscriber, topic: str | None, filter: str) -> Mapping[str, Subscription]:
        """A subscriber's subscriptions by which it gets a message, by filter.

        Args:
            subscriber: Who.
            topic: The message's; None if no filter counts but that by which it came.
            filter: By which it came. What comes by a share group counts for that subscription alone; else all that
                match do, as the record that came stands for those of the others.
        """
        filters = (filter,) if topic is None or is_group(filter) else self.matching(topic)
        holders = ((one, self.holders(one)) for one in filters)
        return {filter: held[subscriber] for filter, held in holders if subscriber in held}

    def _index(self, filter: str, change: int) -> None:
        """A filter came, or is gone."""
        self._matching.clear()
        shape = None if is_group(filter) else shape_of(filter)
        if shape is not None:
            self._shapes[shape] += change
            if not self._shapes[shape]:
                del self._shapes[shape]
