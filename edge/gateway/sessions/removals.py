"""Which applications' Kafka topics are to be removed, and when: a pure part of `Ownership`.

A topic is not removed at once when nobody needs it any more. The router's table names it until it is read anew, and the
client may come back.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from edge.gateway.sessions.effects import RemoveTopic, StoreRemoval

_AT_ONCE = 20
"""Topics removed in one round: Kafka takes some milliseconds for each, and sessions wait meanwhile."""


class Removals:
    """Client id → when its Kafka topic is to be removed."""

    def __init__(self, delay_ms: int) -> None:
        self._delay_ms = delay_ms
        self._due: dict[str, int] = {}
        self._heap: list[tuple[int, str]] = []
        """Entries that were overtaken are passed over."""

    def put(self, client_id: str, due_at_ms: int | None) -> None:
        """Take what was stored; None for no more."""
        self._due.pop(client_id, None)
        if due_at_ms is not None:
            self._due[client_id] = due_at_ms
            heapq.heappush(self._heap, (due_at_ms, client_id))

    def queue(self, client_id: str, now_ms: int) -> StoreRemoval:
        """Nobody needs a client's topic any more."""
        due_at_ms = now_ms + self._delay_ms
        self.put(client_id, due_at_ms)
        return StoreRemoval(client_id, due_at_ms)

    def cancel(self, client_id: str) -> Iterator[StoreRemoval]:
        """A client needs its topic again."""
        if client_id in self._due:
            self.put(client_id, None)
            yield StoreRemoval(client_id, None)

    @property
    def next_deadline_ms(self) -> int | None:
        """When `due` may have something to do; None for never."""
        return self._heap[0][0] if self._heap else None

    def due(self, now_ms: int) -> Iterator[RemoveTopic | StoreRemoval]:
        """Remove those whose time has come, the longest overdue first, some at a time."""
        left = _AT_ONCE
        while self._heap and self._heap[0][0] <= now_ms and left:
            at_ms, client_id = heapq.heappop(self._heap)
            if self._due.get(client_id) == at_ms:
                left -= 1
                self.put(client_id, None)
                yield RemoveTopic(client_id)
                yield StoreRemoval(client_id, None)
