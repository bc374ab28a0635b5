"""Topic aliases on the messages that we send (section 3.3.2.3.4).

The first topics that a connection brings get them, and keep them while it lasts: what is sent on any other topic stays
the bytes that all receivers share, and no table is turned over by topics that come once. A topic is given its alias by
a packet that carries both, so only a packet that is really sent may be taken from here, in the order of sending.
"""

from edge.mqtt.message import OutgoingMessage

_ALIAS_BYTES = 3
"""What the property costs; a topic that is no longer than that gains nothing."""


class SentAliases:
    """One connection's.

    Args:
        maximum: How many there may be: no alias above the client's maximum is sent [MQTT-3.3.2-11].
    """

    __slots__ = ("_aliases", "_maximum")

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._aliases: dict[str, int] = {}

    def parts(
        self,
        message: OutgoingMessage,
        flags: int,
        subscription_ids: tuple[int, ...],
        remaining: int | None,
        maximum_packet_size: int,
    ) -> tuple[bytes, bytes] | None:
        """The packet as ``OutgoingMessage.parts`` gives it, with an alias; send it next.

        Args:
            message: What is sent now; without an alias it is not too large.
            flags: As in ``FrameKey``.
            subscription_ids: Those of the receiver's matching subscriptions.
            remaining: What ``message.remaining()`` said.
            maximum_packet_size: What the receiver takes.

        Returns:
            The two parts; None when the message is to be sent without an alias.
        """
        aliases, topic = self._aliases, message.topic
        alias = aliases.get(topic)
        if alias is not None:
            return message.aliased_parts(flags, subscription_ids, remaining, alias, with_topic=False)
        if len(aliases) >= self._maximum or len(topic.encode()) <= _ALIAS_BYTES:
            return None
        alias = len(aliases) + 1
        head, tail = message.aliased_parts(flags, subscription_ids, remaining, alias, with_topic=True)
        if len(head) + len(tail) + 2 > maximum_packet_size:
            return None
        aliases[topic] = alias
        return head, tail
