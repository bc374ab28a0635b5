"""One reading of one partition of the subscription table: snapshot + tail → rows and a version.

The order matters. The end offset is read first, the Kafka topics there are afterwards: a node creates its topic before
it takes a client, and an application's before that may subscribe, which is also asked for what it shares; so a row
before the end has its topic, or its target is gone. Kafka tells of a new topic with some delay; so for topics that are
news, and only those, a reader looks again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from contracts.kafka_topics import KafkaTopics
from contracts.probe_record import PROBE_KEY, PROBE_KIND
from routing.errors import RouteTableError
from routing.routes import snapshot as snapshots
from routing.routes.changes import read_changes
from routing.routes.kafka import RouteLog
from routing.routes.snapshot import STREAM_ROWS, Snapshot, Source
from routing.routes.table import (
    CHANGES_SCHEMA,
    destinations,
    distinct_values,
    empty_state,
    first_uncovered,
    merge,
    supersede,
    topics_of,
)

ROUTES_SCHEMA = pa.schema(
    [
        ("route_key", pa.string()),
        ("shape", pa.string()),
        ("kind", pa.string()),
        ("node", pa.string()),
        ("table_partition", pa.int32()),
        ("table_version", pa.int64()),
    ]
)
"""contracts.route_table.ROUTES_TABLE_DDL in Arrow."""
REWRITE_SECONDS = 3600
"""A snapshot with a tail is written anew after this time at the latest, long before tombstones are compacted away."""
MERGE_ROWS = 1_000_000
"""Changes that are gathered before they are merged, since each merge looks at the whole state: at 5 million rows a
partition that is ten times less to do than for each block that is read. They take some 100 MB."""
SECONDS_FOR_NEWS = 2.0
"""How long a topic that was created may be unknown to a Kafka broker; some milliseconds, if nothing is overloaded."""

_read_to: dict[Source, int] = {}
"""How far this process has read each log, also where no snapshot tells it."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RoutePartition:
    """One partition of `tbmq.client.subscriptions`, and where its snapshot is kept."""

    bootstrap: str
    topics: KafkaTopics
    partition: int
    directory: Path

    def read(self) -> Snapshot:
        """The state up to the end offset found now; its `offset` is that end."""
        return self._read(self._source())

    def batches(self, shapes: Collection[str] | None) -> Iterator[pa.RecordBatch]:
        """The rows of the route table, distinct, and the row that answers probes, as `ROUTES_SCHEMA`.

        Args:
            shapes: The shapes of the plan as text; the version told ends before the first row that they do not cover.
                None where the plan looks for all.
        """
        source = self._source()
        now = self._read(source)
        gone = self._missing_topics(now, source)
        version = now.offset
        if shapes is not None and not now.shapes <= set(shapes):
            uncovered = first_uncovered(now.state, shapes)
            version = version if uncovered is None else min(version, uncovered)
        yield self._rows(pa.table({"route_key": [PROBE_KEY], "kind": [PROBE_KIND]}), version)
        for batch in now.state.to_batches(STREAM_ROWS):
            wanted = pc.and_not(batch.column("first"), gone(batch)) if gone else batch.column("first")
            rows = batch if pc.all(wanted).as_py() else batch.filter(wanted)
            if rows.num_rows:
                yield self._rows(rows, version)

    def _log_of_routes(self) -> RouteLog:
        return RouteLog(self.bootstrap, self.topics.subscriptions)

    def _source(self) -> Source:
        cluster, topic_id = self._log_of_routes().identity()
        return Source(cluster, self.topics.subscriptions, topic_id, self.partition)

    def _read(self, source: Source) -> Snapshot:
        known = snapshots.load(self.directory, source)
        low, end = self._bounds(source, known)
        _read_to[source] = end
        if known is None or known.offset < low:
            known = Snapshot(empty_state(), low, frozenset(), frozenset())
        if known.offset < end:
            return self._read_tail(source, known, end)
        if time.time() - known.saved_at > REWRITE_SECONDS:
            snapshots.touch(self.directory, source)
        return known

    def _bounds(self, source: Source, known: Snapshot | None) -> tuple[int, int]:
        """The log's bounds; its end never goes back, or live routes would vanish from the table unnoticed."""
        read_to = max(_read_to.get(source, 0), known.offset if known else 0)
        try:
            return self._log_of_routes().bounds(self.partition, read_to)
        except RouteTableError as error:
            if known is None:
                raise
            raise RouteTableError(
                f"{error}; if Kafka has lost the end of that log for good, remove {source.path(self.directory)}"
            ) from None

    def _read_tail(self, source: Source, known: Snapshot, end: int) -> Snapshot:
        state, changed, unreadable = known.state, 0, 0
        news = set(known.news)
        pending = CHANGES_SCHEMA.empty_table()
        for latest in self._log_of_routes().tail(self.partition, known.offset, end):
            changes, bad = read_changes(latest)
            news |= topics_of(changes, self.topics)
            pending = supersede(pending, changes)
            if pending.num_rows >= MERGE_ROWS:
                state, pending = merge(state, pending), CHANGES_SCHEMA.empty_table()
            changed, unreadable = changed + changes.num_rows, unreadable + bad
        state = merge(state, pending)
        if unreadable:
            _log.warning("%s: passed over %d unreadable records", source.topic, unreadable)
        shapes, leads_to = distinct_values(state, "shape"), topics_of(state, self.topics)
        now = Snapshot(state, end, frozenset(shapes), frozenset(leads_to), frozenset(news & leads_to))
        # To write is dear at a million rows, to read a short tail again is not.
        due = changed > state.num_rows // 50 or time.time() - known.saved_at > REWRITE_SECONDS
        if due:
            snapshots.save(self.directory, source, now)
        return now

    def _missing_topics(self, now: Snapshot, source: Source) -> Callable[[pa.RecordBatch], pa.Array] | None:
        """Tell the rows whose Kafka topic does not exist: a record for it would stop the router (I11); None: none."""
        until = time.monotonic() + SECONDS_FOR_NEWS
        while True:
            existing = self._log_of_routes().existing_topics()
            missing = now.topics - existing
            if not missing & now.news:
                break
            if time.monotonic() > until:
                # Then it is no news at the next reading.
                snapshots.save(self.directory, source, replace(now, news=now.news - missing))
                break
            time.sleep(0.1)
        if not missing:
            return None
        for log in missing & {self.topics.persisted, self.topics.shares}:
            _log.warning("%s is missing: create it with `sluicemq topics`", log)
        names = pa.array(sorted(missing), pa.string())
        return lambda rows: pc.is_in(destinations(rows, self.topics), value_set=names)

    def _rows(self, rows: pa.Table | pa.RecordBatch, version: int) -> pa.RecordBatch:
        return route_rows(rows, self.partition, pa.repeat(pa.scalar(version, pa.int64()), rows.num_rows))


def route_rows(rows: pa.Table | pa.RecordBatch, partition: int, versions: pa.Array) -> pa.RecordBatch:
    """Rows of a state as `ROUTES_SCHEMA`, each with its version; columns that are not there become null."""
    count = rows.num_rows
    columns = [
        _array(rows.column(name)) if name in rows.schema.names else pa.nulls(count, pa.string())
        for name in ROUTES_SCHEMA.names[:4]
    ]
    columns.append(pa.repeat(pa.scalar(partition, pa.int32()), count))
    return pa.RecordBatch.from_arrays([*columns, versions], schema=ROUTES_SCHEMA)


def _array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
