"""Sessions of this gateway: who is connected, under which client id, and what happens when that ends.

A session lasts as long as its connection here; what outlives it is not offered yet, and CONNACK says so.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator

from contracts.publish_record import connection_headers
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.mqtt.events import ConnectionEnded, ConnectReceived
from edge.mqtt.packets import Connect, Publish
from edge.mqtt.properties import Properties
from edge.mqtt.reason_codes import ReasonCode

log = logging.getLogger(__name__)


class Sessions:
    """Client id → its one live connection on this gateway."""

    def __init__(
        self, node: str, counters: Counters, drop: Callable[[Connection], None],
        publish: Callable[[Connection, Publish], None],
    ) -> None:  # fmt: skip
        self._node = node
        self._counters = counters
        self._drop = drop
        self._publish = publish
        self._connected: dict[str, Connection] = {}

    def __len__(self) -> int:
        return len(self._connected)

    def __iter__(self) -> Iterator[Connection]:
        return iter(list(self._connected.values()))

    def connect(self, connection: Connection, event: ConnectReceived) -> None:
        """Let a client in, in place of an older connection of the same id."""
        packet = event.packet
        if packet.properties.authentication_method is not None:
            self._counters.refused += 1
            connection.core.refuse(ReasonCode.BAD_AUTHENTICATION_METHOD)
            return
        assigned = None
        if not packet.client_id:
            assigned = f"auto-{uuid.uuid4().hex}"  # [MQTT-3.1.3-6]
        connection.client_id = assigned or packet.client_id
        connection.headers = connection_headers(connection.client_id, self._node, packet.version)
        connection.will = _will(packet)
        older = self._connected.get(connection.client_id)
        if older is not None:
            self._counters.takeovers += 1
            older.disconnect(
                ReasonCode.SESSION_TAKEN_OVER
            )  # [MQTT-3.1.4-3]; its will and subscriptions end first
        self._connected[connection.client_id] = connection
        self._counters.connects += 1
        connection.core.accept(
            session_present=False, assigned_client_id=assigned, properties=_offer(packet.properties)
        )

    def ended(self, connection: Connection, event: ConnectionEnded) -> None:
        """A connection is over: so is its session; publish its will if it is wanted."""
        if event.reason_code is not None and event.reason_code >= 0x80:
            self._counters.protocol_errors += 1
        if self._connected.get(connection.client_id) is not connection:
            return  # it never got in
        del self._connected[connection.client_id]
        self._drop(connection)
        if event.will_wanted and connection.will is not None:
            # The session ends now, so a Will Delay Interval is over as well [MQTT-3.1.3-9].
            self._publish(connection, connection.will)


def _offer(asked: Properties) -> Properties:
    # What is not there yet, a client is told, so that it need not find out by losing messages.
    return Properties(
        session_expiry_interval=0 if asked.session_expiry_interval else None,  # [MQTT-3.2.2-21]
        retain_available=0,
        shared_subscription_available=0,
    )


def _will(packet: Connect) -> Publish | None:
    will = packet.will
    if will is None:
        return None
    return Publish(will.topic, will.payload, will.qos, will.retain, properties=will.properties)
