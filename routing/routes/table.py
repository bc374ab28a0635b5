"""The subscription table of one partition as an Arrow table: merge, distinct, shapes, version.

Pure functions on columns, no row is ever a Python object. A *state* holds the routes of each live subscription; the
route table wants each (route key, kind, node) once, so the state marks one row of each as `first`.
"""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from contracts.kafka_topics import KafkaTopics
from contracts.route_table import APP, APPSHARE, DEVICE, NODE, NODE0, SHARE

STATE_SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("offset", pa.int64()),
        ("route_key", pa.string()),
        ("shape", pa.string()),
        ("kind", pa.string()),
        ("node", pa.string()),
        ("first", pa.bool_()),
    ]
)
"""One row for each route of each live subscription (contracts.route_table.routes_of): one or two.

* `key`: the record's key, client id + U+0000 + filter as subscribed.
* `offset`: where its last record stands.
* `route_key`, `shape`, `kind`, `node`: as in contracts.route_table.
* `first`: true for exactly one row of each (route_key, kind, node); of `node` and `node0` to one node for `node` only,
  which says more.
"""
CHANGES_SCHEMA = pa.schema([*list(STATE_SCHEMA)[:-1], ("live", pa.bool_())])
"""What a part of the log says: each key's routes, or one row whose `live` is false where it is gone or has none."""
BLOCK_ROWS = 65_536
"""Rows that are looked at together: large enough that a block's fixed cost vanishes, small enough (some MB) to copy."""
ROUTE_COLUMNS = ("route_key", "kind", "node")


def empty_state() -> pa.Table:
    """The state before the first record."""
    return STATE_SCHEMA.empty_table()


def supersede(changes: pa.Table, newer: pa.Table) -> pa.Table:
    """Changes and newer ones as changes: of a key that has newer ones, only these count."""
    if changes.num_rows == 0:
        return newer
    replaced = pc.is_in(changes["key"], value_set=_plain(newer["key"]))
    return pa.concat_tables([_kept(changes, pc.invert(replaced)), newer])


def merge(state: pa.Table, changes: pa.Table) -> pa.Table:
    """The state after some changes, in which a key's rows are all that it has. Others keep their `first`.

    What is not touched is not copied: a short tail costs a large table, which its readers share, next to no memory.
    """
    if changes.num_rows == 0:
        return state
    put = changes.filter(changes["live"]).drop_columns(["live"])
    replaced = pc.is_in(state["key"], value_set=_plain(changes["key"]))
    touched_keys = pa.chunked_array(
        [*_kept(state.select(["route_key"]), replaced)["route_key"].chunks, *put["route_key"].chunks],
        pa.string(),
    ).unique()
    touched = pc.is_in(state["route_key"], value_set=touched_keys)
    same = _kept(state, pc.invert(touched))
    again = _kept(state, pc.and_not(touched, replaced)).drop_columns(["first"])
    return pa.concat_tables([same, mark_first(pa.concat_tables([again, put]))])


def _kept(rows: pa.Table, mask: pa.ChunkedArray) -> pa.Table:
    """As `filter`, but blocks that are kept whole stay where they are, be it in a file's pages."""
    kept, start = [], 0
    for batch in rows.to_batches(BLOCK_ROWS):
        wanted = mask.slice(start, batch.num_rows)
        start += batch.num_rows
        count = pc.sum(wanted).as_py()
        if count:
            kept.append(batch if count == batch.num_rows else batch.filter(_plain(wanted)))
    return pa.Table.from_batches(kept, rows.schema)


def mark_first(rows: pa.Table) -> pa.Table:
    """Append `first` to the other columns of a state."""
    count = rows.num_rows
    # A `node0` counts as a `node` that comes behind all others.
    is_lesser = pc.equal(rows["kind"], NODE0)
    kind = pc.if_else(is_lesser, NODE, rows["kind"])
    numbers = pc.add(pa.array(range(count), pa.int64()), pc.if_else(is_lesser, count, 0))
    grouped = rows.select(list(ROUTE_COLUMNS)).set_column(1, "kind", kind).append_column("number", numbers)
    firsts = grouped.group_by(list(ROUTE_COLUMNS)).aggregate([("number", "min")])["number_min"]
    return rows.append_column("first", pc.is_in(numbers, value_set=_plain(firsts)))


def distinct_values(state: pa.Table, column: str) -> set[str]:
    """The values of a column but null."""
    return set(state[column].unique().drop_null().to_pylist())


def destinations(rows: pa.Table | pa.RecordBatch, topics: KafkaTopics) -> pa.Array | pa.ChunkedArray:
    """The Kafka topic that each row of a state or of changes leads to; null for one that leads nowhere."""
    kind = rows.column("kind")
    prefix = pc.if_else(pc.equal(kind, APP), topics.application_prefix, topics.downlink_prefix)
    prefix = pc.if_else(pc.equal(kind, APPSHARE), topics.application_share_prefix, prefix)
    own = pc.binary_join_element_wise(prefix, rows.column("node"), "")
    in_logs = pc.if_else(pc.equal(kind, SHARE), topics.shares, own)
    return pc.if_else(pc.equal(kind, DEVICE), topics.persisted, in_logs)


def topics_of(rows: pa.Table, topics: KafkaTopics) -> set[str]:
    """The Kafka topics that a state or changes lead to."""
    # Names are made of the few targets there are, not of each row.
    leads_to = rows.select(["kind", "node"]).group_by(["kind", "node"]).aggregate([])
    return set(destinations(leads_to, topics).unique().drop_null().to_pylist())


def first_uncovered(state: pa.Table, shapes: Collection[str]) -> int | None:
    """Offset of the first subscription whose shape is not among those of the plan; None where all are."""
    uncovered = pc.and_(
        pc.is_valid(state["shape"]),
        pc.invert(pc.is_in(state["shape"], value_set=pa.array(sorted(shapes), pa.string()))),
    )
    offset: int | None = pc.min(state["offset"].filter(uncovered)).as_py()
    return offset


def _plain(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
