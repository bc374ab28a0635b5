"""The subscription table of one partition as an Arrow table: merge, distinct, shapes, version.

Pure functions on columns, no row is ever a Python object. A *state* holds one row for each live subscription that is
routed; the route table wants each (route key, kind, node) once, so the state marks one row of each as `first`.
"""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

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
"""One row for each live subscription.

* `key`: the record's key, client id + U+0000 + filter as subscribed.
* `offset`: where its last record stands.
* `route_key`, `shape`, `kind`, `node`: as in contracts.route_table.
* `first`: true for exactly one row of each (route_key, kind, node).
"""
CHANGES_SCHEMA = pa.schema([*list(STATE_SCHEMA)[:-1], ("live", pa.bool_())])
"""What a part of the log says, one row a key: `live` is false where the subscription is gone or is not routed here."""
ROUTE_COLUMNS = ("route_key", "kind", "node")


def empty_state() -> pa.Table:
    """The state before the first record."""
    return STATE_SCHEMA.empty_table()


def merge(state: pa.Table, changes: pa.Table) -> pa.Table:
    """The state after some changes, which have one row a key. Rows that nothing touches keep their `first`."""
    if changes.num_rows == 0:
        return state
    put = changes.filter(changes["live"]).drop_columns(["live"])
    replaced = pc.is_in(state["key"], value_set=_plain(changes["key"]))
    touched_keys = pa.chunked_array(
        [*state.filter(replaced)["route_key"].chunks, *put["route_key"].chunks], pa.string()
    ).unique()
    touched = pc.is_in(state["route_key"], value_set=touched_keys)
    same = state.filter(pc.invert(touched))
    again = state.filter(pc.and_not(touched, replaced)).drop_columns(["first"])
    return pa.concat_tables([same, mark_first(pa.concat_tables([again, put]))])


def mark_first(rows: pa.Table) -> pa.Table:
    """Append `first` to the other columns of a state."""
    numbers = pa.array(range(rows.num_rows), pa.int64())
    numbered = rows.select(list(ROUTE_COLUMNS)).append_column("number", numbers)
    firsts = numbered.group_by(list(ROUTE_COLUMNS)).aggregate([("number", "min")])["number_min"]
    return rows.append_column("first", pc.is_in(numbers, value_set=_plain(firsts)))


def distinct_values(state: pa.Table, column: str) -> set[str]:
    """The values of a column but null."""
    return set(state[column].unique().drop_null().to_pylist())


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
