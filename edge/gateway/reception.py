"""Where connections tell what happens to them, and who hears of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edge.gateway.auto_subscribe import subscriptions_for
from edge.gateway.cluster_part import ClusterPart
from edge.gateway.connection import Connection
from edge.gateway.node_life import NodeLife
from edge.gateway.session_delivery import SessionDelivery
from edge.gateway.system_topics.system_topics import SystemTopics
from edge.gateway.tracing.tracing import Tracing
from edge.gateway.way_in import WayIn
from edge.mqtt.events import (
    AuthReceived,
    ConnectionEnded,
    ConnectReceived,
    DeliveryCompleted,
    DeliveryReceived,
    ReleaseReceived,
    SubscribeReceived,
    UnsubscribeReceived,
)
from edge.mqtt.packets import Publish
from edge.mqtt.states import State

if TYPE_CHECKING:
    from edge.gateway.access.access import Access


class Reception:
    """The `edge.gateway.connection.Handler` of all connections of a gateway."""

    system: SystemTopics
    """Set before the first client comes."""

    def __init__(
        self, life: NodeLife, way_in: WayIn, delivery: SessionDelivery, part: ClusterPart, tracing: Tracing,
        access: Access | None,
    ) -> None:  # fmt: skip
        """Args: `access` is None where everybody is let in."""
        self._counters, self._rules = life.counters, life.config.auto_subscribe
        self._admission, self._exchanges = way_in.admission, way_in.exchanges
        self._subscribing, self._kept, self._rates = delivery.subscribing, delivery.kept, delivery.rates
        self._sessions, self._pulse = part.clients, part.pulse
        self._tracing = tracing
        self._access = access

    def about_to_read(self) -> None:
        """Not for clients that others may have by now."""
        self._pulse.check()

    def opened(self) -> None:
        """Count it."""
        self._counters.connections += 1

    def connect_received(self, connection: Connection, event: ConnectReceived) -> None:
        """To the entrance, where there is one, or to the sessions."""
        connection.user_name, connection.keep_alive = event.packet.user_name, event.packet.keep_alive
        if self._access is None:
            self._sessions.connect(connection, event)
        else:
            self._access.connect(connection, event)

    def accepted(self, connection: Connection) -> None:
        """Hold it to its rates, tell of it, and subscribe it by the rules, before what it subscribes to itself."""
        connection.tracer = self._tracing.active
        if self._rates is not None:
            self._rates.accepted(connection)
        self.system.connected(connection)
        if self._rules and connection.core.state is State.CONNECTED:
            self._subscribing.subscribe_unasked(
                connection, subscriptions_for(self._rules, connection.client_id, connection.user_name)
            )

    def auth_received(self, connection: Connection, event: AuthReceived) -> None:
        """To those who have asked for it."""
        if self._access is not None:
            self._access.auth_received(connection, event)

    def publish_received(self, connection: Connection, packet: Publish) -> None:
        """To the ingress' door."""
        self._admission.publish(connection, packet)

    def subscribe_received(self, connection: Connection, event: SubscribeReceived) -> None:
        """To the subscribing."""
        self._subscribing.subscribe(connection, event)

    def unsubscribe_received(self, connection: Connection, event: UnsubscribeReceived) -> None:
        """To the subscribing."""
        self._subscribing.unsubscribe(connection, event)

    def delivery_completed(self, connection: Connection, event: DeliveryCompleted) -> None:
        """To whoever feeds it."""
        self._kept.completed(connection, event)

    def delivery_received(self, connection: Connection, event: DeliveryReceived) -> None:
        """To whoever feeds it."""
        self._kept.received(connection, event)

    def release_received(self, connection: Connection, event: ReleaseReceived) -> None:
        """To the exchanges."""
        self._exchanges.release(connection, event.packet_id)

    def ended(self, connection: Connection, event: ConnectionEnded) -> None:
        """To the entrance, the rates and the sessions."""
        if self._rates is not None:
            self._rates.ended(connection)
        if self._access is not None:
            self._access.ended(connection)
        self._sessions.ended(connection, event)
        self.system.ended(connection, event)
