"""A message for a member that is gone from here goes back to its group: the dispatcher chooses once more.

Messages that the group would otherwise lose: of QoS 1 and 2, when they were never sent to the member, and of QoS 1 when
it has not acknowledged them. (Those of members whose session outlives the connection wait for them: `releases`.)
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from confluent_kafka import KafkaError, Message

from contracts.shared_record import RecordHeaders, without_member
from edge.gateway.appender import Appender
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SharedRecord:
    """A record of the share downlink: the tag of what is sent of it."""

    group: str
    value: bytes | None
    headers: RecordHeaders


class Returning:
    """Writes to `tbmq.msg.shared`, as the router does."""

    def __init__(self, topic: str, appender: Appender, counters: Counters) -> None:
        self._topic = topic
        self._appender = appender
        self._counters = counters

    def leave(self, connection: Connection) -> None:
        """A client is gone, its session with it, and that it is no member any more is durable."""
        for delivery in connection.core.session.outbound.unfinished():
            record = delivery.message.tag
            # QoS 2 that was sent is nobody else's [MQTT-4.8.2-5].
            if isinstance(record, SharedRecord) and (delivery.qos == 1 or not delivery.packet_id):
                self.give_back(record)

    def give_back(self, record: SharedRecord) -> None:
        """Give a record back."""
        self._counters.shared_returned += 1
        kept = [(name, content or b"") for name, content in without_member(record.headers)]

        def append() -> None:
            try:
                self._appender.append(self._topic, record.value, record.group.encode(), kept, _unheard)
            except BufferError:
                self._appender.when_room(append)

        append()


def _unheard(error: KafkaError | None, _: Message) -> None:
    if error is not None:
        log.warning("a message could not be given back to its group: %s", error)
