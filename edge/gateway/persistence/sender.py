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
from contracts.retained_record import is_copy
from contracts.shared_record import is_group
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.local_subscriptions import FindSubscriptions, Subscription
from edge.gateway.outgoing import outgoing_message
from edge.gateway.overlaps import together
from edge.gateway.persistence.newest import Newest
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
        self, connection: Connection, log_name: str, counters: Counters, find: FindSubscriptions
    ) -> None:
        """Prepare to send.

        Args:
            connection: The client.
            log_name: What the messages' offsets are offsets of, for logs.
            counters: The gateway's.
            find: Looks up by which of the client's subscriptions it gets a message.
        """
        self.connection = connection
        self.client_id = connection.client_id
        self._log_name = log_name
        self._counters = counters
        self._find = find
        self._newest = Newest()
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
            place = f"{message.source_partition}:{message.source_offset}"
            log.warning(
                "record %s:%s is skipped: %s", self._log_name, message.offset, error,
                extra={"client": self.client_id, "topic": message.topic, "message_id": place},
            )  # fmt: skip
            return False
        if self.connection.tracer is not None and outcome is not None:
            self.connection.tracer.sent(self.connection, message, outcome, dup)
        if outcome is DeliveryOutcome.SENT:
            self._counters.deliveries += 1
            return True
        if outcome is DeliveryOutcome.DROPPED_TOO_LARGE:
            self._counters.dropped_large += 1
        elif outcome is DeliveryOutcome.DROPPED_EXPIRED:
            self._counters.dropped_expired += 1
        return False

    def _try_to_send(self, message: Message, dup: bool, is_owed: bool) -> DeliveryOutcome | None:
        # Each filter has its own copy of a retained message [MQTT-3.8.4-4].
        topic = None if is_copy(message.source_partition) else message.topic
        matching = self._find(topic, message.filter)
        if not matching and is_group(message.filter):
            # It would be lost to its group if it were dropped here: that has left it to us.
            matching = {message.filter: _LEFT}
        if not matching and not is_owed:
            return None
        record = publish_record.decode(message.topic.encode(), message.value, message.headers)
        is_own = record.client_id == self.client_id
        place = message.source_partition, message.source_offset
        found = together(matching.values(), *place, is_own=is_own)
        if found is None and is_owed:
            found = together((_LEFT,), *place, is_own=False)
        if found is None:
            return None
        qos = min(record.qos, found.subscription.qos) or (record.qos if is_owed else 0)
        if not qos:
            return None  # That came by the node's downlink.
        if not (dup or is_owed) and self._newest.is_behind(message, matching):
            return None
        now = self._loop.time()
        return self.connection.core.deliver_as(
            packet_id(message.offset),
            outgoing_message(record, now, message.offset),
            qos,
            # [MQTT-3.3.1-12], [MQTT-3.3.1-13]; a copy of a retained message has it always, [MQTT-3.3.1-8] of 3.1.1
            is_copy(message.source_partition) or (record.retain and found.subscription.retain_as_published),
            found.identifiers,
            dup=dup,
            now=now,
        )
