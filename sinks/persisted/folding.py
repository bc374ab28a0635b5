"""Folding the Kafka partitions of a batch into the store; runs in Spark's Python workers.

The records come in offset order. They are folded from where the store stands, so a batch that is run again, or that a
part of was in the store already, changes nothing twice. What a batch has of a partition is one transaction, unless much
is left of it: then it is several, each of which leaves the store as it should be at its own position.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]

from contracts.persisted_log import PartitionFold
from contracts.persisted_record import Message
from sinks.outcomes import Counters, Outcome, Trouble, encode_outcome
from sinks.partition_rows import is_behind, runs
from sinks.persisted.records import Passed, read_records
from sinks.persisted.store import StoreSettings
from stores import StalePositionError, Store, StoreUnavailableError

MAX_CHUNK_BYTES = 8 << 20
"""What one transaction brings at most, but for a last record: bounds the worker's memory, and how long all others wait
for the store."""
MAX_CHUNK_CHANGES = 10_000
"""The same as a number of messages and acknowledgements."""


@dataclass(frozen=True)
class FoldTask:
    """What a worker has to know. It is sent there with each batch."""

    store: StoreSettings
    known: dict[int, int | None]
    """Where each partition stood in the store when the driver last heard of it."""


def fold_partitions(batches: Iterator[pa.RecordBatch], task: FoldTask) -> Iterator[pa.RecordBatch]:
    """Fold the Kafka partitions that came to one of Spark's tasks, one after the other; gives a row for each."""
    found = itertools.chain.from_iterable(map(runs, batches))
    for partition, run in itertools.groupby(found, key=operator.itemgetter(0)):
        yield encode_outcome(_fold(partition, (rows for _, rows in run), task))
    # Advancing to the next group has read the last one to its end, also where a fold gave up: a worker whose input was
    # not read to its end is of no further use to Spark.


def _fold(partition: int, batches: Iterator[pa.RecordBatch], task: FoldTask) -> Outcome:
    """Fold one Kafka partition.

    Trouble with the store is told, not raised: to Spark an exception is a reason to try again at once, or to give up.
    """
    known, counters = task.known.get(partition), Counters()
    folding: _Folding | None = None
    trouble, reason = None, None
    try:
        folding = _Folding(_opened(task.store), partition, counters)
        if is_behind(folding.next_offset, known):
            trouble = Trouble.POSITION_LOST
            reason = (
                f"the store has fallen back in partition {partition}, from {known} to {folding.next_offset}"
            )
        else:
            for rows in batches:
                folding.take(rows)
            folding.write()
    except StoreUnavailableError as error:
        trouble, reason = Trouble.STORE_AWAY, str(error)
    except StalePositionError as error:
        trouble, reason = Trouble.STALE, str(error)
    return Outcome(partition, folding.next_offset if folding else known, counters, trouble, reason)


@functools.lru_cache(maxsize=1)
def _opened(settings: StoreSettings) -> Store:
    """The store, kept for the life of the worker: Spark uses workers again, and connecting costs more than a batch."""
    return settings.open()


class _Folding:
    """One partition on its way into the store."""

    def __init__(self, store: Store, partition: int, counters: Counters) -> None:
        """Reads where the store stands."""
        self._store = store
        self._partition = partition
        self._counters = counters
        with self._counting_operations():
            position = store.partition_position(partition)
        self.next_offset = position.next_offset if position else None
        """Where the store stands."""
        self._fold = PartitionFold(position)
        self._room = _Room()

    def take(self, rows: pa.RecordBatch) -> None:
        """Fold some more rows, and write what has gathered when that is much."""
        counters = self._counters
        for offset, record in read_records(rows):
            fold = self._fold
            if offset < fold.next_offset:
                continue
            counters.records += 1
            if isinstance(record, Passed):
                counters.unreadable += record is Passed.UNREADABLE
                fold.skip_to(offset + 1)
                continue
            fold.take(record)
            counters.messages += isinstance(record, Message)
            if self._room.is_used_up_by(record, fold):
                self.write()

    def write(self) -> None:
        """Write what has been folded since the last time, if anything."""
        fold = self._fold
        if fold.next_offset == (self.next_offset or 0):
            return
        batch = fold.batch()
        counters = self._counters
        with self._counting_operations():
            counters.dropped += self._store.write(self._partition, batch)
        self.next_offset = batch.position.next_offset
        counters.repeats += fold.repeated
        for changes in batch.clients.values():
            counters.stored += len(changes.added)
            counters.deleted += len(changes.deleted) + len(changes.received)
        self._fold, self._room = PartitionFold(batch.position), _Room()

    @contextmanager
    def _counting_operations(self) -> Iterator[None]:
        before = self._store.operations
        try:
            yield
        finally:
            self._counters.operations += self._store.operations - before


class _Room:
    """How much has gathered in a fold.

    What comes is counted as it comes; what acknowledgements have taken away again is found out by counting all that is
    left, only when the bound seems to be reached. So a long stretch whose messages are all acknowledged is one chunk.
    """

    def __init__(self) -> None:
        self._bytes = 0
        self._changes = 0

    def is_used_up_by(self, record: object, fold: PartitionFold) -> bool:
        """Count one more record; tell whether it is time to write."""
        if isinstance(record, Message):
            self._bytes += _size(record)
        self._changes += 1
        if self._bytes < MAX_CHUNK_BYTES and self._changes < MAX_CHUNK_CHANGES:
            return False
        self._count(fold)
        return self._bytes >= MAX_CHUNK_BYTES // 2 or self._changes >= MAX_CHUNK_CHANGES // 2

    def _count(self, fold: PartitionFold) -> None:
        self._bytes = self._changes = 0
        for changes in fold.clients.values():
            self._bytes += sum(map(_size, changes.added.values()))
            self._changes += len(changes.added) + len(changes.deleted) + len(changes.received)


def _size(message: Message) -> int:
    return len(message.value) + sum(len(name) + len(value or b"") for name, value in message.headers)
