"""What stands in an entity, and who gets it: the pure core of a dispatcher. It knows no Kafka and no clock.

Which of the members, is for the group's strategy (edge/gateway/shares/strategies.py). What is chosen, and each
partition's state after it, are to be committed together; if they are not, make both anew from what was committed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from contracts import publish_record
from contracts.application_shares import EntityMarks
from contracts.errors import RecordError
from contracts.probe_record import is_answer
from contracts.routed_record import decode_route
from contracts.shared_record import RecordHeaders
from edge.gateway.application_shares.members import Member
from edge.gateway.shares.strategies import Origin


@dataclass(frozen=True, slots=True)
class EntityMessage:
    """A message that is no repeat."""

    source: int
    """Its new source partition (contracts.application_shares.source_of)."""
    offset: int
    """Where it stands in its partition of the entity."""
    qos: int
    """As published."""
    value: bytes
    headers: RecordHeaders
    origin: Origin
    """What a strategy may look at."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message and who gets it."""

    message: EntityMessage
    member: Member

    @property
    def is_into_session(self) -> bool:
        """Whether it goes into the member's own Kafka topic, as its effective QoS is 1 or 2; else to its connection."""
        return min(self.message.qos, self.member.qos) > 0


@dataclass
class EntityPartition:
    """One partition of an entity, as far as it is dispatched to one group."""

    number: int
    source: int
    next_offset: int = 0
    """Everything before this offset is dispatched."""
    marks: EntityMarks = field(default_factory=EntityMarks)
    unreadable: int = 0
    """Records of no known form."""

    def take(self, offset: int, value: bytes | None, headers: RecordHeaders) -> EntityMessage | None:
        """Take the next record; None for a repeat, or what is no message."""
        self.next_offset = offset + 1
        if is_answer(headers):
            return None  # The router asks itself how far it has written.
        try:
            route = decode_route(headers)
            record = publish_record.decode(route.topic.encode(), b"", headers)
        except RecordError:
            self.unreadable += 1
            return None
        if self.marks.is_repeat(route.partition, route.offset):
            return None
        origin = Origin(record.client_id, route.topic, record.node)
        return EntityMessage(self.source, offset, record.qos, value or b"", headers, origin)
