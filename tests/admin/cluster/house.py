"""A cluster whose Kafka and whose parts are the test's."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

from admin.cluster.cluster import ClusterSettings, ObservedCluster
from admin.cluster.kafka import Group, KafkaObserver, Place
from admin.cluster.sinks import SinkUrls
from admin.cluster.states import StateView
from admin.errors import KafkaUnavailableError
from admin.kafka_topics import TopicAdministration
from contracts import state_record
from contracts.kafka_topics import KafkaTopic, KafkaTopics
from contracts.state_record import GatewayState, Latency, Rates, RouterSeen, RouterState

NOW = 1_700_000_000.0
GATEWAY = GatewayState(
    "gw1", round(1000 * NOW), 5.0, "b1", 1, "0.1", listeners={"tcp": "127.0.0.1:1883"}, connections=2,
    subscriptions=3, messages=Rates(10.0, 20.0, 0.5),
    router=RouterSeen(4, (7, 9), Latency(1.0, 2.0, 3.0, 4), 0, 5, (95, 100)), counters={"publishes": 5},
)  # fmt: skip
ROUTER = RouterState(round(1000 * NOW), 5.0, "b2", 1, "running", generation=4, routed=(90, 90))


class Clock:
    """Seconds that the test lets pass."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


class PlayedStates:
    """Parts that say what the test has them say."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.view = StateView(self.clock, self.clock)
        self.trouble: str | None = None
        self.is_read = True
        self.forgotten: list[bytes] = []

    def say(self, *states: GatewayState | RouterState) -> None:
        """Have parts say something."""
        for state in states:
            self.view.take(*state_record.encode(state), is_new=True)

    def wait(self) -> bool:
        return self.is_read

    def forget(self, key: bytes) -> None:
        self.forgotten.append(key)
        self.view.take(key, None, is_new=True)

    def close(self) -> None:
        pass


@dataclass
class PlayedKafka(KafkaObserver):
    """Kafka topics and groups as the test has them."""

    bootstrap: str = "played:1"
    there: dict[str, KafkaTopic] = field(default_factory=dict)
    bounds_of: dict[Place, tuple[int, int]] = field(default_factory=dict)
    known_groups: dict[str, Group] = field(default_factory=dict)
    is_gone: bool = False

    def add(self, *topics: KafkaTopic) -> None:
        """There are these, too."""
        self.there |= {topic.name: topic for topic in topics}

    @contextmanager
    def topics(self) -> Iterator[TopicAdministration]:
        self._check()
        yield cast(TopicAdministration, PlayedAdministration(self.there))

    def partitions(self, prefix: str = "") -> dict[str, list[dict[str, Any]]]:
        self._check()
        return {
            name: [{"partition_index": number, "replica_nodes": [1, 2]} for number in range(topic.partitions)]
            for name, topic in self.there.items()
            if name.startswith(prefix)
        }

    def configs(self, names: Collection[str]) -> dict[str, dict[str, str]]:
        self._check()
        return {name: dict(self.there[name].config) for name in names}

    def sizes(self, partitions: Mapping[str, Iterable[int]]) -> dict[str, int]:
        return {name: 100 * len(list(numbers)) for name, numbers in partitions.items()}

    def bounds(self, places: Iterable[Place]) -> dict[Place, tuple[int, int]]:
        return {place: self.bounds_of.get(place, (0, 0)) for place in places}

    def ends(self, places: Iterable[Place]) -> dict[Place, int]:
        self._check()
        return {place: self.bounds_of.get(place, (0, 0))[1] for place in places}

    def group_names(self) -> list[str]:
        self._check()
        return sorted(self.known_groups)

    def groups(self, names: Collection[str]) -> list[Group]:
        self._check()
        return [self.known_groups[name] for name in names if name in self.known_groups]

    def _check(self) -> None:
        if self.is_gone:
            raise KafkaUnavailableError("No Kafka answers at played:1: check the address and that it runs.")


class PlayedAdministration:
    """Makes and removes Kafka topics of a dictionary."""

    def __init__(self, there: dict[str, KafkaTopic]) -> None:
        self._there = there

    def existing(self, names: Iterable[str] | None = None, prefix: str = "") -> list[KafkaTopic]:
        wanted = set(self._there if names is None else names)
        return [
            self._there[name] for name in sorted(self._there) if name.startswith(prefix) and name in wanted
        ]

    def create(self, topics: Sequence[KafkaTopic], replication_factor: int = -1) -> list[str]:
        assert replication_factor == -1
        missing = [topic for topic in topics if topic.name not in self._there]
        self._there |= {topic.name: topic for topic in missing}
        return [topic.name for topic in missing]

    def remove(self, name: str) -> bool:
        return self._there.pop(name, None) is not None


class PlayedParts:
    """The cluster, and what the test plays in it."""

    def __init__(self, sinks: SinkUrls | None = None) -> None:
        self.names = KafkaTopics()
        self.states = PlayedStates()
        self.kafka = PlayedKafka()
        self.kafka.add(*self.names.shared(publish_partitions=2), *self.names.of_node("gw1"))
        self.cluster = ObservedCluster(
            ClusterSettings("played:1", sinks=sinks or SinkUrls()), self.states, self.kafka
        )

    def other(self, node: str, **changes: Any) -> GatewayState:
        """Another gateway."""
        return replace(GATEWAY, node=node, **changes)
