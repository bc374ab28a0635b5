"""Overlapping filters: a message that matches several filters of one client is one message for it (docs/adr/0018).

Its QoS is what the best of them allows, and it carries the identifiers of all. The router writes a record for each
filter, one behind the other; the first brings the message to everyone who holds several, for all of them. Pure data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from contracts.publish_record import PublishRecord
from contracts.routed_record import Route
from edge.gateway.local_subscriptions import LocalSubscriptions, Subscription

Subscriber = TypeVar("Subscriber")

_SERVED = ()


class Terms(NamedTuple):
    """How a client gets a message."""

    qos: int
    """The lower of what was published and the highest that was granted [MQTT-3.3.4-2]."""
    retain: bool
    """The RETAIN flag: as published where one of the subscriptions wants it so [MQTT-3.3.1-13]."""
    subscription_ids: tuple[int, ...]
    """The identifiers of all subscriptions that have one, equal ones too [MQTT-3.3.4-3], [MQTT-3.3.4-4]."""


def terms_of(
    record: PublishRecord, partition: int, offset: int, matching: Iterable[Subscription], client_id: str
) -> Terms | None:
    """How a client gets a message by those of its subscriptions that match.

    Args:
        record: The message.
        partition: Of `tbmq.msg.all`, where it stands.
        offset: There.
        matching: What the client asked for with filters that match.
        client_id: The client's.

    Returns:
        None where none of them counts: each was made later, or does not want what the client itself published.
    """
    qos, wants_retain, identifiers = -1, False, []
    is_own = record.client_id == client_id
    for one in matching:
        if (is_own and one.no_local) or one.is_newer_than(partition, offset):  # [MQTT-3.8.3-3]
            continue
        qos = max(qos, one.qos)
        wants_retain |= one.retain_as_published
        if one.subscription_id is not None:
            identifiers.append(one.subscription_id)
    if qos < 0:
        return None
    return Terms(min(record.qos, qos), record.retain and wants_retain, tuple(identifiers))


class Overlaps(Generic[Subscriber]):
    """Who gets a downlink's messages by more than one filter.

    Of each source partition it knows the newest message that matched several filters here: records of a source
    partition come in order, so what is older has been brought by whoever wrote newer ones first.
    """

    def __init__(
        self, local: LocalSubscriptions[Subscriber], client_id_of: Callable[[Subscriber], str]
    ) -> None:
        self._local = local
        self._client_id_of = client_id_of
        self._newest: dict[int, tuple[int, dict[str, Sequence[Subscription]]]] = {}

    def take(self, route: Route) -> dict[str, Sequence[Subscription]]:
        """Look up a record that is new for its filter.

        Returns:
            Client id → its subscriptions that match, for those who hold several; () for one who has the message
            already. Call `served` for whoever is given it now.
        """
        filters = self._local.matching(route.topic)
        if len(filters) < 2:
            return {}
        newest, several = self._newest.get(route.partition, (-1, {}))
        if route.offset == newest:
            return several
        several = self._several(filters)
        if route.offset < newest:
            return dict.fromkeys(several, _SERVED)
        self._newest[route.partition] = route.offset, several
        return several

    def _several(self, filters: Sequence[str]) -> dict[str, Sequence[Subscription]]:
        by_filter = sorted((self._local.holders(filter) for filter in filters), key=len)
        once: set[Subscriber] = set()
        twice: set[Subscriber] = set()
        for holders in by_filter[
            :-1
        ]:  # the sets' own loops: the many who hold one filter cost next to nothing
            twice |= holders.keys() & once
            once |= holders.keys()
        twice |= by_filter[-1].keys() & once
        return {
            self._client_id_of(one): [holders[one] for holders in by_filter if one in holders]
            for one in twice
        }
