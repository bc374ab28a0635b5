"""Which publishes of clients are taken, and by which way they go; and which wills they may leave."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from contracts.delayed_record import DELAYED_PREFIX
from contracts.topics import EXCLUSIVE_PREFIX
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.delayed.delaying import Delaying
from edge.gateway.ingress import Ingress
from edge.gateway.limits.rate import take
from edge.gateway.system_topics.values import SYSTEM_PREFIX
from edge.mqtt.packets import Publish
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode
from edge.mqtt.states import State

if TYPE_CHECKING:
    from identity.rules import Permissions


class Admission:
    """The door of the ingress."""

    def __init__(
        self, ingress: Ingress, begin: Callable[[Connection, Publish], None], delaying: Delaying,
        counters: Counters,
    ) -> None:  # fmt: skip
        """Prepare to take publishes.

        Args:
            ingress: Where they go.
            begin: Takes QoS 2 of sessions that outlive their connection; `go_on` follows.
            delaying: What is to be published later.
            counters: The gateway's.
        """
        self._ingress = ingress
        self._begin = begin
        self._delaying = delaying
        self._counters = counters
        self._loop = asyncio.get_running_loop()

    def publish(self, connection: Connection, packet: Publish) -> None:
        """Take what a client publishes; QoS 2 of a session that outlives its connection is noted first."""
        if connection.incoming and not self._is_in_time(connection, packet):
            return
        if (
            (permissions := connection.permissions) is not None
            and packet.topic not in permissions.published
            and not self._is_permitted(connection, permissions, packet)
        ):
            return
        is_special = packet.topic[:1] == "$"
        if is_special and not self._may_pass(connection, packet):
            return
        if packet.qos == 2 and connection.is_kept:
            self._begin(connection, packet)
        elif is_special:
            self.go_on(connection, packet)
        else:  # nearly always
            self._ingress.submit(connection, packet)

    def go_on(self, connection: Connection, packet: Publish) -> None:
        """Take what may pass, now or later."""
        if packet.topic.startswith(DELAYED_PREFIX):
            self._ingress.submit(connection, *self._delaying.detour(packet))
        else:
            self._ingress.submit(connection, packet)

    def _is_permitted(self, connection: Connection, permissions: Permissions, packet: Publish) -> bool:
        """Whether a client's rules allow a publish; one that they do not is counted and answered."""
        if connection.core.state is State.CLOSED:
            return False  # it was sent behind one that ended the connection
        if permissions.publish(packet.topic) is not None:
            return True
        self._counters.unauthorized_publishes += 1
        self._deny(connection, packet, ReasonCode.NOT_AUTHORIZED)
        return False

    def _is_in_time(self, connection: Connection, packet: Publish) -> bool:
        """Whether a publish is within the rates; one that is not is counted and answered."""
        if connection.core.state is State.CLOSED:
            return False
        if take(connection.incoming, self._loop.time()):
            return True
        self._counters.publishes_over_rate += 1
        self._deny(connection, packet, ReasonCode.QUOTA_EXCEEDED)
        return False

    def _deny(self, connection: Connection, packet: Publish, reason: ReasonCode) -> None:
        if connection.core.version is ProtocolVersion.V5:
            self._ingress.turn_away(connection, packet, reason)
        else:
            # There is no word for it; that it was published must not be believed [MQTT-3.3.5-2] of 3.1.1.
            connection.disconnect(reason)
            if connection.permissions is not None:
                connection.permissions.published.clear()  # what was sent behind it is not allowed unseen

    def _may_pass(self, connection: Connection, packet: Publish) -> bool:
        """Whether a publish goes on; one that does not is counted and answered."""
        reason: ReasonCode | None
        if packet.topic.startswith(DELAYED_PREFIX):
            reason = self._delaying.refusal(packet)
        else:
            reason = _forbidden(packet.topic)
            self._counters.forbidden_publishes += reason is not None
        if reason is not None:
            self._ingress.turn_away(connection, packet, reason)
        return reason is None


def will_refusal(will: Publish) -> ReasonCode | None:
    """Why a client may not leave a will; None when it may.

    Its client could not publish to `$SYS/` either. What waits for a will has its own interval, and is the owner's.
    """
    return ReasonCode.TOPIC_NAME_INVALID if will.topic.startswith(DELAYED_PREFIX) else _forbidden(will.topic)


def _forbidden(topic: str) -> ReasonCode | None:
    """Why clients may not publish to a topic; None when they may."""
    if topic.startswith(SYSTEM_PREFIX):
        return ReasonCode.NOT_AUTHORIZED
    if topic.startswith(EXCLUSIVE_PREFIX):  # whose subscribers stand there only to hold it
        return ReasonCode.TOPIC_NAME_INVALID
    return None
