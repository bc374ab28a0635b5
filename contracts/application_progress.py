"""How far an APPLICATION is in its Kafka topic: what whoever goes on with its session needs to know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

NO_REPEATS = '{"marks":{},"seen":{}}'
"""`contracts.persisted_log.Repeats.to_json` of nothing."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A place in the Kafka topic, and what is known behind it."""

    floor: int
    """Everything before this offset is done with: acknowledged, dropped, or of an earlier session."""
    marks: str = NO_REPEATS
    """The state of repeats (`contracts.persisted_log.Repeats.to_json`) at the floor."""
    acked: tuple[int, ...] = ()
    """Above the floor, what is done with all the same: first offset, offset behind the last, and so on, ascending."""
    received: tuple[int, ...] = ()
    """Offsets whose PUBREC came: only PUBREL is to be sent."""


def ranges_of(offsets: Iterable[int]) -> tuple[int, ...]:
    """Ascending offsets as `Progress.acked` has them."""
    bounds: list[int] = []
    for offset in offsets:
        if bounds and bounds[-1] == offset:
            bounds[-1] = offset + 1
        else:
            bounds += (offset, offset + 1)
    return tuple(bounds)


def offsets_of(ranges: tuple[int, ...]) -> Iterator[int]:
    """The reverse of `ranges_of`."""
    for number, (first, end) in enumerate(pairwise(ranges)):
        if number % 2 == 0:
            yield from range(first, end)
