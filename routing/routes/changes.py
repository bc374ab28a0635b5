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
from contracts.route_table import APP, APPSHARE, DEVICE, NODE, NODE0, SHARE
from contracts.subscription_record import APPLICATION_KIND, DEVICE_KIND, NODE_KIND
from contracts.topics import EXCLUSIVE_PREFIX, shape_of
from routing.routes.table import CHANGES_SCHEMA

_FIELDS = pa.schema(
    [
        ("filter", pa.string()),
        ("kind", pa.string()),
        ("node", pa.string()),
        ("qos", pa.int64()),
        ("share_group", pa.string()),
        ("target", pa.string()),
    ]
)
_PARSE = pj.ParseOptions(explicit_schema=_FIELDS, unexpected_field_behavior="ignore")

Latest = dict[bytes, tuple[int, bytes | None]]
"""The last record of each key: key → (offset, value)."""


def read_changes(latest: Latest) -> tuple[pa.Table, int]:
    """Make changes of records: the routes of contracts.route_table.routes_of, on columns.

    Returns:
        (rows of `CHANGES_SCHEMA`, number of records that nobody can read)
    """
    puts = [(key, offset, value) for key, (offset, value) in latest.items() if value]
    gone = [(key, offset) for key, (offset, value) in latest.items() if not value]
    fields, unreadable = _parse([(key, value) for key, _, value in puts])
    columns = {
        "key": pa.array([key for key, _, _ in puts], pa.binary()),
        "offset": pa.array([offset for _, offset, _ in puts], pa.int64()),
        "route_key": fields["filter"],
        "shape": shapes_of(fields["filter"]),
        "kind": pc.fill_null(fields["kind"], NODE_KIND),
        "node": fields["node"],
        "qos": pc.fill_null(fields["qos"], 0),
        "target": fields["target"],
        "share_group": fields["share_group"],
        "live": pc.and_(_is_routed(fields["filter"]), pc.is_valid(fields["node"])),
    }
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
    records = pa.table(columns)
    is_shared = pc.is_valid(records["share_group"])
    routes = [*_routes(records.filter(pc.invert(is_shared))), _share_routes(records.filter(is_shared))]
    changes = [*routes, pa.table(deleted, schema=CHANGES_SCHEMA)]
    return pa.concat_tables(changes), unreadable


def _routes(records: pa.Table) -> list[pa.Table]:
    """What the subscriptions are routed by. Rows of kinds that this router does not know are left to those who do."""
    is_device = pc.equal(records["kind"], DEVICE_KIND)
    is_application = pc.equal(records["kind"], APPLICATION_KIND)
    is_persistent = pc.or_(is_device, is_application)
    persisted = pc.and_(pc.and_(records["live"], is_persistent), pc.greater(records["qos"], 0))
    live = pc.and_(records["live"], pc.or_(is_persistent, pc.equal(records["kind"], NODE_KIND)))
    to_nodes = records.set_column(
        records.schema.get_field_index("kind"), "kind", pc.if_else(persisted, NODE0, NODE)
    ).set_column(records.schema.get_field_index("live"), "live", live)
    routes = [to_nodes.select(CHANGES_SCHEMA.names).cast(CHANGES_SCHEMA)]
    of_devices = records.filter(pc.and_(persisted, is_device))
    if of_devices.num_rows:
        # A subscription's key begins with the client's id; a record whose key does not was unreadable.
        clients = [key.partition(b"\0")[0].decode() for key in of_devices["key"].to_pylist()]
        routes.append(_to(of_devices, DEVICE, pa.array(clients, pa.string())))
    of_applications = records.filter(pc.and_(pc.and_(persisted, is_application), _has_target(records)))
    if of_applications.num_rows:
        routes.append(_to(of_applications, APP, of_applications["target"]))
    return routes


def _is_routed(filters: pa.ChunkedArray) -> pa.ChunkedArray:
    is_claim = pc.fill_null(pc.starts_with(filters, EXCLUSIVE_PREFIX), False)
    return pc.and_(pc.is_valid(filters), pc.invert(is_claim))


def _has_target(records: pa.Table) -> pa.ChunkedArray:
    return pc.greater(pc.fill_null(pc.utf8_length(records["target"]), 0), 0)


def _to(records: pa.Table, kind: str, targets: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Routes of one kind, a target for each record."""
    columns = {
        **{name: records[name] for name in CHANGES_SCHEMA.names},
        "kind": pa.repeat(pa.scalar(kind), records.num_rows),
        "node": targets,
    }
    return pa.table(columns, schema=CHANGES_SCHEMA)


def _share_routes(records: pa.Table) -> pa.Table:
    """One route for a group and filter, whoever the member is; for applications one for the filter alone."""
    is_application = pc.equal(records["kind"], APPLICATION_KIND)
    is_known = pc.is_in(records["kind"], value_set=pa.array([NODE_KIND, DEVICE_KIND]))
    is_known = pc.or_(is_known, pc.and_(is_application, _has_target(records)))
    live = pc.and_(records["live"], is_known)
    known = records.set_column(records.schema.get_field_index("live"), "live", live)
    targets = pc.if_else(is_application, records["target"], records["share_group"])
    routes = _to(known, SHARE, targets)
    kinds = pc.if_else(is_application, APPSHARE, SHARE)
    return routes.set_column(routes.schema.get_field_index("kind"), "kind", kinds)


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
    if lines.count(b"\n") == len(records) - 1 and all(map(_is_key, records)):
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
    rows: list[dict[str, str | int | None]] = []
    unreadable = 0
    for key, value in records:
        try:
            record = subscription_record.decode(key, value)
            group = None if record.share_group is None else str(record.share_group)
            texts = {"filter": record.filter, "kind": record.kind, "node": record.node, "share_group": group}
            texts |= {"target": record.target}
            # Lone surrogates can be written in JSON, but not in UTF-8.
            pa.array(list(texts.values()), pa.string())
            # Only whether it is above 0 matters here, and it may be a number that no column holds.
            rows.append({**texts, "qos": int(record.qos > 0)})
        except (RecordError, UnicodeEncodeError):
            unreadable += 1
            rows.append({})
    return pa.Table.from_pylist(rows, schema=_FIELDS), unreadable


def _is_key(record: tuple[bytes, bytes]) -> bool:
    try:
        subscription_record.decode_key(record[0])
    except RecordError:
        return False
    return True
