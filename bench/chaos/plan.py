"""Who takes part in a run: publishers with their topics, and subscribers with what they must get. Pure data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from contracts.topics import matches
from edge.mqtt.protocol import ProtocolVersion

V4, V5 = ProtocolVersion.V3_1_1, ProtocolVersion.V5
_ROOT = "chaos"
_APPLICATION = "app-"
GATEWAY_SETTINGS = {"SLUICEMQ_APPLICATION_CLIENTS": f"{_APPLICATION}.*"}
"""By what the gateways know APPLICATIONs."""
_GROUPS = 4
"""Publishers are spread over so many, so that not everybody gets everything."""


@dataclass(frozen=True)
class Options:
    """What a run is to be like."""

    seed: int = 1
    seconds: float = 600.0
    """How long faults and traffic last; the end, when all that is under way must arrive, comes on top."""
    publishers: int = 20
    rate: float = 4.0
    """Messages a second of each publisher."""
    window: int = 50
    """Messages that a publisher has under way before it waits for acknowledgements."""
    patience: float = 120.0
    """Seconds without any progress after which what is missing counts as lost."""


@dataclass(frozen=True)
class PublisherPlan:
    """One publisher: a topic for each QoS, numbered on its own."""

    name: str
    version: ProtocolVersion
    topics: tuple[tuple[str, int], ...]
    """(topic, QoS)."""


@dataclass(frozen=True)
class SubscriberPlan:
    """One subscriber."""

    name: str
    filter: str
    """One, so that no message matches twice."""
    qos: int
    is_persistent: bool
    version: ProtocolVersion

    def wanted(self, topics: Mapping[str, int]) -> dict[str, int]:
        """Topics → QoS of what is published there, as topics that the filter matches → QoS of what must come."""
        return {topic: min(qos, self.qos) for topic, qos in topics.items() if matches(self.filter, topic)}


def publisher_plans(count: int) -> list[PublisherPlan]:
    """All publishers; every other one speaks MQTT 5."""
    plans = []
    for number in range(count):
        root = f"{_ROOT}/{number % _GROUPS}/{number}"
        topics = tuple((f"{root}/q{qos}", qos) for qos in (1, 2))
        plans.append(PublisherPlan(f"publisher-{number}", V5 if number % 2 else V4, topics))
    return plans


def subscriber_plans() -> list[SubscriberPlan]:
    """Persistent DEVICEs, persistent APPLICATIONs and clean subscribers, with filters of each kind."""
    plans = []
    for group in range(_GROUPS):
        version, other = (V5, V4) if group % 2 else (V4, V5)
        plans.append(SubscriberPlan(f"device-{group}", f"{_ROOT}/{group}/#", 2, True, version))
        plans.append(SubscriberPlan(f"clean-{group}", f"{_ROOT}/{group}/+/q2", 2, False, other))
        plans.append(SubscriberPlan(f"{_APPLICATION}{group}", f"{_ROOT}/{group}/#", 2, True, other))
    return [
        *plans,
        SubscriberPlan("device-exact", f"{_ROOT}/0/0/q2", 2, True, V5),
        SubscriberPlan("device-plus", f"{_ROOT}/+/+/q2", 2, True, V4),
        SubscriberPlan("device-all", f"{_ROOT}/#", 1, True, V5),
        SubscriberPlan(f"{_APPLICATION}all", f"{_ROOT}/#", 1, True, V4),
        SubscriberPlan("clean-all", f"{_ROOT}/#", 1, False, V4),
    ]


def topics_of(publishers: Iterable[PublisherPlan]) -> dict[str, int]:
    """All topics → their QoS."""
    return {topic: qos for publisher in publishers for topic, qos in publisher.topics}
