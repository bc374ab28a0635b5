"""The subscription table as of a moment, from what the compacted log still has.

Kafka keeps each key's last record. What it may have removed of an older moment is a record that was the last one
*then*, and has been replaced since. A reading proves that nothing of that kind is missing, in one of these ways:

* The moment is the log's end.
* No offset is missing before the moment: nothing has been removed there.
* Some key stands twice before the moment: compaction has not come so far, or it would have removed the older record. It
  removes nothing but what was replaced before the place that it has come to.
* All that came later is younger than the topic's `min.compaction.lag.ms`.

Else the table of that moment can't be told, and that is an error, unless whoever asks takes what is left.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from contracts.kafka_topics import KafkaTopics
from routing.errors import PastTableError
from routing.routes.assumptions import NOWHERE
from routing.routes.changes import Latest, read_changes
from routing.routes.kafka import RouteLog
from routing.routes.partition import route_rows
from routing.routes.snapshot import STREAM_ROWS
from routing.routes.table import empty_state, merge

_Reading = TypeVar("_Reading")
LAG_SETTING = "min.compaction.lag.ms"


@dataclass(frozen=True)
class Evidence:
    """What a reading of the log before a moment has found."""

    records: int
    has_gap: bool
    """Whether an offset is missing."""
    has_pair: bool
    """Whether a key stands there twice."""

    @property
    def is_proof(self) -> bool:
        """Whether nothing can be missing, as this module says."""
        return self.has_pair or not self.has_gap


@dataclass(frozen=True)
class PastPartition:
    """One partition of the table as of an offset, with assumptions."""

    bootstrap: str
    topics: KafkaTopics
    partition: int
    end: int
    """The moment: the first offset that is not part of it."""
    is_proved: bool
    """Whether it is known already that nothing is missing, or whoever asks takes what is left."""
    assumed: Latest

    def routes(self) -> Iterator[pa.RecordBatch]:
        """Rows of the route table; the version of those that are only assumed is null. No row answers probes."""
        state = self._proved(self._state)
        if self.assumed:
            state = merge(state, read_changes(self.assumed)[0])
        for batch in state.to_batches(STREAM_ROWS):
            rows = batch.filter(batch.column("first"))
            if rows.num_rows:
                is_assumed = pc.equal(rows.column("offset"), NOWHERE)
                versions = pc.if_else(is_assumed, pa.scalar(None, pa.int64()), self.end)
                yield route_rows(rows, self.partition, versions)

    def latest(self) -> dict[bytes, tuple[int, bytes | None, int | None]]:
        """Each key's last record: (offset, value, time in ms); no tombstones. All of the partition is in memory."""
        found = self._proved(self._records)
        found |= {key: (offset, value, None) for key, (offset, value) in self.assumed.items()}
        return {key: record for key, record in found.items() if record[1]}

    @property
    def _log(self) -> RouteLog:
        return RouteLog(self.bootstrap, self.topics.subscriptions)

    def _state(self, low: int) -> pa.Table:
        state = empty_state()
        for latest in self._log.tail(self.partition, low, self.end):
            state = merge(state, read_changes(latest)[0])
        return state

    def _records(self, low: int) -> dict[bytes, tuple[int, bytes | None, int | None]]:
        found: dict[bytes, tuple[int, bytes | None, int | None]] = {}
        for message in self._log.records(self.partition, low, self.end):
            found[message.key() or b""] = (message.offset() or 0, message.value(), message.timestamp()[1])
        return found

    def _proved(self, read: Callable[[int], _Reading]) -> _Reading:
        """What a reading gives, when it is proved that nothing was missing while it read.

        Raises:
            PastTableError: That can't be proved.
        """
        low, end = self._log.bounds(self.partition, self.end)
        if self.is_proved or self.end >= end or self._is_within_lag(end):
            return read(low)
        before = self._evidence(low)
        while True:
            found = read(low)
            # As many records before and after: none was removed in between.
            after = self._evidence(low)
            if after == before:
                break
            before = after
        if not after.is_proof:
            raise PastTableError(
                f"partition {self.partition} of {self.topics.subscriptions} was compacted, and whether also behind "
                f"offset {self.end} can't be told: choose a later moment, or take what is left "
                f"(incomplete=allow); a larger {LAG_SETTING} of that Kafka topic keeps more"
            )
        return found

    def _evidence(self, low: int) -> Evidence:
        seen: set[int] = set()
        records, following, has_gap, has_pair = 0, 0, False, False
        for message in self._log.records(self.partition, low, self.end):
            key, offset = hash(message.key()), message.offset() or 0
            has_gap |= offset != following
            has_pair |= key in seen
            seen.add(key)
            records, following = records + 1, offset + 1
        return Evidence(records, has_gap or following != self.end, has_pair)

    def _is_within_lag(self, end: int) -> bool:
        lag_ms = int(self._log.setting(LAG_SETTING))
        if lag_ms <= 0:
            return False
        later = next(iter(self._log.records(self.partition, self.end, end)), None)
        return later is None or later.timestamp()[1] > time.time() * 1000 - lag_ms
