"""Absence: Kafka topics in quarantine, looked for until one is there again, and how far the log was when it was not.

What a generation drops because its topic is missing is gone, and nobody misses it. But an application that comes back
has its topic made anew, and is promised all from then on, while the generation that runs still passes over it. So its
successor begins where the topic was last seen to be missing; what it repeats, consumers drop (generations.py).
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from contracts.kafka_topics import KafkaTopics
from routing.errors import RouteTableError
from routing.routes.kafka import RouteLog

LOOK_SECONDS = 2.0
"""How often missing Kafka topics are looked for, while there are any."""

Offsets = dict[int, int]
"""By partition of `tbmq.msg.all`."""


class Absence:
    """The missing topics of one generation after the other.

    `review` says what the next one may write to, and what that one drops counts from there: a topic may come back
    before anybody has looked again.
    """

    def __init__(self, bootstrap: str, topics: KafkaTopics) -> None:
        self._publishes = RouteLog(bootstrap, topics.publishes)
        self._missing: frozenset[str] = frozenset()
        self._look_at = 0.0
        self._ends: list[Offsets] = []
        """Ends of the log at the last two looks that found all of them missing, each asked for before the look."""

    def review(self, suspects: frozenset[str]) -> frozenset[str]:
        """Those suspects that are missing now, which the next generation is not to write to.

        Raises:
            RouteTableError: Kafka does not tell.
        """
        if suspects:
            ends = self._log_ends()
            suspects -= self._publishes.existing_topics()
            self._ends = [*self._ends[-1:], ends]
        if not suspects:
            self._ends = []
        self._missing = suspects
        return suspects

    def is_over(self) -> bool:
        """Whether one of them exists, as of a look not long ago. Looks now and then, so ask often."""
        now = time.monotonic()
        if not self._missing or now < self._look_at:
            return False
        self._look_at = now + LOOK_SECONDS
        try:
            ends = self._log_ends()
            if self._missing & self._publishes.existing_topics():
                return True
        except RouteTableError:
            return False
        self._ends = [*self._ends[-1:], ends]
        return False

    def rewind(self, offsets: Mapping[int, int]) -> Offsets:
        """Where the next generation has to begin, which could begin at these offsets if nothing had been missing.

        The last look but one counts: a Kafka broker may learn of a topic some milliseconds after another has told it.
        """
        last = self._ends[0] if self._ends else {}
        return {number: min(offset, last.get(number, offset)) for number, offset in offsets.items()}

    def _log_ends(self) -> Offsets:
        return {number: self._publishes.bounds(number)[1] for number in range(self._publishes.partitions())}
