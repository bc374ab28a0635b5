"""A message on its way out, shared by all who get it, with its bytes encoded once for each way of sending it.

Five hundred subscribers at QoS 0 then cost five hundred appends of one ``bytes`` object. What has a topic alias is one
receiver's alone, and encoded for it each time.
"""

import math
from dataclasses import replace

from contracts.errors import TopicError
from contracts.topics import validate_topic
from edge.mqtt.errors import LocalProtocolError
from edge.mqtt.primitives import encode_string, encode_variable
from edge.mqtt.properties import NO_PROPERTIES, Properties, encode_property_fields
from edge.mqtt.protocol import PacketType

FrameKey = tuple[int, tuple[int, ...], int | None]
"""Flags (bit 0 RETAIN, bits 1 and 2 QoS, bit 3 for MQTT 5.0), subscription identifiers, remaining seconds."""

V5_FLAG = 8
"""The bit of the flags that asks for the MQTT 5.0 form; both versions of MQTT 3 share the other."""


class OutgoingMessage:
    """What to send, without the receiver's part of it (QoS, RETAIN, subscription identifiers, packet identifier).

    Args:
        topic: The topic name.
        payload: The payload.
        properties: The publisher's properties. A topic alias and subscription identifiers in it are ignored, as they
            belong to the publisher's connection; a message expiry interval is, where ``expires_at`` is given.
        expires_at: When the message expires, in seconds on the clock of ``now``; its receivers are told the seconds
            that are left [MQTT-3.3.2-6].
        tag: Anything of the caller's; it comes back with ``DeliveryCompleted``.
    """

    __slots__ = ("_parts", "expires_at", "frames", "payload", "properties", "size", "tag", "topic")

    def __init__(
        self,
        topic: str,
        payload: bytes = b"",
        properties: Properties = NO_PROPERTIES,
        *,
        expires_at: float | None = None,
        tag: object = None,
    ) -> None:
        self.topic = topic
        self.payload = payload
        self.properties = properties
        self.expires_at = expires_at
        self.tag = tag
        self.size = len(topic) + len(payload)
        self.frames: dict[int | FrameKey, bytes] = {}
        self._parts: dict[int | FrameKey, tuple[bytes, bytes]] = {}

    def remaining(self, now: float) -> int | None:
        """Seconds left to live, rounded up; 0 when it has expired, None when it never does."""
        if self.expires_at is None:
            return None
        return max(0, math.ceil(self.expires_at - now))

    def frame(
        self, flags: int, subscription_ids: tuple[int, ...] = (), remaining: int | None = None
    ) -> bytes:
        """The whole packet at QoS 0.

        Args:
            flags: As in ``FrameKey``.
            subscription_ids: Those of the receiver's matching subscriptions.
            remaining: What ``remaining()`` said.
        """
        key = (flags, subscription_ids, remaining) if subscription_ids or remaining is not None else flags
        frame = self.frames.get(key)
        if frame is None:
            frame = self.frames[key] = b"".join(self._encode(flags, subscription_ids, remaining))
        return frame

    def parts(
        self, flags: int, subscription_ids: tuple[int, ...] = (), remaining: int | None = None
    ) -> tuple[bytes, bytes]:
        """The packet at QoS 1 or 2: what stands before and what stands after its packet identifier."""
        key = (flags, subscription_ids, remaining) if subscription_ids or remaining is not None else flags
        parts = self._parts.get(key)
        if parts is None:
            parts = self._parts[key] = self._encode(flags, subscription_ids, remaining)
        return parts

    def aliased_parts(
        self,
        flags: int,
        subscription_ids: tuple[int, ...],
        remaining: int | None,
        alias: int,
        *,
        with_topic: bool,
    ) -> tuple[bytes, bytes]:
        """The same with a topic alias, and with or without the topic itself; nothing of it is kept for others."""
        return self._encode(flags, subscription_ids, remaining, alias, with_topic=with_topic)

    def _encode(
        self,
        flags: int,
        subscription_ids: tuple[int, ...],
        remaining: int | None,
        alias: int = 0,
        *,
        with_topic: bool = True,
    ) -> tuple[bytes, bytes]:
        try:
            validate_topic(self.topic)
        except TopicError as error:
            raise LocalProtocolError(str(error)) from None
        topic = encode_string(self.topic) if with_topic else b"\0\0"
        tail = self.payload
        if flags & V5_FLAG:
            tail = self._encode_properties(subscription_ids, remaining, alias) + tail
        length = len(topic) + len(tail) + (2 if flags & 6 else 0)
        return bytes((PacketType.PUBLISH << 4 | flags & 7,)) + encode_variable(length) + topic, tail

    def _encode_properties(
        self, subscription_ids: tuple[int, ...], remaining: int | None, alias: int
    ) -> bytes:
        properties = self.properties
        if properties is NO_PROPERTIES and not subscription_ids and remaining is None and not alias:
            return b"\0"
        expiry = properties.message_expiry_interval if self.expires_at is None else remaining
        mine = replace(
            properties,
            topic_alias=alias or None,  # never the publisher's [MQTT-3.3.2-7], never 0 [MQTT-3.3.2-8]
            subscription_identifiers=subscription_ids,  # [MQTT-3.3.4-3]
            message_expiry_interval=expiry,
        )
        fields = encode_property_fields(mine, PacketType.PUBLISH)
        return encode_variable(len(fields)) + fields
