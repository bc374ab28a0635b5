"""Sends what is kept for one client elsewhere, under the packet ids that the messages' offsets give.

It knows neither where messages come from nor where acknowledgements go: whoever feeds a client asks it, message by
message, in order.
"""

from __future__ import annotations

import asyncio
import logging

from contracts import publish_record
from contracts.errors import RecordError
from contracts.persisted_record import Message, packet_id
from contracts.shared_record import is_group
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.local_subscriptions import FindSubscription, Subscription
from edge.gateway.outgoing import outgoing_message
from edge.mqtt.errors import LocalProtocolError
from edge.mqtt.events import DeliveryOutcome
from edge.mqtt.message import OutgoingMessage

log = logging.getLogger(__name__)

_LEFT = Subscription(2)
"""For a filter that the client has unsubscribed from since."""
_UNKNOWN = "-"  # stands for the topic of a message of which nothing is left but that it was received


class Sender:
    """To one connection of a session that outlives it."""

    def __init__(
        self, connection: Connection, log_name: str, counters: Counters, find: FindSubscription
    ) -> None:
        """Prepare to send.

        Args:
            connection: The client.
            log_name: What the messages' offsets are offsets of, for logs.
            counters: The gateway's.
            find: Looks up the client's subscription by filter.
        """
        self.connection = connection
        self.client_id = connection.client_id
        self._log_name = log_name
        self._counters = counters
        self._find = find
        self._loop = asyncio.get_running_loop()

    @property
    def window(self) -> int:
        """How many may be under way at once."""
        return self.connection.core.limits.maximum_in_flight

    def can_send(self, offset: int) -> bool:
        """Whether the window has room, and nothing under way has the packet id of the message at this offset."""
        return self.connection.core.can_deliver_as(packet_id(offset))

    def release(self, offset: int) -> None:
        """Go on with a message whose PUBREC came on an earlier connection; ask `can_send` first."""
        self.connection.core.resume_release(packet_id(offset), OutgoingMessage(_UNKNOWN, tag=offset))

    def go_on(self, packet_id: int) -> None:
        """Send PUBREL: that PUBREC came can get lost no more (I5)."""
        self.connection.core.release_delivery(packet_id)
        self.connection.changed()

    def send(self, message: Message, *, dup: bool, is_owed: bool = False) -> bool:
        """Send a message; ask `can_send` first.

        Args:
            message: The message.
            dup: Whether it may have been sent before.
            is_owed: Whether it certainly was, and not acknowledged. Then it is sent again, whatever the client has
                unsubscribed from or subscribed to anew since [MQTT-3.10.4-3].

        Returns:
            Whether an answer of the client will come; if not, the message is done with.
        """
        try:
            outcome = self._try_to_send(message, dup, is_owed)
        except (RecordError, LocalProtocolError) as error:  # or no MQTT packet can be made of it
            self._counters.poison_records += 1
            log.warning("record %s:%s is skipped: %s", self._log_name, message.offset, error)
            return False
        if outcome is DeliveryOutcome.SENT:
            self._counters.deliveries += 1
            return True
        if outcome is DeliveryOutcome.DROPPED_TOO_LARGE:
            self._counters.dropped_large += 1
        elif outcome is DeliveryOutcome.DROPPED_EXPIRED:
            self._counters.dropped_expired += 1
        return False

    def _try_to_send(self, message: Message, dup: bool, is_owed: bool) -> DeliveryOutcome | None:
        subscription = self._find(message.filter)
        if subscription is None and (is_owed or is_group(message.filter)):
            # What is a group's would be lost to it if it were dropped here: it has left it to us.
            subscription = _LEFT
        if subscription is None or (_is_older(message, subscription.floors) and not is_owed):
            return None
        record = publish_record.decode(message.topic.encode(), message.value, message.headers)
        if subscription.no_local and record.client_id == self.client_id and not is_owed:
            return None  # [MQTT-3.8.3-3]
        qos = min(record.qos, subscription.qos) or (record.qos if is_owed else 0)
        if not qos:
            return None  # That came by the node's downlink.
        now = self._loop.time()
        identifier = subscription.subscription_id
        return self.connection.core.deliver_as(
            packet_id(message.offset),
            outgoing_message(record, now, message.offset),
            qos,
            record.retain and subscription.retain_as_published,  # [MQTT-3.3.1-12], [MQTT-3.3.1-13]
            () if identifier is None else (identifier,),
            dup=dup,
            now=now,
        )


def _is_older(message: Message, floors: tuple[int, ...]) -> bool:
    """Whether a message was published before the subscription was made; an earlier session's route brought it."""
    partition = message.source_partition
    return partition < len(floors) and message.source_offset <= floors[partition]
