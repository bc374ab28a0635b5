"""Statistics: percentiles, medians, and the parts of a run around rollovers. Pure; seconds in, seconds out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


def percentile(values: Iterable[float], percent: float) -> float:
    """The nearest-rank percentile: the smallest value that at least `percent` % of all do not exceed.

    A value that was measured, never one between two, so p99.9 of a hundred samples is honestly their largest.

    Raises:
        ValueError: There are no values, or `percent` is not in 0 to 100.
    """
    ordered = sorted(values)
    if not ordered or not 0 <= percent <= 100:
        raise ValueError("a percentile needs at least one value, and a percentage from 0 to 100")
    # Rounded first: 99.9 % of 1,000 is 999.0000000000001 in floating point, and would take the 1,000th.
    return ordered[max(0, math.ceil(round(len(ordered) * percent / 100, 9)) - 1)]


def median(values: Iterable[float]) -> float:
    """The median, of an even number of values the mean of the two in the middle."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("a median needs at least one value")
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def spread(values: Sequence[float]) -> str:
    """How far they scatter, for people: the middle half of them."""
    low, high = percentile(values, 25), percentile(values, 75)
    return f"half of {len(values)} turns between {low:.1f} and {high:.1f}"


@dataclass(frozen=True)
class Sample:
    """One message's way: when it was sent, and how long it took."""

    sent_at: float
    """Seconds, on the run's clock."""
    latency: float
    """Seconds from the write at the publisher to the read at the subscriber."""


@dataclass(frozen=True)
class Rollover:
    """What one batch's end did to the messages sent around it."""

    at: float
    """Seconds, on the run's clock: when the batch was committed."""
    pause: float
    """The longest latency of a message sent around it."""


def around(
    samples: Sequence[Sample], commits: Sequence[float], before: float, after: float
) -> list[Rollover]:
    """The rollovers that lie wholly within the run.

    Args:
        samples: All messages.
        commits: When batches were committed, on the run's clock.
        before: Seconds before a commit that still count as its rollover.
        after: Seconds after it that do.
    """
    if not samples:
        return []
    first, last = min(s.sent_at for s in samples), max(s.sent_at for s in samples)
    found = []
    for at in sorted(commits):
        if first <= at - before and at + after <= last:
            touched = [s.latency for s in samples if at - before <= s.sent_at <= at + after]
            if touched:
                found.append(Rollover(at, max(touched)))
    return found


def inside(samples: Iterable[Sample], commits: Sequence[float], before: float, after: float) -> list[float]:
    """Latencies of the messages that were sent inside a batch, that is, around no commit."""
    return [
        sample.latency
        for sample in samples
        if not any(at - before <= sample.sent_at <= at + after for at in commits)
    ]
