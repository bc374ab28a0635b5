"""Who is a member of which share group, as the subscription log says.

The event loop's tail writes it, the dispatcher's thread reads it: all under one lock.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from contracts.shared_record import is_group
from contracts.subscription_record import APPLICATION_KIND, DEVICE_KIND, SubscriptionRecord


@dataclass(frozen=True, slots=True)
class Member:
    """One client's subscription in a share group."""

    client_id: str
    node: str
    """The gateway that it is, or was, connected to."""
    qos: int
    """The QoS granted."""
    is_persistent: bool
    """Whether its session outlives its connection."""
    is_online: bool = True
    """Whether it is connected; one that is not persistent is, while it is a member."""


class ShareGroups:
    """Group (`$share/<group>/<filter>`) → its members, in the order in which they joined."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: dict[str, dict[str, Member]] = {}
        self._told: dict[str, tuple[Member, ...]] = {}
        self._changed: set[str] = set()

    def put(self, record: SubscriptionRecord) -> None:
        """A subscription was made, or its client came or went. One that is not shared is passed over.

        So is a persistent APPLICATION's: among those, others choose (docs/adr/0014).
        """
        if record.share_group is None:
            return
        group = record.subscribed_filter
        if record.kind == APPLICATION_KIND:
            self.remove(record.client_id, group)
            return
        member = Member(record.client_id, record.node, record.qos, record.kind == DEVICE_KIND, record.online)
        with self._lock:
            self._groups.setdefault(group, {})[record.client_id] = member
            self._change(group)

    def remove(self, client_id: str, filter: str) -> None:
        """A subscription ended; one that is not shared is passed over."""
        if not is_group(filter):
            return
        with self._lock:
            members = self._groups.get(filter)
            if members is None or members.pop(client_id, None) is None:
                return
            if not members:
                del self._groups[filter]
            self._change(filter)

    def members(self, group: str) -> tuple[Member, ...]:
        """The members of a group."""
        with self._lock:
            members = self._told.get(group)
            if members is None:
                members = tuple(self._groups.get(group, {}).values())
                if members:
                    self._told[group] = members
            return members

    def take_changed(self) -> set[str]:
        """The groups that have changed since this was last asked."""
        with self._lock:
            changed, self._changed = self._changed, set()
            return changed

    def _change(self, group: str) -> None:
        self._told.pop(group, None)
        self._changed.add(group)
