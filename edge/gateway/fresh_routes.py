"""Fresh routes: those that the router's table may not hold yet, so publishes must carry them in-band (I2).

Pure data, no I/O. Positions are offsets in `tbmq.client.subscriptions`, versions are as probes' answers give them. Only
additions are kept: a route that has gone meanwhile costs a record which its gateway drops.
"""

from __future__ import annotations

from collections import Counter, deque

from contracts.publish_record import RouteHit
from contracts.route_table import NODE, NODE0, takes
from contracts.topics import Shape, candidate_keys, shape_of

Target = tuple[str, str]
"""(kind, node id or client id), as in contracts.route_table."""


class FreshRoutes:
    """Routes by filter, indexed by shape like the router's own table; matched against every publish."""

    def __init__(self) -> None:
        self._targets: dict[str, dict[Target, int]] = {}  # filter -> target -> offset of the newest record
        self._shapes: Counter[Shape] = Counter()
        # partition -> (offset, filter, target), ascending
        self._by_age: dict[int, deque[tuple[int, str, Target]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._targets.values()))

    @property
    def partitions(self) -> list[int]:
        """Partitions that routes are kept for."""
        return [partition for partition, rows in self._by_age.items() if rows]

    def add(self, partition: int, offset: int, filter: str, node: str, kind: str = NODE) -> None:
        """Keep a route read at this position; within a partition offsets do not descend.

        Args:
            partition: Of `tbmq.client.subscriptions`.
            offset: There. A subscription that makes two routes adds both at its offset.
            filter: Without share prefix.
            node: The target: a node id, or a client id.
            kind: As in contracts.route_table.
        """
        targets = self._targets.get(filter)
        if targets is None:
            targets = self._targets[filter] = {}
            if shape := shape_of(filter):
                self._shapes[shape] += 1
        targets[kind, node] = offset
        self._by_age.setdefault(partition, deque()).append((offset, filter, (kind, node)))

    def prune(self, partition: int, version: int) -> None:
        """Forget what the router's table holds: the partition's routes before this offset."""
        rows = self._by_age.get(partition, ())
        while rows and rows[0][0] < version:
            offset, filter, target = rows.popleft()
            targets = self._targets.get(filter, {})
            if targets.get(target) != offset:
                continue  # a newer record of the same route stands further back
            del targets[target]
            if not targets:
                del self._targets[filter]
                self._drop_shape(filter)

    def match(self, topic: str, qos: int) -> list[RouteHit]:
        """The fresh routes that a message takes; nearly always none, and then this costs nothing.

        The router would drop the others by their kind; left out here, they take no room in the record.
        """
        if not self._targets:
            return []
        return [
            RouteHit(key, node, kind)
            for key in candidate_keys(topic, self._shapes)
            if (targets := self._targets.get(key))
            for kind, node in targets
            if takes(kind, qos) and not (kind == NODE0 and (NODE, node) in targets)
        ]

    def _drop_shape(self, filter: str) -> None:
        if shape := shape_of(filter):
            self._shapes[shape] -= 1
            if not self._shapes[shape]:
                del self._shapes[shape]
