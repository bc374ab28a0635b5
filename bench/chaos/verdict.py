"""The verdict: what a subscriber got against what it had to get. Pure.

Numbers of a topic begin with 0. For a persistent session everything counts, over all of its connections: it is one
*stretch*. For a clean one each connection is a stretch of its own: it owes the numbers from its SUBACK on, up to the
highest that came, since order tells that those below it had gone out before; the last one owes all up to the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message as a subscriber got it."""

    topic: str
    number: int
    """-1: a payload that nobody has published."""
    qos: int
    dup: bool
    at: float
    """Seconds since the run began."""
    connection: int
    """The how many-eth of the client."""


@dataclass
class Stretch:
    """What must have come, in so far as it is one order."""

    begins: Mapping[str, int]
    """Topic → the first number that must come; lower ones may. Empty until there is a SUBACK: nothing must."""
    arrivals: list[Arrival] = field(default_factory=list)
    is_last: bool = False
    """Whether it lasted to the end of the run."""


@dataclass(frozen=True)
class Finding:
    """One fault of the broker's."""

    what: str
    """`missing`, `repeated` (at QoS 2), `late` (after a later one), or `wrong` (not what was published, or its QoS)."""
    topic: str
    number: int
    arrivals: tuple[Arrival, ...] = ()
    """Of this message, in this stretch."""


@dataclass
class Verdict:
    """What became of one subscriber."""

    name: str
    expected: int = 0
    """Messages that had to come."""
    delivered: int = 0
    """Messages that came, each counted once in each stretch."""
    again: int = 0
    """Repeats at QoS 1, which may be."""
    findings: list[Finding] = field(default_factory=list)

    def count(self, what: str) -> int:
        """How many findings of a kind."""
        return sum(finding.what == what for finding in self.findings)


def judge(
    name: str, wanted: Mapping[str, int], published: Mapping[str, int], stretches: Iterable[Stretch]
) -> Verdict:
    """Judge one subscriber.

    Args:
        name: Its name.
        wanted: Topics that it must get → QoS at which.
        published: Topic → how many numbers were published there.
        stretches: What it got.
    """
    verdict = Verdict(name)
    for stretch in stretches:
        _judge_stretch(verdict, wanted, published, stretch)
    return verdict


def _judge_stretch(
    verdict: Verdict, wanted: Mapping[str, int], published: Mapping[str, int], stretch: Stretch
) -> None:
    came: dict[str, dict[int, list[Arrival]]] = {topic: {} for topic in wanted}
    highest = dict.fromkeys(wanted, -1)
    for arrival in stretch.arrivals:
        topic, number = arrival.topic, arrival.number
        is_known = topic in wanted and 0 <= number < published[topic]
        if not is_known or arrival.qos != wanted[topic]:
            verdict.findings.append(Finding("wrong", topic, number, (arrival,)))
            continue
        numbers = came[topic]
        # What was published before the SUBACK at QoS 1 may have been sent again after it: to others, that was a repeat.
        may_be_repeat = wanted[topic] == 1 and number < stretch.begins.get(topic, published[topic])
        if number not in numbers and number < highest[topic] and not may_be_repeat:
            verdict.findings.append(Finding("late", topic, number, (arrival,)))
        highest[topic] = max(number, highest[topic])
        numbers.setdefault(number, []).append(arrival)
    for topic, numbers in came.items():
        verdict.delivered += len(numbers)
        for number, arrivals in numbers.items():
            if len(arrivals) > 1 and wanted[topic] == 2:
                verdict.findings.append(Finding("repeated", topic, number, tuple(arrivals)))
            else:
                verdict.again += len(arrivals) - 1
        begin = stretch.begins.get(topic, published[topic])
        end = published[topic] if stretch.is_last else highest[topic] + 1
        verdict.expected += max(0, end - begin)
        missing = (number for number in range(begin, end) if number not in numbers)
        verdict.findings += [Finding("missing", topic, number) for number in missing]
