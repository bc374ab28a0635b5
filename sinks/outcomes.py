"""What folding one Kafka partition of a batch tells the driver: an Arrow row, as that is how Spark's workers answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]


class Trouble(StrEnum):
    """Why a partition was not folded to its end."""

    STORE_AWAY = "store away"
    """The store does not answer: wait for it, then try again."""
    STALE = "stale"
    """Another sink has written meanwhile: try again at once."""
    POSITION_LOST = "position lost"
    """The store has fallen back: start anew from where it stands."""


@dataclass(slots=True)
class Counters:
    """What folding has come to; sums over chunks, partitions and batches."""

    records: int = 0
    """Records taken."""
    messages: int = 0
    """Messages among them."""
    repeats: int = 0
    """Messages that the router had written before."""
    unreadable: int = 0
    """Records that are neither message nor event, passed over."""
    stored: int = 0
    """Messages that nobody had acknowledged within the same batch: all that the store is burdened with."""
    deleted: int = 0
    """Stored messages that are acknowledged by now, or received (QoS 2)."""
    dropped: int = 0
    """The oldest messages of clients that have too many."""
    operations: int = 0
    """Commands or statements of the store, among them two a partition and batch that read and write its position."""

    def add(self, other: Counters) -> None:
        """Sum up."""
        for each in fields(Counters):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


@dataclass(frozen=True, slots=True)
class Outcome:
    """How far one partition is in the store, and what that took."""

    partition: int
    next_offset: int | None
    """The store has everything before it; None: the store is not known to have anything."""
    counters: Counters
    trouble: Trouble | None = None
    reason: str | None = None
    """What is wrong, in words."""


_COUNTERS = [each.name for each in fields(Counters)]
OUTCOME_SCHEMA = "partition INT, next_offset LONG, trouble STRING, reason STRING, " + ", ".join(
    f"{name} LONG" for name in _COUNTERS
)
"""The same as Spark's DDL."""
_ARROW = pa.schema(
    [
        ("partition", pa.int32()),
        ("next_offset", pa.int64()),
        ("trouble", pa.string()),
        ("reason", pa.string()),
    ]
    + [(name, pa.int64()) for name in _COUNTERS]
)


def encode_outcome(outcome: Outcome) -> pa.RecordBatch:
    """One outcome as one row."""
    row = {
        "partition": outcome.partition,
        "next_offset": outcome.next_offset,
        "trouble": outcome.trouble,
        "reason": outcome.reason,
        **asdict(outcome.counters),
    }
    return pa.RecordBatch.from_pylist([row], schema=_ARROW)


def decode_outcome(row: dict[str, Any]) -> Outcome:
    """The outcome in a collected row."""
    trouble = row["trouble"]
    return Outcome(
        row["partition"],
        row["next_offset"],
        Counters(**{name: row[name] for name in _COUNTERS}),
        None if trouble is None else Trouble(trouble),
        row["reason"],
    )
