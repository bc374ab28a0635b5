"""The route table: the router's static side; its schema, and which routes a subscription makes.

A route is (filter, kind, target). What a message takes depends on its QoS: at QoS 0 it goes to the gateways of all who
want it; at QoS 1 and 2 only to the gateways of clients that are served while they are connected, and to each persistent
client by itself: to a DEVICE through the log `tbmq.msg.persisted`, to an APPLICATION through its own Kafka topic. For
whoever shares a subscription it is written once, and one of them is chosen later.
"""

from __future__ import annotations

from contracts.subscription_record import APPLICATION_KIND, DEVICE_KIND, NODE_KIND, SubscriptionRecord
from contracts.topics import is_exclusive

NODE = "node"
"""To a gateway, whatever the message's QoS: somebody there is served by it while connected."""
NODE0 = "node0"
"""To a gateway, for messages of QoS 0 only: all who hold the filter there have their QoS 1 and 2 persisted."""
DEVICE = "device"
"""To a persistent client, for messages of QoS 1 and 2: the target is a client id."""
APP = "app"
"""To a persistent APPLICATION, for messages of QoS 1 and 2: the target is the end of its Kafka topic's name."""
PERSISTED = (DEVICE, APP)
"""The kinds that take what is acknowledged, and nothing else."""
SHARE = "share"
"""To a share group, whatever the message's QoS: the target is the group's name, one route for all its members."""
APPSHARE = "appshare"
"""To the share groups of persistent APPLICATIONs, whatever the message's QoS: the target is the end of the name of the
filter's entity, one route for all groups on the filter."""

KAFKA = "kafka"
"""To a Kafka topic of the user's own, which a rule of the router's names: the target is its name. In no table."""

ROUTES_TABLE_DDL = (
    "route_key string, shape string, kind string, node string, table_partition int, table_version bigint"
)
"""One row per (filter, kind, target).

* `route_key`: the filter without share prefix; joined against a topic's candidate keys.
* `shape`: the filter's shape as `contracts.topics.Shape.text`; null where it has no wildcard.
* `kind`: `node`, `node0`, `device`, `app`, `share` or `appshare`, or `probe` for the row that answers probes.
  Where a filter has a `node` row for a gateway it has no `node0` row for it.
* `node`: the target: a node id, for the kind `device` a client id, for `app` and `appshare` the end of a Kafka topic's
  name, for `share` a group's name; null for the probe row, whose answer goes to the node that asked.
* `table_partition`: the partition of `tbmq.client.subscriptions` that the row comes from.
* `table_version`: the row's reader has read that partition up to this offset (exclusive).
"""


def takes(kind: str, qos: int) -> bool:
    """Whether a message that was published at this QoS takes a route of this kind. Nothing takes an unknown kind."""
    return kind in (NODE, SHARE, APPSHARE) or (kind == NODE0 and qos == 0) or (kind in PERSISTED and qos > 0)


def routes_of(record: SubscriptionRecord) -> tuple[tuple[str, str], ...]:
    """The (kind, target) pairs that a subscription makes for its filter; () where no router of this version serves it.

    A subscription at QoS 0 is never persisted: what comes by it has QoS 0, whoever published it. A claim of an
    exclusive filter makes none: what its holder is to get, it gets by the plain filter.
    """
    if is_exclusive(record.filter):
        return ()
    if record.share_group is not None and record.kind == APPLICATION_KIND:
        return ((APPSHARE, record.target),) if record.target else ()
    if record.share_group is not None:  # whoever they are, one of them gets it
        return ((SHARE, record.share_group),) if record.kind in (NODE_KIND, DEVICE_KIND) else ()
    if record.kind == DEVICE_KIND and record.qos > 0:
        return ((NODE0, record.node), (DEVICE, record.client_id))
    if record.kind == APPLICATION_KIND and record.qos > 0:
        return ((NODE0, record.node), *(((APP, record.target),) if record.target else ()))
    known = (NODE_KIND, DEVICE_KIND, APPLICATION_KIND)
    return ((NODE, record.node),) if record.kind in known else ()
