"""Assumptions: what-if changes to the subscription table, as the records that would have made them.

An assumed subscription is a record behind the log's end, an assumed unsubscription a tombstone there. So a changed
table is made in the same way as any other, whatever rules turn subscriptions into routes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from contracts.application_shares import share_target
from contracts.errors import ContractError, RecordError, TopicError
from contracts.kafka_topics import application_suffix, subscription_partition, validate_node
from contracts.subscription_record import (
    APPLICATION_KIND,
    DEVICE_KIND,
    NODE_KIND,
    SubscriptionRecord,
    decode,
    decode_key,
    encode_key,
    encode_value,
)
from contracts.topics import canonical_filter, parse_share, validate_filter
from routing.errors import ChangeError
from routing.routes.changes import Latest

NOWHERE = -1
"""The offset of what stands in no log."""
_OPTIONAL = {
    "qos", "kind", "no_local", "retain_as_published", "retain_handling", "subscription_id", "target",
}  # fmt: skip


@dataclass(frozen=True)
class Assumptions:
    """Some changes; of one subscription the last counts."""

    records: tuple[tuple[str, str | None], ...] = ()
    """(key, value) as contracts.subscription_record has them, as text; None unsubscribes."""

    @classmethod
    def of(
        cls, add: Iterable[Mapping[str, Any]] = (), remove: Iterable[Mapping[str, Any]] = ()
    ) -> Assumptions:
        """Make assumptions of rows; removals come first.

        Args:
            add: `client_id`, `filter` (as subscribed, with `$share/…` if it is shared), `node`, and of the others of
                contracts.subscription_record.SubscriptionRecord what is wanted. `qos` is 1 by default.
            remove: `client_id` and `filter`.

        Raises:
            ChangeError: A field is missing, unknown, or nothing that a client could ask for.
        """
        removed = [(_key(row, {"client_id", "filter"}), None) for row in remove]
        return cls((*removed, *(_added(row) for row in add)))

    @classmethod
    def parse(cls, text: str) -> Assumptions:
        """Read what `encode` wrote.

        Raises:
            ChangeError: It is not of that form.
        """
        try:
            found = tuple(
                (str(key), None if value is None else str(value)) for key, value in json.loads(text)
            )
            for key, value in found:
                decode_key(key.encode())
                if value is not None:
                    decode(key.encode(), value.encode())
        except (ValueError, TypeError, RecordError) as error:
            raise ChangeError(f"the option assume is not what Assumptions.encode writes: {error}") from None
        return cls(found)

    def encode(self) -> str:
        """As the option `assume` of `mqtt_routes`."""
        return json.dumps(self.records)

    @property
    def filters(self) -> frozenset[str]:
        """The filters that are named, without share prefix."""
        return frozenset(_plain(decode_key(key.encode())[1]) for key, _ in self.records)

    def of_partition(self, partition: int, partitions: int) -> Latest:
        """Those that would stand in one partition of the log, which has so many."""
        return {
            key.encode(): (NOWHERE, None if value is None else value.encode())
            for key, value in self.records
            if subscription_partition(decode_key(key.encode())[1], partitions) == partition
        }


def _added(row: Mapping[str, Any]) -> tuple[str, str]:
    key = _key(row, {"client_id", "filter", "node"}, _OPTIONAL)
    client_id, subscribed = decode_key(key.encode())
    share = parse_share(subscribed)
    others = {name: row[name] for name in _OPTIONAL if row.get(name) is not None}
    record = SubscriptionRecord(
        client_id,
        share.filter if share else subscribed,
        str(row["node"]),
        share_group=share.group if share else None,
        **{"qos": 1, **others},
    )
    if record.kind not in (NODE_KIND, DEVICE_KIND, APPLICATION_KIND):
        raise ChangeError(f"{record.kind!r} is no kind of subscriber: write node, device or app")
    if record.qos not in (0, 1, 2):
        raise ChangeError(f"{record.qos!r} is no QoS: write 0, 1 or 2")
    if record.kind == APPLICATION_KIND and record.target is None:
        target = share_target(share.filter) if share else application_suffix(client_id)
        record = replace(record, target=target)
    return key, encode_value(record).decode()


def _key(row: Mapping[str, Any], needed: set[str], optional: Iterable[str] = ()) -> str:
    given = {name for name, value in row.items() if value is not None}
    if missing := needed - given:
        raise ChangeError(f"{dict(row)!r} has no {' and no '.join(sorted(missing))}")
    if unknown := given - needed - set(optional):
        raise ChangeError(f"{dict(row)!r}: unknown {', '.join(sorted(unknown))}")
    try:
        validate_filter(str(row["filter"]))
        if "node" in needed:
            validate_node(str(row["node"]))
        if "\0" in str(row["client_id"]):
            raise ChangeError(f"client id {row['client_id']!r} holds U+0000, which MQTT forbids")
        return encode_key(str(row["client_id"]), canonical_filter(str(row["filter"]))).decode()
    except (TopicError, ContractError) as error:
        raise ChangeError(str(error)) from None


def _plain(subscribed: str) -> str:
    share = parse_share(subscribed)
    return share.filter if share else subscribed
