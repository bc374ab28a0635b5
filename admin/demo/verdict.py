"""The check: what a subscriber got against what it had to get. Pure; it can say no in each of five ways."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from contracts.topics import matches


@dataclass(frozen=True, slots=True)
class Sent:
    """A message as it was published."""

    topic: str
    payload: bytes
    at: float
    """When, in seconds on the clock that the arrivals are taken by."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message as a subscriber got it."""

    topic: str
    payload: bytes
    qos: int
    at: float


@dataclass(frozen=True)
class Verdict:
    """What became of one subscription."""

    filter: str
    qos: int
    expected: int
    """So many messages match the filter."""
    delivered: int
    """So many of them came, each counted once."""
    duplicates: int
    """Arrivals of what had come before."""
    late: int
    """First arrivals that came after a message which was published later on the same topic."""
    wrong: int
    """Arrivals that are none of the messages: another topic, another payload, or another QoS."""
    latencies: Sequence[float] = field(default=(), repr=False)
    """Seconds from publishing to the first arrival, in ascending order."""
    note: str = ""
    """What is special about the subscriber."""

    @property
    def missing(self) -> int:
        """So many never came."""
        return self.expected - self.delivered

    @property
    def holds(self) -> bool:
        """Whether everything came, once, in order, unaltered, and nothing else did."""
        return not (self.missing or self.duplicates or self.late or self.wrong)

    def latency(self, quantile: float) -> float:
        """The latency in seconds that this part of all deliveries did not exceed; NaN where nothing came."""
        if not self.latencies:
            return math.nan
        return self.latencies[max(0, math.ceil(quantile * len(self.latencies)) - 1)]


def judge(filter: str, qos: int, sent: Iterable[Sent], arrivals: Iterable[Arrival]) -> Verdict:
    """Compare one subscriber's arrivals, in their order, with all that was published, in its order.

    Args:
        filter: What it subscribed to.
        qos: At which QoS everything must have come.
        sent: All messages, those that the filter does not match too; no payload twice on one topic.
        arrivals: All that the subscriber got.
    """
    wanted = _numbered(filter, sent)
    highest: dict[str, int] = {}
    seen: set[tuple[str, int]] = set()
    latencies: list[float] = []
    duplicates = late = wrong = 0
    for arrival in arrivals:
        found = wanted.get((arrival.topic, arrival.payload))
        if found is None or arrival.qos != qos:
            wrong += 1
            continue
        number, sent_at = found
        if (arrival.topic, number) in seen:
            duplicates += 1
            continue
        seen.add((arrival.topic, number))
        latencies.append(arrival.at - sent_at)
        late += number < highest.get(arrival.topic, -1)
        highest[arrival.topic] = max(number, highest.get(arrival.topic, -1))
    return Verdict(filter, qos, len(wanted), len(seen), duplicates, late, wrong, sorted(latencies))


def _numbered(filter: str, sent: Iterable[Sent]) -> Mapping[tuple[str, bytes], tuple[int, float]]:
    """Matching messages → their number within their topic, and when they were sent."""
    return {
        (message.topic, message.payload): (number, message.at)
        for number, message in enumerate(sent)
        if matches(filter, message.topic)
    }
