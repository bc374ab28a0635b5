"""What is due when; pure.

A message costs its key and a few numbers here, whatever its size: it is read again when it is due.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator


class Agenda:
    """The messages of one partition that are to come, by due time, then in the log's order."""

    def __init__(self) -> None:
        self._places: dict[bytes, tuple[int, int]] = {}  # key -> (offset, bytes)
        self._heap: list[tuple[int, int, bytes]] = []

    def __len__(self) -> int:
        return len(self._places)

    def put(self, key: bytes, due_ms: int, offset: int, size: int) -> None:
        """A message of so many bytes is to come; one that had the same key is replaced."""
        self._places[key] = offset, size
        heapq.heappush(self._heap, (due_ms, offset, key))

    def remove(self, key: bytes) -> None:
        """It comes no more: it has been published, or withdrawn."""
        self._places.pop(key, None)

    @property
    def next_due_ms(self) -> int | None:
        """When the next is due; None when nothing is to come."""
        self._skip()
        return self._heap[0][0] if self._heap else None

    def take_due(self, now_ms: int, most: int, most_bytes: int) -> list[tuple[bytes, int]]:
        """The (key, offset) of what is due, the longest overdue first: so many at most, until they fill the bytes.

        They still count; `remove` those that were published, and `put` back those that were not.
        """
        return list(self._due(now_ms, most, most_bytes))

    def _due(self, now_ms: int, most: int, most_bytes: int) -> Iterator[tuple[bytes, int]]:
        while most > 0 and most_bytes > 0 and (due_ms := self.next_due_ms) is not None and due_ms <= now_ms:
            _, offset, key = heapq.heappop(self._heap)
            most -= 1
            most_bytes -= self._places[key][1]
            yield key, offset

    def _skip(self) -> None:
        while self._heap and self._places.get(self._heap[0][2], (-1, 0))[0] != self._heap[0][1]:
            heapq.heappop(self._heap)
