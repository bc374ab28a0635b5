"""Overlapping filters: a message that matches several filters of one client is one message for it (docs/adr/0018).

Its QoS is what the best of them allows, and it carries the identifiers of all. The router writes a record for each
filter, one behind the other; the first brings the message to everyone who holds several, for all of them. Pure data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from contracts.routed_record import Route
from edge.gateway.local_subscriptions import LocalSubscriptions, Subscription

Subscriber = TypeVar("Subscriber")

_SERVED = ()


class Together(NamedTuple):
    """Several subscriptions of one client, as if they were one."""

    subscription: Subscription
    """The highest QoS [MQTT-3.3.4-2]; RETAIN as published where one of them wants that; no identifier, and No Local is
    settled."""
    identifiers: tuple[int, ...]
    """The identifiers of all that have one, equal ones too [MQTT-3.3.4-3], [MQTT-3.3.4-4]."""


def together(
    matching: Iterable[Subscription], partition: int, offset: int, *, is_own: bool
) -> Together | None:
    """Put together a client's subscriptions that match a message.

    Args:
        matching: What the client asked for with filters that match.
        partition: Of `tbmq.msg.all`, where the message stands.
        offset: There.
        is_own: Whether the client itself published it.

    Returns:
        None where none of them counts: each was made later, or does not want what is the client's own.
    """
    qos, as_published, identifiers = -1, False, []
    for one in matching:
        if (is_own and one.no_local) or one.is_newer_than(partition, offset):  # [MQTT-3.8.3-3]
            continue
        qos = max(qos, one.qos)
        as_published |= one.retain_as_published
        if one.subscription_id is not None:
            identifiers.append(one.subscription_id)
    if qos < 0:
        return None
    return Together(Subscription(qos, retain_as_published=as_published), tuple(identifiers))


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
            already. Put () for whoever is given it now.
        """
        filters = self._local.matching(route.topic)
        if len(filters) < 2:
            return {}
        newest = self._newest.get(route.partition)
        if newest is not None and route.offset == newest[0]:
            return newest[1]
        several = self._several([self._local.holders(filter) for filter in filters])
        if newest is not None and route.offset < newest[0]:
            return dict.fromkeys(several, _SERVED)
        self._newest[route.partition] = route.offset, several
        return several

    def _several(
        self, by_filter: list[Mapping[Subscriber, Subscription]]
    ) -> dict[str, Sequence[Subscription]]:
        if len(by_filter) == 2 and by_filter[0].keys().isdisjoint(by_filter[1].keys()):
            return {}  # somebody watches everything: that must cost the others little
        by_filter.sort(key=len)
        once: set[Subscriber] = set()
        twice: set[Subscriber] = set()
        # In the sets' own loops: the many who hold one filter cost next to nothing.
        for holders in by_filter[:-1]:
            twice |= holders.keys() & once
            once |= holders.keys()
        twice |= by_filter[-1].keys() & once
        return {
            self._client_id_of(one): [holders[one] for holders in by_filter if one in holders]
            for one in twice
        }
