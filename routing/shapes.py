"""Shapes in use: what the plan must look for, read from the subscription table by the driver itself.

It is no Spark job: in real-time mode all task slots are taken, all the time.
"""

from __future__ import annotations

from pathlib import Path

from contracts.kafka_topics import KafkaTopics
from contracts.topics import Shape
from routing.routes.kafka import RouteLog
from routing.routes.partition import RoutePartition


def shapes_in_use(bootstrap: str, topics: KafkaTopics, snapshot_dir: Path) -> frozenset[Shape]:
    """The distinct shapes of all filters that are subscribed now.

    Raises:
        RouteTableError: The table cannot be read.
    """
    count = RouteLog(bootstrap, topics.subscriptions).partitions()
    found: set[str] = set()
    for number in range(count):
        found |= RoutePartition(bootstrap, topics, number, snapshot_dir).read().shapes
    return frozenset(map(Shape.parse, found))
