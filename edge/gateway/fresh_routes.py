"""Fresh routes: those that the router's table may not hold yet, so publishes must carry them in-band (I2).

Pure data, no I/O. Positions are offsets in `tbmq.client.subscriptions`, versions are as probes' answers give them. A
route to a gateway stays when the subscription that made it ends, for others there may need it: it costs a record, which
the gateway drops, and no filter has more of them than there are gateways. A route to one client ends with it.
"""

from __future__ import annotations

from collections import Counter, deque

from contracts.kafka_topics import application_suffix
from contracts.publish_record import RouteHit, routes_header
from contracts.route_table import APP, DEVICE, NODE, NODE0, takes
from contracts.topics import Shape, candidate_keys, shape_of

_REMEMBERED = 10_000  # topics whose header is kept until a route comes or goes

Target = tuple[str, str]
"""(kind, node id or client id), as in contracts.route_table."""


class FreshRoutes:
    """Routes by filter, indexed by shape like the router's own table; matched against every publish."""

    def __init__(self) -> None:
        self._targets: dict[str, dict[Target, int]] = {}  # filter -> target -> offset of the newest record
        self._shapes: Counter[Shape] = Counter()
        # partition -> (offset, filter, target), ascending
        self._by_age: dict[int, deque[tuple[int, str, Target]]] = {}
        self._headers: dict[tuple[str, bool], tuple[str, bytes] | None] = {}

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
        self._headers.clear()
        targets = self._targets.get(filter)
        if targets is None:
            targets = self._targets[filter] = {}
            if shape := shape_of(filter):
                self._shapes[shape] += 1
        targets[kind, node] = offset
        self._by_age.setdefault(partition, deque()).append((offset, filter, (kind, node)))

    def end(self, client_id: str, filter: str) -> None:
        """Forget the routes to this client alone: its subscription to this filter has ended, or is made anew."""
        if targets := self._targets.get(filter):
            for target in ((DEVICE, client_id), (APP, application_suffix(client_id))):
                if target in targets:
                    self._drop(filter, target)

    def prune(self, partition: int, version: int) -> None:
        """Forget what the router's table holds: the partition's routes before this offset."""
        rows = self._by_age.get(partition, ())
        while rows and rows[0][0] < version:
            offset, filter, target = rows.popleft()
            # Else it has ended, or a newer record of the same route stands further back.
            if self._targets.get(filter, {}).get(target) == offset:
                self._drop(filter, target)

    def header(self, topic: str, qos: int) -> tuple[str, bytes] | None:
        """The `routes` header of a message, or None; nearly always the latter, and then this costs nothing."""
        if not self._targets:
            return None
        asked = topic, qos > 0
        try:
            return self._headers[asked]
        except KeyError:
            if len(self._headers) >= _REMEMBERED:
                self._headers.clear()
            hits = self.match(topic, qos)
            header = self._headers[asked] = routes_header(hits) if hits else None
            return header

    def match(self, topic: str, qos: int) -> list[RouteHit]:
        """The fresh routes that a message takes.

        The router would drop the others by their kind; left out here, they take no room in the record.
        """
        return [
            RouteHit(key, node, kind)
            for key in candidate_keys(topic, self._shapes)
            if (targets := self._targets.get(key))
            for kind, node in targets
            if takes(kind, qos) and not (kind == NODE0 and (NODE, node) in targets)
        ]

    def _drop(self, filter: str, target: Target) -> None:
        self._headers.clear()
        targets = self._targets[filter]
        del targets[target]
        if targets:
            return
        del self._targets[filter]
        if shape := shape_of(filter):
            self._shapes[shape] -= 1
            if not self._shapes[shape]:
                del self._shapes[shape]
