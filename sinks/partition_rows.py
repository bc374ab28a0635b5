"""Rows of a batch by their Kafka partition, as Spark's workers get them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]


def runs(rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Rows cut where the Kafka partition changes."""
    encoded = pc.run_end_encode(rows.column("partition"))
    begin = 0
    for partition, end in zip(encoded.values.to_pylist(), encoded.run_ends.to_pylist(), strict=True):
        yield partition, rows.slice(begin, end - begin)
        begin = end


def is_behind(stands: int | None, known: int | None) -> bool:
    """Whether a store has less of a partition than it had."""
    return known is not None and (stands is None or stands < known)


def header_lists(rows: pa.RecordBatch) -> Iterator[list[tuple[str, bytes | None]]]:
    """Each row's headers.

    Column by column, not row by row: a dictionary for each of a message's ten headers would take most of a sink's time.
    """
    headers = rows.column("headers")
    first = headers.offsets.to_pylist()
    pairs = (
        headers.values
    )  # Not `flatten()`, which leaves out what null lists may cover; the offsets would not fit.
    names = pairs.field("key").to_pylist()
    values = pairs.field("value").to_pylist()
    for begin, end in itertools.pairwise(first):
        yield list(zip(names[begin:end], values[begin:end], strict=True))
