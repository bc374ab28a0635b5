"""The wills of one partition's clients, as their owner keeps them: pure data.

A will is kept from its connection's `connect` on. While the gateway lives, the gateway publishes it, and the end of the
connection ends it here. It is the owner's when the gateway is lost, or leaves it to the owner: then it is published at
once, or waits for its Will Delay Interval. Publishing it and ending it here are one transaction.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import replace

from contracts.session_event import WillBegun
from contracts.session_record import KeptWill, will_key
from contracts.will_record import Will
from edge.gateway.sessions.effects import PublishWill, Store


class KeptWills:
    """Client id → connection → will."""

    def __init__(self) -> None:
        self._wills: dict[str, dict[str, KeptWill]] = {}
        self._due: list[tuple[int, str, str]] = []
        """A heap; entries of wills that wait no more are passed over."""

    def __len__(self) -> int:
        return sum(map(len, self._wills.values()))

    def restore(self, client_id: str, connection: str, kept: KeptWill | None) -> None:
        """Take a record, in the log's order; None for a tombstone."""
        if kept is None:
            self._remove(client_id, connection)
        else:
            self._put(client_id, kept)

    def of(self, client_id: str, connection: str) -> KeptWill | None:
        """A connection's will."""
        return self._wills.get(client_id, {}).get(connection)

    # steps

    def keep(self, client_id: str, connection: str, will: Will | None) -> Iterator[Store]:
        """A connection asks to be let in."""
        if will is not None:
            yield self._store(client_id, KeptWill(connection, will))

    def begin(self, client_id: str, begun: WillBegun) -> Iterator[Store]:
        """Its node is about to publish it."""
        kept = self.of(client_id, begun.connection)
        if kept is not None:
            yield self._store(client_id, replace(kept, begun_at_ms=begun.at_ms))

    def wait(self, client_id: str, kept: KeptWill, due_at_ms: int) -> Store:
        """It is published at this time, unless it is dropped before."""
        return self._store(client_id, replace(kept, due_at_ms=due_at_ms))

    def drop(self, client_id: str, connection: str) -> Iterator[Store]:
        """It is void, or its node has published it."""
        if self._remove(client_id, connection) is not None:
            yield Store(will_key(client_id, connection), None)

    def settle_waiting(self, client_id: str, back_at_ms: int) -> Iterator[PublishWill | Store]:
        """The client came back at this time, and its session goes on: no will is published any more [MQTT-3.1.3-9]."""
        for kept in list(self._wills.get(client_id, {}).values()):
            if kept.due_at_ms is None:
                continue
            is_due = kept.due_at_ms <= back_at_ms
            yield from (self.publish if is_due else self.drop)(client_id, kept.connection)

    def publish(self, client_id: str, connection: str) -> Iterator[PublishWill | Store]:
        """Its time has come, and it is the owner's."""
        kept = self._remove(client_id, connection)
        if kept is not None:
            yield PublishWill(client_id, kept)
            yield Store(will_key(client_id, connection), None)

    # time

    @property
    def next_deadline_ms(self) -> int | None:
        """When `due` may have something; None for never."""
        return self._due[0][0] if self._due else None

    def due(self, now_ms: int, most: int, most_bytes: int) -> Iterator[PublishWill | Store]:
        """Publish those that have waited long enough: so many, and about so many bytes, at most."""
        while self._due and self._due[0][0] <= now_ms and most > 0 and most_bytes > 0:
            at_ms, client_id, connection = heapq.heappop(self._due)
            kept = self.of(client_id, connection)
            if kept is not None and kept.due_at_ms == at_ms:
                most, most_bytes = most - 1, most_bytes - kept.will.size
                yield from self.publish(client_id, connection)

    def _store(self, client_id: str, kept: KeptWill) -> Store:
        self._put(client_id, kept)
        return Store(will_key(client_id, kept.connection), kept)

    def _put(self, client_id: str, kept: KeptWill) -> None:
        self._wills.setdefault(client_id, {})[kept.connection] = kept
        if kept.due_at_ms is not None:
            heapq.heappush(self._due, (kept.due_at_ms, client_id, kept.connection))

    def _remove(self, client_id: str, connection: str) -> KeptWill | None:
        wills = self._wills.get(client_id, {})
        kept = wills.pop(connection, None)
        if not wills:
            self._wills.pop(client_id, None)
        return kept
