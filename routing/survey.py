"""What the plan has to know of the subscription table beforehand, read by the driver itself.

It is no Spark job: in real-time mode all task slots are taken, all the time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from contracts.kafka_topics import KafkaTopics
from contracts.topics import Shape
from routing.routes.kafka import RouteLog
from routing.routes.partition import RoutePartition


@dataclass(frozen=True)
class Survey:
    """What the table is like now."""

    shapes: frozenset[Shape]
    """The distinct shapes of all filters."""
    topics: frozenset[str]
    """The Kafka topics that routes lead to, whether they exist or not."""
    routes: int = 0
    """How many rows it has."""
    versions: Mapping[int, int] = field(default_factory=dict)
    """By partition of the subscription log, the offset up to which it was read."""


def survey_table(bootstrap: str, topics: KafkaTopics, snapshot_dir: Path) -> Survey:
    """Read the table.

    Raises:
        RouteTableError: It cannot be read.
    """
    count = RouteLog(bootstrap, topics.subscriptions).partitions()
    shapes: set[str] = set()
    leads_to: set[str] = set()
    routes, versions = 0, dict[int, int]()
    for number in range(count):
        found = RoutePartition(bootstrap, topics, number, snapshot_dir).read()
        shapes |= found.shapes
        leads_to |= found.topics
        routes += found.state.num_rows
        versions[number] = found.offset
    return Survey(frozenset(map(Shape.parse, shapes)), frozenset(leads_to), routes, versions)
