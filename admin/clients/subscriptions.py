"""All subscriptions of the cluster, as `tbmq.client.subscriptions` tells."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass

from admin.clients.names import SortedNames
from admin.clients.search import is_pattern, matcher
from contracts import subscription_record
from contracts.errors import RecordError
from contracts.subscription_record import SEPARATOR, SubscriptionRecord
from contracts.topics import SHARE_PREFIX, matches

SORTS: dict[str, Callable[[SubscriptionRecord], object] | None] = {
    "filter": None,
    "client_id": lambda record: record.client_id,
    "qos": lambda record: record.qos,
    "node": lambda record: record.node,
}
"""By what a list may be in order; None: as it is kept."""


@dataclass(frozen=True, slots=True)
class SubscriptionQuery:
    """Which subscriptions are wanted, and in which order."""

    search: str = ""
    """As `search.matcher` has it, for filters and client ids."""
    filter: str | None = None
    """Exactly this one, as subscribed."""
    topic: str | None = None
    """Those that match this topic."""
    share_group: str | None = None
    node: str | None = None
    sort: str = "filter"
    descending: bool = False
    client_id: str | None = None
    """Those of this client."""


class SubscriptionsView:
    """Whoever has it takes care that nobody changes it while another reads."""

    def __init__(self) -> None:
        self._records: dict[str, SubscriptionRecord] = {}
        """By filter as subscribed, U+0000 and client id, so that they sort by filter."""
        self._names = SortedNames()
        self._filters: dict[str, str | set[str]] = {}
        """What each client has subscribed to; one alone, as many have, is no set yet."""

    def __len__(self) -> int:
        return len(self._records)

    def take(self, key: bytes | None, value: bytes | None) -> None:
        """The next record of the log.

        Raises:
            RecordError: It is not of the documented form; what stood there before counts no more.
        """
        client_id, filter = subscription_record.decode_key(key)
        if value is None:
            self._remove(client_id, filter)
            return
        try:
            record = subscription_record.decode(key, value)
        except RecordError:
            self._remove(client_id, filter)
            raise
        name = filter + SEPARATOR + client_id
        if name not in self._records:
            self._names.add(name)
            self._add(client_id, sys.intern(filter))
        self._records[name] = _kept(record)

    def count(self, client_id: str) -> int:
        """How many a client has."""
        return len(self._of(client_id))

    def of_client(self, client_id: str) -> list[SubscriptionRecord]:
        """Those of a client, by filter."""
        return [self._records[filter + SEPARATOR + client_id] for filter in sorted(self._of(client_id))]

    def get(self, client_id: str, filter: str) -> SubscriptionRecord | None:
        """One of a client."""
        return self._records.get(filter + SEPARATOR + client_id)

    def find(self, query: SubscriptionQuery, offset: int, limit: int) -> tuple[int, list[SubscriptionRecord]]:
        """How many subscriptions there are of those that are wanted, and some of them."""
        names, records = self._matching(query), self._records
        by = SORTS[query.sort]
        if by is not None:
            names = sorted(names, key=lambda name: by(records[name]), reverse=query.descending)  # type: ignore[arg-type,return-value] # each sorts by one type
        elif query.descending:
            names = names[::-1]
        return len(names), [records[name] for name in names[offset : offset + limit]]

    def _matching(self, query: SubscriptionQuery) -> list[str]:
        """Their names in `_records`, by filter."""
        records = self._records
        names = self._names.ordered(records)
        if query.client_id is not None:
            names = sorted(one + SEPARATOR + query.client_id for one in self._of(query.client_id))
        if query.filter is not None:
            start = query.filter + SEPARATOR
            names = [name for name in names if name.startswith(start)]
        if query.search:
            is_sought = matcher(query.search)
            if is_pattern(query.search):
                names = [name for name in names if any(map(is_sought, name.split(SEPARATOR)))]
            else:  # a part of either is a part of both together
                names = [name for name in names if is_sought(name)]
        if query.node is not None:
            names = [name for name in names if records[name].node == query.node]
        if query.share_group is not None:
            names = [name for name in names if records[name].share_group == query.share_group]
        if query.topic is not None:
            # Hardly any other filter is looked at any closer.
            starts = ("+", "#", query.topic.partition("/")[0], SHARE_PREFIX)
            near = [name for name in names if name.startswith(starts)]
            filters = {records[name].filter for name in near}
            matching = {filter for filter in filters if matches(filter, query.topic)}
            names = [name for name in near if records[name].filter in matching]
        return names

    def _of(self, client_id: str) -> Collection[str]:
        held = self._filters.get(client_id, ())
        return (held,) if isinstance(held, str) else held

    def _add(self, client_id: str, filter: str) -> None:
        held = self._filters.get(client_id)
        if held is None:
            self._filters[client_id] = filter
        elif isinstance(held, str):
            self._filters[client_id] = {held, filter}
        else:
            held.add(filter)

    def _remove(self, client_id: str, filter: str) -> None:
        name = filter + SEPARATOR + client_id
        if self._records.pop(name, None) is None:
            return
        self._names.remove(name)
        held = self._filters[client_id]
        if isinstance(held, set):
            held.discard(filter)
        if not held or held == filter:
            del self._filters[client_id]


def _kept(record: SubscriptionRecord) -> SubscriptionRecord:
    """A subscription as it is kept: filters, and what few values repeat, are there once.

    Named field by field: `dataclasses.replace` takes as long as all the rest of reading a record.
    """
    return SubscriptionRecord(
        record.client_id, sys.intern(record.filter), sys.intern(record.node), record.qos, record.share_group,
        record.no_local, record.retain_as_published, record.retain_handling, record.subscription_id,
        sys.intern(record.kind), record.target, record.online,
    )  # fmt: skip
