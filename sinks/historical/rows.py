"""What the statistics get of `tbmq.sys.historical.data`: all of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame

from contracts import historical_record
from contracts.errors import RecordError
from contracts.historical_record import HistoricalRecord
from stores.historical import StatisticsStore

_BYTES_A_COUNTER = 100


def historical_columns(records: DataFrame) -> DataFrame:
    """Records → partition, offset, key, value."""
    return records.select("partition", "offset", "key", "value")


@dataclass(frozen=True)
class HistoricalFormat:
    """See `sinks.appending.RowFormat`."""

    url: str
    """The database's; may have a password in it."""

    def open(self) -> StatisticsStore:
        """See the protocol."""
        return StatisticsStore(self.url)

    def read(self, rows: pa.RecordBatch) -> Iterator[tuple[int, HistoricalRecord | None]]:
        """See the protocol."""
        columns = [rows.column(name).to_pylist() for name in ("offset", "key", "value")]
        for offset, key, value in zip(*columns, strict=True):
            try:
                yield offset, historical_record.decode(key, value)
            except RecordError:
                yield offset, None

    def size(self, row: HistoricalRecord) -> int:
        """See the protocol."""
        return _BYTES_A_COUNTER * len(row.counters)
