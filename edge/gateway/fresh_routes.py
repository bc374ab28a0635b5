"""Fresh routes: those that the router's table may not hold yet, so publishes must carry them in-band (I2).

Pure data, no I/O. Positions are offsets in `tbmq.client.subscriptions`, versions are as probes' answers give them. Only
additions are kept: a route that has gone meanwhile costs a record which its gateway drops.
"""

from __future__ import annotations

from collections import Counter, deque

from contracts.publish_record import RouteHit
from contracts.topics import Shape, candidate_keys, shape_of


class FreshRoutes:
    """Routes by filter, indexed by shape like the router's own table; matched against every publish."""

    def __init__(self) -> None:
        self._nodes: dict[str, dict[str, int]] = {}  # filter -> node -> offset of the newest record
        self._shapes: Counter[Shape] = Counter()
        self._by_age: dict[
            int, deque[tuple[int, str, str]]
        ] = {}  # partition -> (offset, filter, node), ascending

    def __len__(self) -> int:
        return sum(map(len, self._nodes.values()))

    @property
    def partitions(self) -> list[int]:
        """Partitions that routes are kept for."""
        return [partition for partition, rows in self._by_age.items() if rows]

    def add(self, partition: int, offset: int, filter: str, node: str) -> None:
        """Keep a route read at this position; within a partition offsets ascend."""
        nodes = self._nodes.get(filter)
        if nodes is None:
            nodes = self._nodes[filter] = {}
            if shape := shape_of(filter):
                self._shapes[shape] += 1
        nodes[node] = offset
        self._by_age.setdefault(partition, deque()).append((offset, filter, node))

    def prune(self, partition: int, version: int) -> None:
        """Forget what the router's table holds: the partition's routes before this offset."""
        rows = self._by_age.get(partition, ())
        while rows and rows[0][0] < version:
            offset, filter, node = rows.popleft()
            nodes = self._nodes.get(filter, {})
            if nodes.get(node) != offset:
                continue  # a newer record of the same route stands further back
            del nodes[node]
            if not nodes:
                del self._nodes[filter]
                self._drop_shape(filter)

    def match(self, topic: str) -> list[RouteHit]:
        """The fresh routes that match a topic; nearly always none, and then this costs nothing."""
        if not self._nodes:
            return []
        return [
            RouteHit(key, node)
            for key in candidate_keys(topic, self._shapes)
            for node in self._nodes.get(key, ())
        ]  # fmt: skip

    def _drop_shape(self, filter: str) -> None:
        if shape := shape_of(filter):
            self._shapes[shape] -= 1
            if not self._shapes[shape]:
                del self._shapes[shape]
