"""Changes: records of `tbmq.client.subscriptions` → Arrow, the last record of each key.

Values are parsed by Arrow in one go; only when that fails is each one read as the contract says, to find those that no
one can read. They count as gone, because compaction removes what stood under their key before: so the table does not
depend on when Kafka compacts.
"""

from __future__ import annotations

import io

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.json as pj  # type: ignore[import-untyped]

from contracts import subscription_record
from contracts.errors import RecordError
from contracts.topics import shape_of
from routing.routes.table import CHANGES_SCHEMA

NODE_KIND = "node"
"""The kind of target that this router serves; rows of others are left to those who know them."""

_FIELDS = pa.schema(
    [("filter", pa.string()), ("kind", pa.string()), ("node", pa.string()), ("share_group", pa.string())]
)
_PARSE = pj.ParseOptions(explicit_schema=_FIELDS, unexpected_field_behavior="ignore")

Latest = dict[bytes, tuple[int, bytes | None]]
"""The last record of each key: key → (offset, value)."""


def read_changes(latest: Latest) -> tuple[pa.Table, int]:
    """Make changes of records.

    Returns:
        (rows of `CHANGES_SCHEMA`, number of records that nobody can read)
    """
    puts = [(key, offset, value) for key, (offset, value) in latest.items() if value]
    gone = [(key, offset) for key, (offset, value) in latest.items() if not value]
    fields, unreadable = _parse([(key, value) for key, _, value in puts])
    kind = pc.fill_null(fields["kind"], NODE_KIND)
    routed = pc.and_(
        pc.and_(pc.equal(kind, NODE_KIND), pc.is_null(fields["share_group"])),
        pc.and_(pc.is_valid(fields["filter"]), pc.is_valid(fields["node"])),
    )
    columns = {
        "key": [key for key, _, _ in puts],
        "offset": [offset for _, offset, _ in puts],
        "route_key": fields["filter"],
        "shape": shapes_of(fields["filter"]),
        "kind": kind,
        "node": fields["node"],
        "live": routed,
    }
    changes = pa.table(columns, schema=CHANGES_SCHEMA)
    nothing = pa.nulls(len(gone), pa.string())
    deleted = {
        "key": [key for key, _ in gone],
        "offset": [offset for _, offset in gone],
        "route_key": nothing,
        "shape": nothing,
        "kind": nothing,
        "node": nothing,
        "live": pa.repeat(pa.scalar(False), len(gone)),
    }
    return pa.concat_tables([changes, pa.table(deleted, schema=CHANGES_SCHEMA)]), unreadable


def shapes_of(filters: pa.ChunkedArray) -> pa.ChunkedArray:
    """The text of each filter's shape, null where it has no wildcard."""
    wild = pc.match_substring_regex(filters, "[+#]")
    # Filters that differ in their literal levels only become one: few are left to be looked at one by one.
    skeletons = pc.replace_substring_regex(
        pc.if_else(wild, filters, pa.scalar(None, pa.string())), pattern="[^/+#]+", replacement="x"
    ).combine_chunks()
    encoded = skeletons.dictionary_encode()
    texts = [
        None if (shape := shape_of(skeleton)) is None else shape.text
        for skeleton in encoded.dictionary.to_pylist()
    ]
    return pa.chunked_array([pc.take(pa.array(texts, pa.string()), encoded.indices)])


def _parse(records: list[tuple[bytes, bytes]]) -> tuple[pa.Table, int]:
    if not records:
        return _FIELDS.empty_table(), 0
    lines = b"\n".join(value for _, value in records)
    if lines.count(b"\n") == len(records) - 1 and all(b"\0" in key for key, _ in records):
        block = max(len(lines) + 1, 1024)
        try:
            table = pj.read_json(io.BytesIO(lines), pj.ReadOptions(block_size=block), _PARSE)
        except pa.ArrowInvalid:
            pass
        else:
            if table.num_rows == len(records) and not table["filter"].null_count + table["node"].null_count:
                return table.select(_FIELDS.names), 0
    return _parse_one_by_one(records)


def _parse_one_by_one(records: list[tuple[bytes, bytes]]) -> tuple[pa.Table, int]:
    rows: list[dict[str, str | None]] = []
    unreadable = 0
    for key, value in records:
        try:
            record = subscription_record.decode(key, value)
            group = None if record.share_group is None else str(record.share_group)
            row = {"filter": record.filter, "kind": record.kind, "node": record.node, "share_group": group}
            # Lone surrogates can be written in JSON, but not in UTF-8.
            pa.array(list(row.values()), pa.string())
            rows.append(row)
        except (RecordError, UnicodeEncodeError):
            unreadable += 1
            rows.append({})
    return pa.Table.from_pylist(rows, schema=_FIELDS), unreadable
