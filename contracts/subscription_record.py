"""The subscription record in `tbmq.client.subscriptions` (compacted): who wants what, and where it is to go.

Key = client id + U+0000 + filter as subscribed (share prefix included), value = JSON; a tombstone unsubscribes. The
partition is `kafka_topics.subscription_partition(filter)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from contracts import json_text
from contracts.errors import RecordError

SEPARATOR = "\0"
NODE_KIND = "node"
"""A client that is served while it is connected."""
DEVICE_KIND = "device"
"""A client with a persistent session: what comes at QoS 1 and 2 waits for it in the log of all such clients."""
APPLICATION_KIND = "app"
"""A client with a persistent session for which that waits in a Kafka topic of its own."""


@dataclass(frozen=True, slots=True)
class SubscriptionRecord:
    """One client's subscription to one filter."""

    client_id: str
    """The subscriber."""
    filter: str
    """The topic filter, without share prefix."""
    node: str
    """The gateway that the client is connected to; for the kinds `device` and `app`, was when it subscribed."""
    qos: int = 0
    """Maximum QoS that was granted."""
    share_group: str | None = None
    """The group's name for a shared subscription."""
    no_local: bool = False
    """MQTT 5: not to be sent what the client itself published."""
    retain_as_published: bool = False
    """MQTT 5: keep the RETAIN flag as published."""
    retain_handling: int = 0
    """MQTT 5: 0 send retained, 1 only for a new subscription, 2 never."""
    subscription_id: int | None = None
    """MQTT 5: the identifier to send along, 1 to 268,435,455."""
    kind: str = NODE_KIND
    """What kind of subscriber it is: `NODE_KIND`, `DEVICE_KIND` or `APPLICATION_KIND`."""
    target: str | None = None
    """Of the kind `app`: the end of its Kafka topic's name (`kafka_topics.application_suffix`), or where the
    subscription is shared, of the entity's (`application_shares.share_target`)."""
    online: bool = True
    """Of a shared subscription: whether its client is connected, so that the group's messages may go to it."""

    @property
    def subscribed_filter(self) -> str:
        """The filter as the client wrote it."""
        return self.filter if self.share_group is None else f"$share/{self.share_group}/{self.filter}"


def encode_key(client_id: str, subscribed_filter: str) -> bytes:
    """The record's key; neither part can hold U+0000, which MQTT forbids."""
    return f"{client_id}{SEPARATOR}{subscribed_filter}".encode()


def decode_key(key: bytes | None) -> tuple[str, str]:
    """The (client id, filter as subscribed) of a key.

    Raises:
        RecordError: It is not of that form.
    """
    try:
        client_id, separator, subscribed_filter = (key or b"").decode().partition(SEPARATOR)
    except UnicodeDecodeError:
        raise RecordError("a subscription's key is not UTF-8") from None
    if not separator or not subscribed_filter:
        raise RecordError("a subscription's key is not client id + U+0000 + filter")
    return client_id, subscribed_filter


def encode_value(record: SubscriptionRecord) -> bytes:
    """The record's JSON; fields that have their default are left out, but for those that routing needs."""
    value: dict[str, Any] = {
        "filter": record.filter,
        "kind": record.kind,
        "node": record.node,
        "qos": record.qos,
    }
    for name in (
        "share_group", "no_local", "retain_as_published", "retain_handling", "subscription_id", "target",
    ):  # fmt: skip
        if field := getattr(record, name):
            value[name] = field
    if not record.online:
        value["online"] = False
    return json_text.dump(value).encode()


def decode(key: bytes | None, value: bytes) -> SubscriptionRecord:
    """Read a subscription that is not a tombstone.

    Raises:
        RecordError: Key or value is not of the documented form.
    """
    client_id, _ = decode_key(key)
    try:
        fields = json_text.load(value)
        return SubscriptionRecord(
            client_id=client_id,
            filter=str(fields["filter"]),
            node=str(fields["node"]),
            qos=int(fields.get("qos") or 0),
            share_group=fields.get("share_group"),
            no_local=bool(fields.get("no_local", False)),
            retain_as_published=bool(fields.get("retain_as_published", False)),
            retain_handling=int(fields.get("retain_handling", 0)),
            subscription_id=fields.get("subscription_id"),
            kind=NODE_KIND if (kind := fields.get("kind")) is None else str(kind),
            target=None if (target := fields.get("target")) is None else str(target),
            online=fields.get("online") is not False,
        )
    # JSON can nest deeper than Python recurses, and hold numbers that are no integer.
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise RecordError(
            "a subscription's value is not a JSON object with at least filter and node"
        ) from None
