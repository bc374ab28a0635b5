"""Which member gets a message of an entity: the pure core of a dispatcher. It knows no Kafka and no clock.

Members take turns. What is chosen, and each partition's state after it, are to be committed together; if they are not,
make both anew from what was committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from contracts import publish_record
from contracts.application_shares import EntityMarks
from contracts.errors import RecordError
from contracts.probe_record import is_answer
from contracts.routed_record import decode_route
from contracts.shared_record import RecordHeaders
from edge.gateway.application_shares.members import Member


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
            qos = publish_record.decode(route.topic.encode(), b"", headers).qos
        except RecordError:
            self.unreadable += 1
            return None
        if self.marks.is_repeat(route.partition, route.offset):
            return None
        return EntityMessage(self.source, offset, qos, value or b"", headers)


@dataclass
class Turns:
    """Whose turn it is."""

    last: str = ""
    """The client that was chosen last; whoever comes behind it is next, though others come and go."""

    def choose(self, messages: Iterable[EntityMessage], members: Sequence[Member]) -> Iterator[Delivery]:
        """Choose for each message, in order; there is at least one member."""
        names = [member.client_id for member in members]
        turn = names.index(self.last) + 1 if self.last in names else 0
        for message in messages:
            member = members[turn % len(members)]
            turn += 1
            self.last = member.client_id
            yield Delivery(message, member)
