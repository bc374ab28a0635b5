"""What the plan has to know of the subscription table beforehand, read by the driver itself.

It is no Spark job: in real-time mode all task slots are taken, all the time.
"""

from __future__ import annotations

from dataclasses import dataclass
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


def survey_table(bootstrap: str, topics: KafkaTopics, snapshot_dir: Path) -> Survey:
    """Read the table.

    Raises:
        RouteTableError: It cannot be read.
    """
    count = RouteLog(bootstrap, topics.subscriptions).partitions()
    shapes: set[str] = set()
    leads_to: set[str] = set()
    for number in range(count):
        found = RoutePartition(bootstrap, topics, number, snapshot_dir).read()
        shapes |= found.shapes
        leads_to |= found.topics
    return Survey(frozenset(map(Shape.parse, shapes)), frozenset(leads_to))
