"""Rows of the tables `subscriptions` and `changes`: a record of the subscription log each (contracts.message_table)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from contracts.errors import RecordError, TopicError
from contracts.route_table import routes_of
from contracts.subscription_record import SubscriptionRecord, decode, decode_key
from contracts.topics import parse_share
from routing.moments import record_time
from routing.routes.assumptions import NOWHERE
from routing.routes.kafka import RouteLog
from routing.routes.past import PastPartition

BATCH_ROWS = 8_192
"""Rows in a record batch: they are Python objects until then."""
SUBSCRIBED, UNSUBSCRIBED = "subscribed", "unsubscribed"


def subscription_rows(past: PastPartition) -> Iterator[dict[str, Any]]:
    """The subscriptions of a partition as of a moment; records that nobody can read are passed over."""
    for key, (offset, value, at_ms) in past.latest().items():
        try:
            record = decode(key, value or b"")
        except RecordError:
            continue
        routes = [{"kind": kind, "node": target} for kind, target in routes_of(record)]
        place = {"table_partition": past.partition, "offset": None if offset == NOWHERE else offset}
        yield _fields(record) | place | {"routes": routes, "changed_at": record_time(at_ms)}


def change_rows(log: RouteLog, partition: int, start: int, end: int) -> Iterator[dict[str, Any]]:
    """The records of a partition from `start` up to `end`, in their order.

    What nobody can read counts as gone, as in the table; what has no key that names a subscription is passed over.
    """
    for message in log.records(partition, start, end):
        key, value = message.key(), message.value()
        try:
            client_id, subscribed = decode_key(key)
        except RecordError:
            continue
        try:
            fields: dict[str, Any] | None = _fields(decode(key, value)) if value else None
        except RecordError:
            fields = None
        if fields is None:
            fields = {"client_id": client_id, **_filter(subscribed)}
            change = UNSUBSCRIBED
        else:
            change = SUBSCRIBED
        place = {"table_partition": partition, "offset": message.offset()}
        yield fields | place | {"change": change, "changed_at": record_time(message.timestamp()[1])}


def batches_of(rows: Iterable[dict[str, Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows as record batches of an Arrow schema; columns that a row lacks are null."""
    held: list[dict[str, Any]] = []
    for row in rows:
        held.append(row)
        if len(held) == BATCH_ROWS:
            yield pa.RecordBatch.from_pylist(held, schema=schema)
            held = []
    if held:
        yield pa.RecordBatch.from_pylist(held, schema=schema)


def _fields(record: SubscriptionRecord) -> dict[str, Any]:
    return {
        "client_id": record.client_id,
        "filter": record.filter,
        "share_group": record.share_group,
        "subscriber": record.kind,
        "node": record.node,
        "qos": record.qos,
        "no_local": record.no_local,
        "retain_as_published": record.retain_as_published,
        "retain_handling": record.retain_handling,
        "subscription_id": record.subscription_id,
        "online": record.online,
    }


def _filter(subscribed: str) -> dict[str, str]:
    try:
        share = parse_share(subscribed)
    except TopicError:
        share = None
    return {"filter": share.filter, "share_group": share.group} if share else {"filter": subscribed}
