"""What the live path has brought, so that retained copies and live messages of a topic never go backwards (I9).

A copy and a live message of one topic are compared by their publishes' places in `tbmq.msg.all`. The downlink brings
what is published there in order, but later than the view may know of it. So, for one subscriber and one filter:

* a copy is not sent when a live message of its topic that is newer has come since the SUBSCRIBE; or before, if that one
  is to be retained too, and the view only does not know it yet;
* behind a copy for a new subscription, live messages of its topic that are not newer than it are dropped: they were
  published before the SUBACK;
* a copy for a subscription that was there before waits until the downlink has passed its place, as no live message may
  be lost.

Pure. Subscribers are whatever the caller has; what is kept ends when the downlink has passed, or is bounded.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from enum import Enum, auto
from functools import partial
from typing import Generic, NamedTuple, TypeVar

Subscriber = TypeVar("Subscriber")
Held = TypeVar("Held")

_REMEMBERED = 10_000
"""(filter, topic) of which the newest live message is remembered, beside as many as there are retained messages."""


class Kind(Enum):
    """Why a copy is to be sent."""

    NEW = auto()
    """The subscription is new."""
    AGAIN = auto()
    """It was made again [MQTT-3.8.4-4]."""
    MISSED = auto()
    """It is new, and the message was published while it was being made: it may come live, or not."""


class Decision(Enum):
    """What to do with a copy."""

    SEND = auto()
    SKIP = auto()
    """Something as new has come."""
    WAIT = auto()
    """Ask again when the message itself has come, or the downlink has passed its place (`when_decided`)."""


class _Came(NamedTuple):
    partition: int
    offset: int
    tick: int
    retained: int
    """The place of the newest that is to be retained; -1 where none is known."""


class LiveOrder(Generic[Subscriber]):
    """Knows how far the downlink is, and what it brought lately."""

    def __init__(self, retained_count: Callable[[], int]) -> None:
        """Args: `retained_count` tells how many messages are retained, which bounds what is remembered."""
        self._retained_count = retained_count
        self._reached: dict[int, int] = {}
        self._tick = 0
        self._came: dict[tuple[str, str], _Came] = {}  # by filter and topic
        self._floors: dict[tuple[Subscriber, str], dict[str, tuple[int, int]]] = {}
        self._waiting: dict[int, list[tuple[int, int, Callable[[], None]]]] = {}  # heaps, by partition
        self._asking: dict[tuple[int, int], list[Callable[[], None]]] = {}  # by place
        self._number = 0

    @property
    def floors(self) -> int:
        """For how many subscriptions live messages are held against copies."""
        return len(self._floors)

    def now(self) -> int:
        """A moment: what comes after it, came after it."""
        self._tick += 1
        return self._tick

    # what the downlink brings

    def reached(self, partition: int, offset: int) -> None:
        """The downlink is at this place of `tbmq.msg.all`: what stands before it has come."""
        if offset <= self._reached.get(partition, -1):
            return
        self._reached[partition] = offset
        if waiting := self._waiting.get(partition):
            while waiting and waiting[0][0] < offset:
                heapq.heappop(waiting)[2]()

    def admit(
        self, partition: int, offset: int, filter: str, topic: str, is_retained: bool,
        holders: Mapping[Subscriber, Held],
    ) -> Mapping[Subscriber, Held]:  # fmt: skip
        """A live message came that is no repeat; returns those of the filter's holders whom it is for."""
        self._tick += 1
        came = self._came
        before = came.pop((filter, topic), None)  # so that the oldest stands first
        retained = offset if is_retained else -1 if before is None else before.retained
        came[filter, topic] = _Came(partition, offset, self._tick, retained)
        if len(came) > _REMEMBERED + self._retained_count():
            del came[next(iter(came))]
        if not self._floors:
            return holders
        return {
            subscriber: held
            for subscriber, held in holders.items()
            if not self._is_below(subscriber, filter, topic, partition, offset)
        }

    def delivered(self, partition: int, offset: int) -> None:
        """What `admit` let through has been delivered: whoever waited for that very message may ask again."""
        if self._asking:
            self._ask_again(partition, offset)

    def _is_below(self, subscriber: Subscriber, filter: str, topic: str, partition: int, offset: int) -> bool:
        floor = self._floors.get((subscriber, filter), {}).get(topic)
        return floor is not None and floor[0] == partition and offset <= floor[1]

    # what is to be sent

    def decide(
        self, kind: Kind, subscriber: Subscriber, since: int, filter: str, topic: str, partition: int,
        offset: int,
    ) -> Decision:  # fmt: skip
        """What to do with a copy.

        Args:
            kind: What it is for.
            subscriber: For whom.
            since: The moment (`now`) from which on the subscription was served.
            filter: Of the subscription.
            topic: Of the message.
            partition: Where it was published.
            offset: Its place there.
        """
        came = self._came.get((filter, topic))
        if came is not None and came.partition == partition:
            if kind is Kind.AGAIN and came.retained > offset:
                return Decision.SKIP
            if came.tick > since and came.offset > offset:
                return Decision.SKIP
            if came.offset == offset and kind is Kind.AGAIN:
                return Decision.SEND
            if came.offset == offset and came.tick > since:
                return Decision.SKIP
        has_passed = self._reached.get(partition, -1) > offset
        if kind is Kind.NEW or has_passed or self._is_below(subscriber, filter, topic, partition, offset):
            return Decision.SEND
        return Decision.WAIT

    def when_decided(self, partition: int, offset: int, ask: Callable[[], None]) -> None:
        """Call back, once, when it is worth while to ask again about a copy of this place; not before this returns."""
        asking = self._asking.setdefault((partition, offset), [])
        asking.append(ask)
        if len(asking) == 1:
            self._when_passed(partition, offset, partial(self._ask_again, partition, offset))

    def _ask_again(self, partition: int, offset: int) -> None:
        for ask in self._asking.pop((partition, offset), ()):
            ask()

    def _when_passed(self, partition: int, offset: int, passed: Callable[[], None]) -> None:
        """Call back, once, when all that stands up to this place has come."""
        self._number += 1
        heapq.heappush(self._waiting.setdefault(partition, []), (offset, self._number, passed))

    def sent(self, subscriber: Subscriber, filter: str, topic: str, partition: int, offset: int) -> None:
        """A copy for a new subscription was sent: live messages that are not newer are not for it."""
        if self._reached.get(partition, -1) > offset:
            return
        self._floors.setdefault((subscriber, filter), {})[topic] = partition, offset
        self._when_passed(partition, offset, partial(self._lift, subscriber, filter, topic, offset))

    def forget(self, subscriber: Subscriber, filter: str) -> None:
        """The subscriber does not hold the filter any more."""
        self._floors.pop((subscriber, filter), None)

    def _lift(self, subscriber: Subscriber, filter: str, topic: str, offset: int) -> None:
        floors = self._floors.get((subscriber, filter), {})
        if topic in floors and floors[topic][1] <= offset:
            del floors[topic]
            if not floors:
                del self._floors[subscriber, filter]
