"""Arrow rows of the log as the contracts' messages and events.

Column by column, not row by row: a dictionary for each of a message's ten headers would take most of the sink's time.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

import pyarrow as pa  # type: ignore[import-untyped]

from contracts.errors import RecordError
from contracts.persisted_record import Event, Message, decode
from contracts.probe_record import is_answer

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
    headers = rows.column("headers")
    first = headers.offsets.to_pylist()
    pairs = (
        headers.values
    )  # Not `flatten()`, which leaves out what null lists may cover; the offsets would not fit.
    names = pairs.field("key").to_pylist()
    values = pairs.field("value").to_pylist()
    offsets = rows.column("offset").to_pylist()
    keys = rows.column("key").to_pylist()
    payloads = rows.column("value").to_pylist()
    for index, offset in enumerate(offsets):
        begin, end = first[index], first[index + 1]
        found = list(zip(names[begin:end], values[begin:end], strict=True))
        if is_answer(found):
            yield offset, Passed.PROBE
            continue
        try:
            yield offset, decode(offset, keys[index], payloads[index], found)
        except RecordError:
            yield offset, Passed.UNREADABLE
