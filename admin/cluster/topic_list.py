"""The Kafka topics of a cluster, with what about them is not as it must be."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from admin.cluster.kafka import KafkaObserver
from admin.kafka_topics import Difference, compare
from contracts.kafka_topics import KafkaTopic, KafkaTopics


@dataclass(frozen=True)
class TopicDifference:
    """What is not as it must be."""

    setting: str
    """`topic` (it is missing), `partitions`, or the name of a topic setting."""
    wanted: str
    found: str


@dataclass(frozen=True)
class TopicInfo:
    """A Kafka topic."""

    name: str
    role: str
    """What it is for: `publishes`, `subscriptions`, `node`, `application`, … ; `other` where nobody here knows."""
    partitions: int
    """0: it is missing."""
    replicas: int
    size_bytes: int
    """Of one copy."""
    records: int
    """Offsets from the first to the end: of a compacted topic, or of one with transactions, more than there are."""
    retention_ms: int | None
    """Null: the cluster's default, or for ever where it is compacted."""
    is_compacted: bool
    config: dict[str, str]
    """What differs from the cluster's defaults."""
    differences: list[TopicDifference]


class TopicList:
    """Lists them; each method raises `KafkaUnavailableError`."""

    def __init__(self, kafka: KafkaObserver, names: KafkaTopics) -> None:
        self._kafka = kafka
        self._names = names

    def names(self, nodes: Collection[str], search: str = "") -> list[str]:
        """Names of all Kafka topics that are there, or must be, in order.

        Args:
            nodes: Gateways whose own topics must be there.
            search: Only names that hold this, whatever its case.
        """
        present = self._kafka.partitions(f"{self._names.prefix}.").keys()
        found = present | self._wanted({}, nodes).keys()
        return sorted(name for name in found if search.casefold() in name.casefold())

    def describe(self, names: Collection[str], nodes: Collection[str]) -> list[TopicInfo]:
        """These Kafka topics, in this order."""
        present = self._kafka.partitions(f"{self._names.prefix}.")
        wanted = self._wanted({name: len(found) for name, found in present.items()}, nodes)
        there = [name for name in names if name in present]
        configs = self._kafka.configs(there)
        numbers = {name: [one["partition_index"] for one in present[name]] for name in there}
        sizes = self._kafka.sizes(numbers)
        bounds = self._kafka.bounds((name, number) for name in there for number in numbers[name])
        described = []
        for name in names:
            partitions = present.get(name, [])
            found = KafkaTopic(name, len(partitions), configs.get(name, {})) if partitions else None
            described.append(
                TopicInfo(
                    name=name,
                    role=self.role(name),
                    partitions=len(partitions),
                    replicas=max((len(one["replica_nodes"]) for one in partitions), default=0),
                    size_bytes=sizes.get(name, 0),
                    records=sum(end - first for (topic, _), (first, end) in bounds.items() if topic == name),
                    retention_ms=_number(configs.get(name, {}).get("retention.ms")),
                    is_compacted="compact" in configs.get(name, {}).get("cleanup.policy", ""),
                    config=configs.get(name, {}),
                    differences=_differences(wanted.get(name), found),
                )
            )
        return described

    def role(self, name: str) -> str:
        """What a Kafka topic is for."""
        names = self._names
        roles = {
            names.publishes: "publishes", names.subscriptions: "subscriptions", names.persisted: "persisted",
            names.retained: "retained", names.shares: "shares", names.share_states: "share_states",
            names.delayed: "delayed", names.sessions: "sessions", names.session_requests: "session_requests",
            names.removed_applications: "removed_applications", names.historical: "historical",
            names.states: "states", names.command_answers: "command_answers",
        }  # fmt: skip
        if name in roles:
            return roles[name]
        if name.startswith(names.application_share_prefix):
            return "application_share"
        if name.startswith(names.application_prefix):
            return "application"
        of_nodes = (names.downlink_prefix, names.share_downlink("n")[:-1], names.session_responses("n")[:-1],
                    names.disconnects("n")[:-1])  # fmt: skip
        return "node" if name.startswith(of_nodes) else "other"

    def _wanted(self, present: Mapping[str, int], nodes: Collection[str]) -> dict[str, KafkaTopic]:
        """What must be there. How many partitions was chosen once; those that go together must have as many."""
        names = self._names
        counts = [
            present.get(name) or default
            for name, default in (
                (names.publishes, 4), (names.subscriptions, 2), (names.session_requests, 4), (names.persisted, 4),
                (names.shares, 4), (names.retained, 4),
            )
        ]  # fmt: skip
        found = names.shared(*counts)
        for node in nodes:
            found += names.of_node(node)
        return {topic.name: topic for topic in found}


def _differences(wanted: KafkaTopic | None, found: KafkaTopic | None) -> list[TopicDifference]:
    if wanted is None:
        return []
    differences: list[Difference] = list(compare(wanted, found))
    return [TopicDifference(one.setting, one.wanted, one.found) for one in differences]


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
