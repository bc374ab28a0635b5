"""Who reads which Kafka topic, and how far behind it is: consumer groups, the router, and sinks, in one list."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from admin.cluster.kafka import Group, KafkaObserver, Place
from admin.cluster.overview import UNKNOWN, life_of, summary
from admin.cluster.sinks import Sinks
from admin.cluster.states import LIVING, StateView
from contracts import session_census
from contracts.kafka_topics import KafkaTopics
from contracts.session_census import Census
from edge.gateway.delayed.timekeeper import timekeepers_group
from edge.gateway.sessions.membership import group_of
from edge.gateway.shares.dispatcher import dispatchers_group

ROUTER = "router"


@dataclass(frozen=True)
class PartitionLag:
    """How far behind a reader is in one partition."""

    topic: str
    partition: int
    offset: int | None
    """What it reads next; null where it has read nothing yet."""
    end: int
    lag: int


@dataclass(frozen=True)
class Reader:
    """A reader of Kafka topics."""

    name: str
    kind: str
    """`sessions`, `shares`, `delayed`, `application_share`, `router`, `sink` or `other`."""
    state: str
    members: list[str] | None
    """Null for the router and for sinks, which are no consumer groups."""
    lag: int | None
    """Records in all partitions; null where it is not known."""
    partitions: list[PartitionLag]


class Readers:
    """Lists them; each method raises `KafkaUnavailableError`."""

    def __init__(self, kafka: KafkaObserver, names: KafkaTopics, states: StateView, sinks: Sinks) -> None:
        self._kafka = kafka
        self._names = names
        self._states = states
        self._sinks = sinks

    def names(self, search: str = "") -> list[str]:
        """Names of all readers: the router, the sinks whose database is known, then consumer groups."""
        found = [ROUTER, *self._sinks.names(), *self._kafka.group_names()]
        return [name for name in found if search.casefold() in name.casefold()]

    def describe(self, names: Collection[str]) -> list[Reader]:
        """These readers, in this order."""
        sinks = self._sinks.names()
        groups = {
            group.name: group
            for group in self._kafka.groups([name for name in names if name != ROUTER and name not in sinks])
        }
        partitions = {name: len(found) for name, found in self._kafka.partitions().items()}
        ends = self._kafka.ends(self._asked(groups.values(), partitions, names))
        found = []
        for name in names:
            if name == ROUTER:
                found.append(self._router(ends, partitions))
            elif name in sinks:
                found.append(self._sink(name, sinks[name], ends, partitions))
            elif name in groups:
                found.append(self._group(groups[name], ends))
        return found

    def census(self) -> Census:
        """How many sessions there are in the whole cluster."""
        total = Census()
        for group in self._kafka.groups([group_of(self._names.prefix)]):
            for (topic, _), (_, metadata) in group.offsets.items():
                if topic == self._names.session_requests:
                    total += session_census.decode(metadata)
        return total

    def kind(self, name: str) -> str:
        """What a consumer group does."""
        prefix = self._names.prefix
        kinds = {
            group_of(prefix): "sessions",
            dispatchers_group(prefix): "shares",
            timekeepers_group(prefix): "delayed",
        }
        if name in kinds:
            return kinds[name]
        return "application_share" if name.startswith(f"{prefix}.share.") else "other"

    def _asked(
        self, groups: Iterable[Group], partitions: Mapping[str, int], names: Collection[str]
    ) -> set[Place]:
        places = {place for group in groups for place in group.offsets}
        topics = {topic for name, topic in self._sinks.names().items() if name in names}
        topics |= {self._names.publishes} if ROUTER in names else set()
        places |= {(topic, number) for topic in topics for number in range(partitions.get(topic, 0))}
        # A Kafka topic that is gone leaves offsets behind.
        return {(topic, number) for topic, number in places if number < partitions.get(topic, 0)}

    def _group(self, group: Group, ends: Mapping[Place, int]) -> Reader:
        lags = [
            _lag(place, offset, ends[place])
            for place, (offset, _) in sorted(group.offsets.items())
            if place in ends
        ]
        kind = self.kind(group.name)
        # Gateways name themselves by node and process.
        members = [name if kind == "other" else name.partition(":")[0] for name in group.members]
        return Reader(group.name, kind, group.state, members, sum(one.lag for one in lags), lags)

    def _router(self, ends: Mapping[Place, int], partitions: Mapping[str, int]) -> Reader:
        """The router, as of the newest probes: with many messages its lags are a little high."""
        topic, router = self._names.publishes, self._states.router()
        known = [state.router.routed for state, seen in self._states.gateways() if seen.life == LIVING]
        known += [router[0].routed] if router is not None else []
        lags = []
        for number in range(partitions.get(topic, 0)):
            offset = max((routed[number] for routed in known if number < len(routed)), default=None)
            lags.append(_lag((topic, number), offset, ends.get((topic, number), 0)))
        state = UNKNOWN if router is None else life_of(*router)
        return Reader(ROUTER, ROUTER, state, None, summary(self._states).backlog, lags)

    def _sink(
        self, name: str, topic: str, ends: Mapping[Place, int], partitions: Mapping[str, int]
    ) -> Reader:
        numbers = range(partitions.get(topic, 0))
        positions = self._sinks.positions(name, numbers)
        if positions is None:
            return Reader(name, "sink", "its database does not answer", None, None, [])
        lags = [_lag((topic, number), positions[number], ends.get((topic, number), 0)) for number in numbers]
        return Reader(name, "sink", "", None, sum(one.lag for one in lags), lags)


def _lag(place: Place, offset: int | None, end: int) -> PartitionLag:
    return PartitionLag(*place, offset, end, max(0, end - (offset or 0)))
