"""Appending a log's Kafka partitions to a store in SQL; runs in Spark's Python workers.

Rows come in offset order. Each chunk of them is one transaction together with the position behind it, so whatever is
run again passes over what is in.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa  # type: ignore[import-untyped]

from sinks.outcomes import Counters, Outcome, Trouble, encode_outcome
from sinks.partition_rows import is_behind, runs
from stores import StalePositionError, StoreUnavailableError


class RowStore(Protocol):
    """What is appended to."""

    def positions(self, partitions: Iterable[int]) -> dict[int, int | None]:
        """The next offset of each partition; None where nothing of it is there."""
        ...

    def write(self, partition: int, begins: int | None, next_offset: int, rows: Sequence[Any]) -> None:
        """Write rows, and that the partition is in up to `next_offset`; all of it or nothing.

        Raises:
            StalePositionError: The partition does not stand at `begins`.
            StoreUnavailableError: The store does not answer.
        """
        ...

    def drop_older(self, before_ms: int) -> int:
        """Delete what is from before a time; how much went."""
        ...

    def close(self) -> None:
        """Give the connections back."""
        ...


class RowFormat(Protocol):
    """What is stored of a log, and where. It is sent to workers, and opens one store in each."""

    def __hash__(self) -> int:
        """A worker keeps the store of the last one."""
        ...

    def open(self) -> RowStore:
        """The store."""
        ...

    def read(self, rows: pa.RecordBatch) -> Iterator[tuple[int, Any | None]]:
        """Each row's offset and what is stored of it; None: nothing, since it is unreadable."""
        ...

    def size(self, row: Any) -> int:
        """About how many bytes of memory and transaction a row takes."""
        ...


MAX_CHUNK_BYTES = 8 << 20
"""What one transaction brings at most, but for a last row: bounds the worker's memory, and how long others wait."""
MAX_CHUNK_ROWS = 10_000
"""The same as a number of rows."""


@dataclass(frozen=True)
class AppendTask:
    """What a worker has to know. It is sent there with each batch."""

    format: RowFormat
    known: dict[int, int | None]
    """Where each partition stood in the store when the driver last heard of it."""


def append_partitions(batches: Iterator[pa.RecordBatch], task: AppendTask) -> Iterator[pa.RecordBatch]:
    """Append the Kafka partitions that came to one of Spark's tasks, one after the other; gives a row for each."""
    found = itertools.chain.from_iterable(map(runs, batches))
    for partition, run in itertools.groupby(found, key=operator.itemgetter(0)):
        yield encode_outcome(_append(partition, (rows for _, rows in run), task))
    # Advancing to the next group has read the last one to its end, as Spark's workers must.


def _append(partition: int, batches: Iterator[pa.RecordBatch], task: AppendTask) -> Outcome:
    known, counters = task.known.get(partition), Counters()
    stands = known
    trouble, reason = None, None
    try:
        store = _opened(task.format)
        stands = store.positions([partition])[partition]
        if is_behind(stands, known):
            trouble = Trouble.POSITION_LOST
            reason = f"the store has fallen back in partition {partition}, from {known} to {stands}"
        else:
            for next_offset, rows in _chunks(batches, stands or 0, task.format, counters):
                store.write(partition, stands, next_offset, rows)
                stands = next_offset
                counters.stored += len(rows)
    except StoreUnavailableError as error:
        trouble, reason = Trouble.STORE_AWAY, str(error)
    except StalePositionError as error:
        trouble, reason = Trouble.STALE, str(error)
    return Outcome(partition, stands, counters, trouble, reason)


def _chunks(
    batches: Iterator[pa.RecordBatch], begins: int, format: RowFormat, counters: Counters
) -> Iterator[tuple[int, list[Any]]]:
    """Rows from an offset on, with the offset behind them, as much as one transaction is to bring.

    The last offset is that behind the last row, also where nothing of it is stored.
    """
    chunk: list[Any] = []
    used, yielded, end = 0, begins, begins
    for batch in batches:
        end = max(end, batch.column("offset")[-1].as_py() + 1)
        if end <= begins:
            continue
        counters.records += batch.num_rows
        for offset, row in format.read(batch):
            if offset < begins:
                continue
            if row is None:
                counters.unreadable += 1
                continue
            counters.messages += 1
            chunk.append(row)
            used += format.size(row)
            if used >= MAX_CHUNK_BYTES or len(chunk) >= MAX_CHUNK_ROWS:
                yielded = offset + 1
                yield yielded, chunk
                chunk, used = [], 0
    if end > yielded:
        yield end, chunk


@functools.lru_cache(maxsize=1)
def _opened(format: RowFormat) -> RowStore:
    """The store, kept for the life of the worker: Spark uses workers again, and connecting costs more than a batch."""
    return format.open()
