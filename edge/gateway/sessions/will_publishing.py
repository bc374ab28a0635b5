"""A gateway's publishes of its clients' wills: each noted with the client's owner before it may reach Kafka.

So whoever takes over when this gateway is lost knows which wills may be in `tbmq.msg.all`, and from when on to look
for them. A gateway that may have been taken for lost publishes none any more: they are the owners', who are told so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from confluent_kafka import KafkaError, Message

from contracts.publish_record import QOS_HEADERS, RETAIN_HEADERS, property_headers
from contracts.session_event import SessionEvent, WillBegun
from contracts.wall_clock import epoch_ms
from contracts.will_record import Will
from edge.gateway.appender import Durable
from edge.gateway.connection import Connection
from edge.gateway.ingress import message_properties
from edge.mqtt.packets import Publish


class WillPublishing:
    """The wills of this gateway's clients, on their way to Kafka."""

    def __init__(
        self, tell: Callable[[str, SessionEvent, Durable | None], None],
        submit: Callable[[Connection, Publish], None], check: Callable[[], None],
    ) -> None:  # fmt: skip
        """Prepare to publish.

        Args:
            tell: Appends a session's event for its owner.
            submit: Takes a publish on its way to Kafka.
            check: Looks at the pulse, which may give connections up.
        """
        self._tell = tell
        self._submit = submit
        self._check = check

    def publish(self, connection: Connection, will: Publish, submitted: Callable[[], None]) -> None:
        """Publish a will; call back when it is on its way, or left to the owner."""
        self._check()
        if connection.seat is None or connection.is_given_up:
            connection.is_will_left = True
            submitted()
            return

        def noted(_error: KafkaError | None, _: Message) -> None:
            self._check()
            if connection.is_given_up:
                connection.is_will_left = True
            else:
                self._submit(connection, will)
            submitted()

        begun = WillBegun(connection.seat.id, epoch_ms())
        self._tell(connection.client_id, begun, noted)


def will_of(connection: Connection) -> Will | None:
    """A connection's will as its owner keeps it."""
    will = connection.will
    if will is None:
        return None
    # Its expiry begins to run when it is published.
    properties = property_headers(replace(message_properties(will.properties), published_at_ms=None))
    headers = (*connection.headers, QOS_HEADERS[will.qos], RETAIN_HEADERS[will.retain], *properties)
    return Will(will.topic, will.payload, headers, will.properties.will_delay_interval or 0)
