"""Arrow rows of the log as the contracts' messages and events."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

import pyarrow as pa  # type: ignore[import-untyped]

from contracts.errors import RecordError
from contracts.persisted_record import Event, Message, decode
from contracts.probe_record import is_answer
from sinks.partition_rows import header_lists

COLUMNS = ("partition", "offset", "key", "value", "headers")
"""What of the log a fold is given."""


class Passed(Enum):
    """Why a record is passed over."""

    UNREADABLE = auto()
    """It is not of the documented form."""
    PROBE = auto()
    """The router's own: it asks itself how far it has written."""


def read_records(rows: pa.RecordBatch) -> Iterator[tuple[int, Message | Event | Passed]]:
    """Each row's offset, with what it says, or why it says nothing.

    Args:
        rows: `COLUMNS`, of one Kafka partition.
    """
    headers = header_lists(rows)
    offsets = rows.column("offset").to_pylist()
    keys = rows.column("key").to_pylist()
    payloads = rows.column("value").to_pylist()
    for index, (offset, found) in enumerate(zip(offsets, headers, strict=True)):
        if is_answer(found):
            yield offset, Passed.PROBE
            continue
        try:
            yield offset, decode(offset, keys[index], payloads[index], found)
        except RecordError:
            yield offset, Passed.UNREADABLE
