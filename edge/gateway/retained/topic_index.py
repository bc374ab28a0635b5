"""Topics by the names of their levels: an exact look-up is a dictionary's, and a filter intersects sets of topics.

Each topic has a number. Of each name that a level has, there is the set of the topics that have it at that depth, and
of each count of levels the set of the topics that have so many. A filter's topics are what is in all the sets that it
names: no topic is looked at that does not match, however many have some of its levels. The sets are compressed bitmaps,
so to intersect two costs some tens of microseconds a million topics.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from pyroaring import BitMap

from contracts.topics import matches

T = TypeVar("T")

_DEPTH = 32
"""Levels whose names have sets. A topic may have 65,535; those deeper are compared one by one beyond these."""
_STEPS = 500
"""Topics that are found before the caller gets a chance to do something else; some tenths of a millisecond."""
_DEEP_STEPS = 8
"""The same where each may be a comparison of thousands of levels."""


class TopicIndex(Generic[T]):
    """Topic → value, and values by filter."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._topics: list[str | None] = []
        self._values: list[T | None] = []
        self._free: list[int] = []
        """Numbers of topics that were removed, for the next ones: the sets stay dense."""
        self._names: list[dict[str, int | BitMap]] = [{} for _ in range(_DEPTH)]
        """Depth → name → the topics that have it there; one alone, as most are, is no set yet."""
        self._counts = [BitMap() for _ in range(_DEPTH + 2)]
        """How many levels → the topics that have so many; the last is of those with more than have sets."""
        self._dollar = BitMap()
        """The topics that begin with $."""
        self._removals = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[T]:
        return (value for value in self._values if value is not None)

    def get(self, topic: str) -> T | None:
        """The value of a topic."""
        number = self._numbers.get(topic)
        return None if number is None else self._values[number]

    def put(self, topic: str, value: T) -> None:
        """Add or replace a topic's value."""
        number = self._numbers.get(topic)
        if number is None:
            number = self._add(topic)
        self._values[number] = value

    def _add(self, topic: str) -> int:
        if self._free:
            number = self._free.pop()
            self._topics[number] = topic
        else:
            number = len(self._topics)
            self._topics.append(topic)
            self._values.append(None)
        self._numbers[topic] = number
        levels = _levels(topic)
        for named, level in zip(self._names, levels, strict=False):
            having = named.get(level)
            if having is None:
                named[level] = number
            elif isinstance(having, int):
                named[level] = BitMap((having, number))
            else:
                having.add(number)
        self._counts[len(levels)].add(number)
        if topic.startswith("$"):
            self._dollar.add(number)
        return number

    def remove(self, topic: str) -> T | None:
        """Remove a topic; returns what its value was."""
        number = self._numbers.pop(topic, None)
        if number is None:
            return None
        levels = _levels(topic)
        for named, level in zip(self._names, levels, strict=False):
            having = named[level]
            if isinstance(having, int):
                del named[level]
                continue
            having.remove(number)
            if len(having) == 1:
                named[level] = having.min()
        self._counts[len(levels)].remove(number)
        self._dollar.discard(number)
        value, self._values[number], self._topics[number] = self._values[number], None, None
        self._free.append(number)
        self._removals += 1
        return value

    def find(self, filter: str) -> Iterator[T | None]:
        """The values of topics that match a filter (without share prefix), in no particular order.

        None now and then: a chance for the caller to let others have their turn. The index may change meanwhile: what
        is removed is not found any more; what is added may be.
        """
        if "+" not in filter and "#" not in filter:
            if (value := self.get(filter)) is not None:
                yield value
            return
        wanted = filter.split("/", _DEPTH + 1)
        is_deep = len(wanted) > _DEPTH and wanted[_DEPTH] != "#"
        removals, steps = self._removals, _DEEP_STEPS if is_deep else _STEPS
        for count, number in enumerate(self._matching(wanted), 1):
            if count % steps == 0:
                yield None
            topic, value = self._topics[number], self._values[number]
            if topic is None or value is None:
                continue
            # A number that was free meanwhile may be another topic's by now.
            if (is_deep or self._removals != removals) and not matches(filter, topic):
                continue
            yield value

    def _matching(self, wanted: list[str]) -> BitMap:
        """The topics that match a filter with wildcards, as far as levels have sets.

        Args:
            wanted: Its levels; those behind one more than have sets may be in one piece.
        """
        sets = []
        for named, level in zip(self._names, wanted, strict=False):
            if level not in ("+", "#"):
                having = named.get(level)
                if having is None:
                    return BitMap()
                sets.append(BitMap((having,)) if isinstance(having, int) else having)
        if wanted[-1] != "#":
            sets.append(self._counts[min(len(wanted), _DEPTH + 1)])
        elif (
            wanted[-2:-1] in ([], ["+"]) or len(wanted) > _DEPTH + 1
        ):  # else, what has the one before has enough
            sets.append(BitMap.union(*self._counts[len(wanted) - 1 :]))  # "a/#" matches "a" as well
        sets.sort(key=len)
        found = sets[0].copy()
        for each in sets[1:]:
            if not found:
                break
            found &= each
        if wanted[0] in ("+", "#"):  # one at the front never matches what begins with $ [MQTT-4.7.2-1]
            found -= self._dollar
        return found


def _levels(topic: str) -> list[str]:
    """The levels of a topic; what is deeper than levels have sets is one more, in one piece."""
    return topic.split("/", _DEPTH)
