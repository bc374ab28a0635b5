"""Who holds which exclusive filter, as the subscription log says; pure, and the same on every gateway.

A claim is an ordinary subscription to the filter as written, `$exclusive/<filter>`; all claims of one filter stand in
one partition, in one order. Whoever's claim comes when nobody holds the filter holds it, until its tombstone; whoever's
comes meanwhile is refused, and writes its tombstone itself. A holder then says that it is one, with the QoS `HELD`:
that word counts by itself, so that who reads the log later, when compaction has taken what stood before it, is not
misled by claims that were refused.
"""

from __future__ import annotations

from collections.abc import Callable

from contracts.topics import is_exclusive

CLAIMED, HELD = 0, 1
"""The QoS of a record that claims, and of one that tells of a holder."""

Told = Callable[[bool], None]
"""Told whether a claim holds."""


class ExclusiveClaims:
    """Filter as written → the client that holds it."""

    def __init__(self) -> None:
        self._holders: dict[str, str] = {}
        self._waiting: dict[tuple[str, str], Told] = {}

    def __len__(self) -> int:
        return len(self._holders)

    def holder(self, filter: str) -> str | None:
        """Who holds a filter, as far as the log was read."""
        return self._holders.get(filter)

    def await_claim(self, client_id: str, filter: str, told: Told) -> None:
        """Call back, once, when a claim is read that is about to be written."""
        self._waiting[client_id, filter] = told

    def read(self, client_id: str, filter: str, qos: int) -> None:
        """A subscription was read; one that is not exclusive is passed over."""
        if not is_exclusive(filter):
            return
        holder = self._holders.get(filter)
        if holder is None or qos >= HELD:
            self._holders[filter] = holder = client_id
        if qos == CLAIMED and (told := self._waiting.pop((client_id, filter), None)) is not None:
            told(holder == client_id)

    def end(self, client_id: str, filter: str) -> None:
        """A subscription's end was read; that of a claim that was refused changes nothing."""
        if self._holders.get(filter) == client_id:
            del self._holders[filter]
