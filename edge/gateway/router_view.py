"""What this gateway knows of the router, from the answers to its probes alone: no clock is compared, nothing assumed.

Pure data. A probe goes through every partition of `tbmq.msg.all`, and each is answered once for every partition of
`tbmq.client.subscriptions`. A version counts only when all source partitions have answered with at least that.
"""

from __future__ import annotations

from collections import deque

from contracts.probe_record import ProbeAnswer

_MOST_OUTSTANDING = (
    100  # older unanswered probes are forgotten: a router that is down for a day costs no memory
)
_LATENCIES = (
    100  # of the last probes: minutes where subscriptions come and go, a quarter of an hour where not
)


class RouterView:
    """The route table's version that every task of the router is proven to use."""

    def __init__(self, source_partitions: int, table_partitions: int) -> None:
        self._sources = range(source_partitions)
        self._tables = range(table_partitions)
        self._sent: dict[int, float] = {}  # probe -> when it was sent
        # (generation, source, table partition) -> version
        self._versions: dict[tuple[int, int, int], int] = {}
        self._newest: dict[int, int] = {}  # generation -> the newest probe that it answered
        # probe -> generation -> the (source, table partition)s that it answered for
        self._answered: dict[int, dict[int, set[tuple[int, int]]]] = {}
        self._written: dict[int, int] = {}  # source partition -> offset of the newest probe there
        self._routed: dict[int, int] = {}  # source partition -> offset of the newest probe that was answered
        self.latencies: deque[float] = deque(maxlen=_LATENCIES)
        """Seconds from each completed probe's sending to its last answer, the last one last."""
        self.generation: int | None = None
        """The one that answered last."""
        self.completed = 0
        """How many probes a generation has answered in full."""
        self.waiting_since: float | None = None
        """When the oldest probe was sent that is not answered in full."""

    @property
    def outstanding(self) -> int:
        """Probes sent, and not yet answered in full. It grows while the router is down."""
        return len(self._sent)

    @property
    def latency(self) -> float | None:
        """That of the last completed probe; None before the first."""
        return self.latencies[-1] if self.latencies else None

    @property
    def backlog(self) -> int | None:
        """Records before the newest probes that are not proven to be routed; None while that is not known."""
        if len(self._routed) < len(self._sources):
            return None
        return sum(max(0, self._written.get(source, 0) - self._routed[source]) for source in self._sources)

    @property
    def routed(self) -> tuple[int, ...]:
        """For each source partition, the offset before which all is routed; empty while not known."""
        if len(self._routed) < len(self._sources):
            return ()
        return tuple(self._routed[source] + 1 for source in self._sources)

    @property
    def versions(self) -> tuple[int, ...]:
        """`version` of each table partition; empty while none has answered."""
        return tuple(map(self.version, self._tables)) if self._newest else ()

    def written(self, partition: int, offset: int) -> None:
        """A probe stands in Kafka."""
        self._written[partition] = max(offset, self._written.get(partition, 0))

    def sent(self, sequence: int, at: float) -> None:
        """A probe goes out, with a copy to each source partition."""
        self._sent[sequence] = at
        self._answered[sequence] = {}
        if len(self._sent) > _MOST_OUTSTANDING:
            oldest = next(iter(self._sent))
            del self._sent[oldest], self._answered[oldest]
        if self.waiting_since is None:
            self.waiting_since = at

    def answered(self, answer: ProbeAnswer, at: float) -> bool:
        """Take an answer in; True when a generation has answered its probe in full: `version` may have risen."""
        place = (answer.generation, answer.source_partition, answer.table_partition)
        self._versions[place] = max(answer.table_version, self._versions.get(place, 0))
        source = answer.source_partition
        self._routed[source] = max(answer.source_offset, self._routed.get(source, 0))
        self._newest[answer.generation] = max(answer.sequence, self._newest.get(answer.generation, 0))
        by_generation = self._answered.get(answer.sequence)
        if by_generation is None:
            return False  # of a probe that was complete before, or of an earlier life of this node
        parts = by_generation.setdefault(answer.generation, set())
        parts.add((answer.source_partition, answer.table_partition))
        if len(parts) < len(self._sources) * len(self._tables):
            return False
        self.latencies.append(at - self._sent[answer.sequence])
        self.generation = answer.generation
        self.completed += 1
        for old in [sequence for sequence in self._sent if sequence <= answer.sequence]:
            del (
                self._sent[old],
                self._answered[old],
            )  # a newer probe's answers say all that an older one's could
        self.waiting_since = next(iter(self._sent.values()), None)
        self._retire(answer.sequence)
        return True

    def version(self, table_partition: int) -> int:
        """All routes of this partition before this offset are in the table of every task, of every live generation."""
        return min(
            (
                self._versions.get((generation, source, table_partition), 0)
                for generation in self._newest
                for source in self._sources
            ),
            default=0,
        )

    def _retire(self, sequence: int) -> None:
        # One generation has answered this probe in full; those that have not answered it at all have been stopped. The
        # numbers say nothing about age: a router that is started anew counts anew.
        for generation in [g for g, newest in self._newest.items() if newest < sequence]:
            del self._newest[generation]
            for place in [place for place in self._versions if place[0] == generation]:
                del self._versions[place]
