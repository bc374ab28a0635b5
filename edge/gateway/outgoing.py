"""From a message's record in Kafka to what the MQTT core sends."""

from __future__ import annotations

import time

from contracts.publish_record import NO_PROPERTIES, MessageProperties, PublishRecord
from edge.mqtt.message import OutgoingMessage
from edge.mqtt.properties import Properties


def outgoing_message(record: PublishRecord, now: float, tag: object = None) -> OutgoingMessage:
    """What to send of a record.

    Args:
        record: The message.
        now: The event loop's time in seconds, on which the message's end is told to the core.
        tag: Comes back with the events of its delivery.
    """
    properties = record.properties
    if properties is NO_PROPERTIES:
        return OutgoingMessage(record.topic, record.payload, tag=tag)
    expires_at = None
    if properties.message_expiry is not None:
        # The publisher's gateway stamped it with wall-clock time; deadlines here run on the loop's clock.
        today = time.time()
        published_at = (properties.published_at_ms or 0) / 1_000 or today
        # A clock that goes before ours must not prolong a message's life.
        expires_at = now + min(published_at - today, 0) + properties.message_expiry
    return OutgoingMessage(
        record.topic, record.payload, _packet_properties(properties), expires_at=expires_at, tag=tag
    )


def _packet_properties(properties: MessageProperties) -> Properties:
    return Properties(
        payload_format_indicator=properties.payload_format,
        content_type=properties.content_type,
        response_topic=properties.response_topic,
        correlation_data=properties.correlation_data,
        user_properties=tuple(properties.user_properties),
    )
