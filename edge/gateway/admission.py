"""Which publishes are taken, and by which way they go: what comes from clients, their wills, and the gateway's own."""

from __future__ import annotations

from collections.abc import Callable

from contracts.topics import EXCLUSIVE_PREFIX
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.ingress import Ingress
from edge.gateway.system_topics.values import SYSTEM_PREFIX
from edge.mqtt.packets import Publish
from edge.mqtt.reason_codes import ReasonCode


class Admission:
    """The door of the ingress."""

    def __init__(
        self, ingress: Ingress, begin: Callable[[Connection, Publish], None], counters: Counters
    ) -> None:
        """Args: `begin` takes QoS 2 of sessions that outlive their connection."""
        self._ingress = ingress
        self._begin = begin
        self._counters = counters

    def publish(self, connection: Connection, packet: Publish) -> None:
        """Take what a client publishes; QoS 2 of a session that outlives its connection is noted first."""
        if packet.topic[0] == "$" and not self._may_pass(connection, packet):
            return
        if packet.qos == 2 and connection.is_kept:
            self._begin(connection, packet)
        else:
            self._ingress.submit(connection, packet)

    def publish_will(self, connection: Connection, will: Publish) -> None:
        """Take a will: its client could not have published to other topics either."""
        if self._may_pass(connection, will):
            self._ingress.submit(connection, will)

    def _may_pass(self, connection: Connection, packet: Publish) -> bool:
        """Whether a publish goes on; one that does not is counted and answered."""
        if packet.topic.startswith(SYSTEM_PREFIX):
            reason = ReasonCode.NOT_AUTHORIZED
        elif packet.topic.startswith(EXCLUSIVE_PREFIX):  # whose subscribers stand there only to hold it
            reason = ReasonCode.TOPIC_NAME_INVALID
        else:
            return True
        self._counters.forbidden_publishes += 1
        self._ingress.turn_away(connection, packet, reason)
        return False
