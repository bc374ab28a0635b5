"""Subscriptions that a publish may have missed, because they were made while it was on its way (I9).

A publish passes the barrier, then it is appended; a subscription that becomes durable in between is not among its fresh
routes, and what the subscriber reads of retained messages may be from before. So a retained record tells how far its
gateway had read the subscription log: whose subscription stands there or behind, and was read for before the record
came, gets it from here.

Pure, and bounded: only the latest subscriptions are remembered.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from contracts.topics import matches

Subscriber = TypeVar("Subscriber")

_REMEMBERED = 10_000
"""Of each partition of the subscription log. More can't be made in the time that a publish takes from its barrier to
Kafka, but where a gateway stands still in between."""


@dataclass(slots=True, eq=False)
class Newcomer(Generic[Subscriber]):
    """A subscription that is new."""

    subscriber: Subscriber | None
    """Whose; None when it has ended."""
    filter: str
    """Its filter."""
    since: int
    """The moment from which on it was served (`LiveOrder.now`)."""
    read_at: int | None = None
    """The view's sequence when its retained messages were read; None before."""


class Newcomers(Generic[Subscriber]):
    """The latest subscriptions by where they stand in the subscription log."""

    def __init__(self) -> None:
        self._unplaced: dict[Newcomer[Subscriber], None] = {}
        self._offsets: dict[int, list[int]] = {}
        self._placed: dict[int, list[Newcomer[Subscriber]]] = {}
        self._of: dict[Subscriber, dict[str, Newcomer[Subscriber]]] = {}

    def add(self, newcomer: Newcomer[Subscriber]) -> None:
        """A subscription is being made."""
        assert newcomer.subscriber is not None  # noqa: S101 - it would have ended
        self._unplaced[newcomer] = None
        self._of.setdefault(newcomer.subscriber, {})[newcomer.filter] = newcomer

    def place(self, newcomer: Newcomer[Subscriber], partition: int, offset: int) -> None:
        """Its record is durable; those of a partition come in its order."""
        if self._unplaced.pop(newcomer, newcomer) is newcomer:
            return  # it has ended
        offsets, placed = self._offsets.setdefault(partition, []), self._placed.setdefault(partition, [])
        offsets.append(offset)
        placed.append(newcomer)
        if len(offsets) >= 2 * _REMEMBERED:
            for old in placed[:_REMEMBERED]:
                self._drop(old)
            del offsets[:_REMEMBERED], placed[:_REMEMBERED]

    def end(self, subscriber: Subscriber, filter: str) -> None:
        """A subscription has ended."""
        newcomer = self._of.get(subscriber, {}).get(filter)
        if newcomer is not None:
            self._drop(newcomer)

    def missed(
        self, topic: str, sequence: int, subscriptions_read: Sequence[int]
    ) -> Iterator[Newcomer[Subscriber]]:
        """Those who read before a record came, and whose subscriptions its gateway may not have known.

        Args:
            topic: The record's.
            sequence: The view's, with the record in it.
            subscriptions_read: As the record tells; partitions that it does not name count as unread.
        """
        for newcomer in self._unknown(subscriptions_read):
            has_read = newcomer.read_at is not None and newcomer.read_at < sequence
            if has_read and newcomer.subscriber is not None and matches(newcomer.filter, topic):
                yield newcomer

    def _unknown(self, read: Sequence[int]) -> Iterator[Newcomer[Subscriber]]:
        for partition, offsets in self._offsets.items():
            end = read[partition] if partition < len(read) else 0
            if offsets and offsets[-1] >= end:
                yield from self._placed[partition][bisect_left(offsets, end) :]
        yield from list(self._unplaced)

    def _drop(self, newcomer: Newcomer[Subscriber]) -> None:
        subscriber = newcomer.subscriber
        if subscriber is None:
            return
        newcomer.subscriber = None
        self._unplaced.pop(newcomer, None)
        mine = self._of[subscriber]
        if mine.get(newcomer.filter) is newcomer:
            del mine[newcomer.filter]
        if not mine:
            del self._of[subscriber]
