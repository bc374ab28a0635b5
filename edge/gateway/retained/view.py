"""Which record of each topic counts: the one whose publish stands highest in `tbmq.msg.all`, whatever came in between.

Pure: no Kafka, no clock. Times are ms since 1970, given by the caller.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto

from contracts.publish_record import PublishRecord
from contracts.retained_record import RetainedRecord
from edge.gateway.retained.topic_index import TopicIndex

_DELETIONS = 10_000
"""Deletions that are remembered, the latest ones: an older set that comes after them is known as old."""
_SPARE = 1_000  # entries of the heap that may be out of date before it is made anew


@dataclass(slots=True, eq=False)
class Retained:
    """The retained message of a topic."""

    record: PublishRecord
    """The message."""
    partition: int
    """Partition of its publish in `tbmq.msg.all`."""
    offset: int
    """Its offset there."""
    sequence: int
    """How many changes the view had seen with this one; a reader that began earlier is not to get it as retained."""
    expires_at_ms: int | None
    """When it expires; None for never."""

    @property
    def topic(self) -> str:
        """Its topic."""
        return self.record.topic


class Verdict(Enum):
    """What a record of the log means."""

    NEW = auto()
    """It counts from now on."""
    KNOWN = auto()
    """It is what counts already."""
    STALE = auto()
    """What counts is newer, and must come to stand behind it in the log."""


class RetainedView:
    """All retained messages."""

    def __init__(self) -> None:
        self._index: TopicIndex[Retained] = TopicIndex()
        self._deletions: dict[str, RetainedRecord] = {}
        self._expiries: list[tuple[int, str, int]] = []  # a heap: when, topic, sequence
        self._expiring = 0
        self.sequence = 0
        """How many changes there have been."""

    def __len__(self) -> int:
        return len(self._index)

    def get(self, topic: str) -> Retained | None:
        """What is retained of a topic."""
        return self._index.get(topic)

    def find(self, filter: str) -> Iterator[Retained | None]:
        """What is retained of the topics that match a filter; None now and then, as `TopicIndex.find` has it."""
        return self._index.find(filter)

    def take(self, record: RetainedRecord, now_ms: int) -> Verdict:
        """The next record of the log."""
        topic = record.topic
        held = self._index.get(topic)
        known = self._deletions.get(topic) if held is None else held
        if known is not None and known.partition == record.partition:
            if known.offset > record.offset:
                return Verdict.STALE
            # That it has expired is told by a deletion at its own place.
            if known.offset == record.offset and not (record.is_deletion and held is not None):
                return Verdict.KNOWN
        self.sequence += 1
        if record.is_deletion:
            self._delete(record)
        else:
            self._put(record, now_ms)
        return Verdict.NEW

    def winner(self, topic: str) -> RetainedRecord | None:
        """What counts of a topic, to be appended again; None where nothing is known of it."""
        if (held := self._index.get(topic)) is not None:
            return RetainedRecord(held.record, held.partition, held.offset)
        return self._deletions.get(topic)

    def next_expiry_ms(self) -> int | None:
        """When the next message expires."""
        return self._expiries[0][0] if self._expiries else None

    def expire(self, now_ms: int) -> list[RetainedRecord]:
        """Let go of what has expired [MQTT-3.3.2-5]; returns the deletions that the log is to have."""
        gone = []
        while self._expiries and self._expiries[0][0] <= now_ms:
            _, topic, sequence = heapq.heappop(self._expiries)
            held = self._index.get(topic)
            if held is not None and held.sequence == sequence:
                self.sequence += 1
                empty = replace(held.record, payload=b"")
                gone.append(RetainedRecord(empty, held.partition, held.offset))
                self._delete(gone[-1])
        return gone

    def _put(self, record: RetainedRecord, now_ms: int) -> None:
        message = record.record
        expires_at = None
        if (expiry := message.properties.message_expiry) is not None:
            # A clock that goes before ours must not prolong a message's life.
            published_at = min(message.properties.published_at_ms or now_ms, now_ms)
            expires_at = published_at + expiry * 1_000
        # Publishers and gateways are few beside messages.
        message = replace(message, client_id=sys.intern(message.client_id), node=sys.intern(message.node))
        self._forget(record.topic)
        self._index.put(
            record.topic, Retained(message, record.partition, record.offset, self.sequence, expires_at)
        )
        if expires_at is not None:
            self._expiring += 1
            heapq.heappush(self._expiries, (expires_at, record.topic, self.sequence))
            if len(self._expiries) > 2 * self._expiring + _SPARE:
                self._rebuild()

    def _delete(self, deletion: RetainedRecord) -> None:
        self._forget(deletion.topic)
        self._index.remove(deletion.topic)
        self._deletions[deletion.topic] = deletion
        if len(self._deletions) > _DELETIONS:
            del self._deletions[next(iter(self._deletions))]

    def _forget(self, topic: str) -> None:
        self._deletions.pop(topic, None)
        held = self._index.get(topic)
        if held is not None and held.expires_at_ms is not None:
            self._expiring -= 1

    def _rebuild(self) -> None:
        self._expiries = [
            (held.expires_at_ms, held.topic, held.sequence)
            for held in self._index
            if held.expires_at_ms is not None
        ]
        heapq.heapify(self._expiries)
