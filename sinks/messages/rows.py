"""What the message store gets of `tbmq.msg.all`: messages of QoS 1 and 2, acknowledged as they stand there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

from contracts import headers as h
from contracts import publish_record
from contracts.errors import RecordError, TopicError
from contracts.topics import validate_topic
from sinks.partition_rows import header_lists
from stores.messages import ArrivedMessage, MessageStore

_CONFIRMED = (b"1", b"2")


def message_columns(records: DataFrame) -> DataFrame:
    """Records → partition, offset, at_ms, is_wanted, key, value, headers; all rows, empty where nothing is wanted.

    All, since the last one's offset tells how far the log was read; empty, since others are only carried to be dropped.
    Probes have a key that no topic can be, and so are not wanted, whatever their QoS.
    """
    is_confirmed = F.exists(
        "headers", lambda header: (header["key"] == h.QOS) & header["value"].isin(*_CONFIRMED)
    )
    is_wanted = F.coalesce(is_confirmed & ~F.startswith("key", F.lit(b"\0")), F.lit(False))
    wanted = [F.when(is_wanted, F.col(name)).alias(name) for name in ("key", "value", "headers")]
    at_ms = F.unix_millis("timestamp").alias("at_ms")
    return records.select("partition", "offset", at_ms, is_wanted.alias("is_wanted"), *wanted)


@dataclass(frozen=True)
class MessageFormat:
    """See `sinks.appending.RowFormat`."""

    url: str
    """The database's; may have a password in it."""

    def open(self) -> MessageStore:
        """See the protocol."""
        return MessageStore(self.url)

    def read(self, rows: pa.RecordBatch) -> Iterator[tuple[int, ArrivedMessage | None]]:
        """See the protocol."""
        rows = rows.filter(rows.column("is_wanted"))
        columns = [rows.column(name).to_pylist() for name in ("offset", "at_ms", "key", "value")]
        for offset, at_ms, key, value, headers in zip(*columns, header_lists(rows), strict=True):
            try:
                record = publish_record.decode(key, value, headers)
                validate_topic(record.topic)
            except (RecordError, TopicError):
                yield offset, None
                continue
            yield (
                offset,
                ArrivedMessage(
                    offset,
                    at_ms,
                    record.topic,
                    record.client_id.replace("\0", ""),
                    record.qos,
                    headers,
                    record.payload,
                ),
            )

    def size(self, row: ArrivedMessage) -> int:
        """See the protocol."""
        return len(row.payload) + sum(len(name) + len(value or b"") for name, value in row.headers)
