"""Who would receive a message, by the subscriptions that there are, as router, dispatchers and gateways decide; pure.

It says nothing of rules of the router's hooks, which may change a message, and nothing of what clients may publish.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from admin.cluster.nodes import TablePartition
from contracts.kafka_topics import KafkaTopics, subscription_partition
from contracts.route_table import APP, APPSHARE, DEVICE, NODE, NODE0, SHARE, routes_of, takes
from contracts.subscription_record import SubscriptionRecord

MOST_RECEIVERS = 1_000
"""So many are listed; all are counted."""
_TARGETS = {
    NODE: "node",
    NODE0: "node",
    DEVICE: "persisted",
    APP: "application",
    SHARE: "shared",
    APPSHARE: "application_share",
}
"""What a target is called for people, by the kind of its route."""


@dataclass(frozen=True)
class Message:
    """What is published."""

    topic: str
    qos: int = 1
    client_id: str | None = None
    """Its publisher."""


@dataclass(frozen=True)
class Receiver:
    """A client that gets it, or, as one of a share group, may."""

    client_id: str
    filter: str
    """As subscribed."""
    share_group: str | None
    qos: int
    """At which it comes: the lower of the message's and the subscription's."""
    no_local: bool
    retain_as_published: bool
    retain_handling: int
    subscription_id: int | None
    target: str
    """`node`: served while it is connected; `persisted`, `application`: it waits for the client while that is away;
    `shared`, `application_share`: one member of the group gets it."""
    kafka_topic: str
    """Where the router writes it."""
    node: str
    """The gateway that it is connected to, or was."""
    is_connected: bool | None
    """Null where that is not known."""
    is_in_table: bool | None
    """Whether the router's table has the subscription for certain. Null: it has not all that is newest, and what is
    newer gateways carry along with messages."""


@dataclass(frozen=True)
class ShareGroup:
    """A share group, one of whose members gets it."""

    group: str
    filter: str
    """Without `$share/<group>/`."""
    kafka_topic: str
    strategy: str
    """How the member is chosen."""
    members: list[Receiver]


@dataclass(frozen=True)
class LeftOut:
    """A client whose filter matches, and that gets nothing all the same."""

    client_id: str
    filter: str
    why: str
    """`no_local`: it is the publisher; `offline`: it is kept nothing; `not_served`: nothing is made for it."""


@dataclass
class RouteTest:
    """The answer."""

    topic: str
    qos: int
    total: int = 0
    """How many clients and groups get it."""
    is_cut: bool = False
    """Whether there are more than are listed."""
    receivers: list[Receiver] = field(default_factory=list)
    groups: list[ShareGroup] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    table: list[TablePartition] = field(default_factory=list)
    """How far the router's table is in each partition of the subscription log."""


@dataclass(frozen=True)
class Surroundings:
    """What has to be known of the cluster."""

    names: KafkaTopics
    is_connected: Callable[[str], bool | None]
    """Of a client id."""
    table: Sequence[TablePartition]
    """Of each partition of the subscription log, what of it the router's table has; empty where nobody knows."""
    strategies: Mapping[str, str]
    """Of share groups by name; under the empty name, that of all others."""


def route_test(
    message: Message, matching: Iterable[SubscriptionRecord], around: Surroundings, most: int = MOST_RECEIVERS
) -> RouteTest:
    """Find out.

    Args:
        message: What is published.
        matching: All subscriptions whose filter matches its topic.
        around: What is known of the cluster.
        most: How many receivers, groups and left out clients to list of each.
    """
    found = RouteTest(message.topic, message.qos, table=list(around.table))
    groups: dict[tuple[str, str, str], list[Receiver]] = {}
    clients: set[str] = set()
    for record in matching:
        receiver, why = _receiver(message, record, around)
        if receiver is None:
            found.left_out.append(LeftOut(record.client_id, record.subscribed_filter, why))
        elif record.share_group is not None:
            groups.setdefault((record.share_group, record.filter, receiver.kafka_topic), []).append(receiver)
        else:
            clients.add(record.client_id)
            found.receivers.append(receiver)
    for (group, filter, kafka_topic), members in sorted(groups.items()):
        strategy = around.strategies.get(group, around.strategies.get("", "unknown"))
        found.groups.append(ShareGroup(group, filter, kafka_topic, strategy, members[:most]))
    # A client with several filters that match gets one message.
    found.total = len(clients) + len(groups)
    lengths = [len(found.receivers), len(found.groups), len(found.left_out), *map(len, groups.values())]
    found.is_cut = max(lengths) > most
    for listed in (found.receivers, found.groups, found.left_out):
        del listed[most:]
    return found


def _receiver(
    message: Message, record: SubscriptionRecord, around: Surroundings
) -> tuple[Receiver | None, str]:
    """How a subscriber gets it; or None, and why not."""
    routes = [(kind, target) for kind, target in routes_of(record) if takes(kind, message.qos)]
    if not routes:
        return None, "not_served"
    if record.no_local and record.client_id == message.client_id:
        return None, "no_local"
    kind, target = routes[0]
    # Of a shared subscription its own record tells; dispatchers go by that.
    is_connected = around.is_connected(record.client_id) if record.share_group is None else record.online
    # What goes to a gateway is for those who are connected to it.
    if kind in (NODE, NODE0) and is_connected is False:
        return None, "offline"
    return (
        Receiver(
            client_id=record.client_id,
            filter=record.subscribed_filter,
            share_group=record.share_group,
            qos=min(message.qos, record.qos),
            no_local=record.no_local,
            retain_as_published=record.retain_as_published,
            retain_handling=record.retain_handling,
            subscription_id=record.subscription_id,
            target=_TARGETS[kind],
            kafka_topic=_kafka_topic(around.names, kind, target),
            node=record.node,
            is_connected=is_connected,
            is_in_table=_is_in_table(record.filter, around),
        ),
        "",
    )


def _kafka_topic(names: KafkaTopics, kind: str, target: str) -> str:
    starts = {
        NODE: names.downlink_prefix,
        NODE0: names.downlink_prefix,
        APP: names.application_prefix,
        APPSHARE: names.application_share_prefix,
    }
    if kind in starts:
        return starts[kind] + target
    return names.persisted if kind == DEVICE else names.shares


def _is_in_table(filter: str, around: Surroundings) -> bool | None:
    if not around.table:
        return None
    found = around.table[subscription_partition(filter, len(around.table))]
    return (
        True if found.version is not None and found.end is not None and found.version >= found.end else None
    )
