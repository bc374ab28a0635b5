"""Which member of its group gets a message: the pure core of a dispatcher, for one partition of `tbmq.msg.shared`.

    a member online, its session persistent, effective QoS ≥ 1 → into its session: the persisted log, key = client id
    a member online otherwise                                  → its gateway's downlink, which names it
    nobody online, but a persistent member                     → parked: the persisted log, key = the group
    no member                                                  → dropped

Which of those online it is, is for the group's strategy (`strategies`). What is parked is given, all of it, to the
first persistent member that comes back, before anything newer.

`take` shows it records in the log's order; `plan` and `give` answer with writes, which are all to be committed together
with the state; if they are not, `undo` them or begin anew from what was committed. It knows no Kafka and no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from contracts import publish_record
from contracts.errors import RecordError
from contracts.probe_record import is_answer
from contracts.routed_record import decode_route
from contracts.shared_record import DispatchState, RecordHeaders, is_group, is_of_dispatcher
from edge.gateway.shares.groups import Member
from edge.gateway.shares.strategies import UNKNOWN, Origin, Strategies, Strategy

PORTION = 500  # parked messages given out in one transaction, which others wait behind …
PORTION_BYTES = 8 << 20  # … and their bytes

MembersOf = Callable[[str], Sequence[Member]]
Nodes = Collection[str] | None
"""The gateways that live; None while nobody knows."""


@dataclass(frozen=True, slots=True)
class SharedMessage:
    """A message for one member of a group."""

    group: str
    qos: int
    """As published."""
    value: bytes
    headers: RecordHeaders
    origin: Origin = UNKNOWN
    """What a strategy may look at; not known of what was parked, as nothing is chosen for that."""


@dataclass(frozen=True, slots=True)
class Deliver:
    """To a member: into its session, or to its gateway."""

    message: SharedMessage
    sequence: int
    member: Member

    @property
    def is_into_session(self) -> bool:
        """Whether the member's session keeps it until it is acknowledged."""
        return self.member.is_persistent and min(self.message.qos, self.member.qos) > 0


@dataclass(frozen=True, slots=True)
class Park:
    """Kept for whoever comes back."""

    message: SharedMessage
    sequence: int


@dataclass(frozen=True, slots=True)
class Unpark:
    """These offsets of a group's parked messages were given out; None: all of them are void."""

    group: str
    offsets: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Mark:
    """Whether a group has parked messages has changed."""

    group: str
    is_parked: bool


Write = Deliver | Park | Unpark | Mark


def receiver(members: Sequence[Member], nodes: Nodes = None) -> Member | None:
    """Who gets what a group has parked: a member that it is kept for, or when there is none any more, any other."""
    lasting = [member for member in members if _is_lasting(member)]
    candidates = [member for member in lasting or members if member.is_online]
    return next((member for member in candidates if _is_here(member, nodes)), next(iter(candidates), None))


def is_abandoned(members: Sequence[Member]) -> bool:
    """Whether nobody is left to whom parked messages could go, now or later."""
    return not any(member.is_online or _is_lasting(member) for member in members)


def portions_of(parked: Iterable[tuple[int, SharedMessage]]) -> list[list[tuple[int, SharedMessage]]]:
    """Parked messages in portions, each for one transaction; at least one, which may be empty."""
    portions: list[list[tuple[int, SharedMessage]]] = [[]]
    size = 0
    for offset, message in parked:
        size += len(message.value)
        if portions[-1] and (len(portions[-1]) == PORTION or size > PORTION_BYTES):
            portions.append([])
            size = len(message.value)
        portions[-1].append((offset, message))
    return portions


@dataclass
class Dispatch:
    """One partition's groups."""

    state: DispatchState = field(default_factory=DispatchState)
    """As it is to be committed with the writes."""
    parked: set[str] = field(default_factory=set)
    """Groups with parked messages."""
    strategies: Strategies = field(default_factory=Strategies)
    """By which members are chosen."""
    dropped: int = 0
    """Messages that the last `plan` found no member for."""
    unreadable: int = 0
    """Records of no known form."""
    pending: list[SharedMessage] = field(default_factory=list)
    """Taken, and not planned or not committed yet."""
    _choosing: dict[str, Strategy] = field(default_factory=dict)
    _before: tuple[int, frozenset[str]] | None = None

    def take(self, offset: int, value: bytes | None, headers: RecordHeaders) -> None:
        """Take the next record; a repeat, or one before `next_offset`, is passed over."""
        if offset < self.state.next_offset:
            return
        self.state.next_offset = offset + 1
        if is_answer(headers):
            return  # The router asks itself how far it has written.
        try:
            route = decode_route(headers)
            if not is_group(route.filter):
                raise RecordError("the filter of a shared message does not begin with $share/")
            record = publish_record.decode(route.topic.encode(), b"", headers)
        except RecordError:
            self.unreadable += 1
            return
        # What comes back from a member was written once, by a transaction or by whom it could not be delivered.
        if not is_of_dispatcher(route.partition) and self.state.repeats.is_repeat(
            route.partition, route.offset, "", route.filter
        ):
            return
        origin = Origin(record.client_id, route.topic, record.node)
        self.pending.append(SharedMessage(route.filter, record.qos, value or b"", headers, origin))

    def plan(self, members_of: MembersOf, nodes: Nodes = None) -> list[Write]:
        """Choose for all that is pending. `committed` when the writes are."""
        self._begin()
        self.dropped = 0
        writes: list[Write] = []
        for message in self.pending:
            members = members_of(message.group)
            chosen = self._choose(message, members, nodes)
            delivery = None if chosen is None else Deliver(message, self.state.sequence, chosen)
            # Behind what is parked, nothing newer overtakes it; both are given out together.
            if delivery is not None and not (delivery.is_into_session and message.group in self.parked):
                self._number()
                writes.append(delivery)
            elif message.qos and any(map(_is_lasting, members)):
                if message.group not in self.parked:
                    self.parked.add(message.group)
                    writes.append(Mark(message.group, True))
                writes.append(Park(message, self._number()))
            else:
                self.dropped += 1
        return writes

    def give(
        self, group: str, parked: Iterable[tuple[int, SharedMessage]], receiver: Member | None, is_last: bool
    ) -> list[Write]:
        """Give out some of what a group has parked, the oldest, by offset; None: to nobody, all of it is void.

        Only while nothing is pending: the state that is committed has what was taken.
        """
        self._begin()
        given = list(parked)
        writes: list[Write] = []
        if receiver is not None:
            writes += [Deliver(message, self._number(), receiver) for _, message in given]
        if given or receiver is None:
            writes.append(Unpark(group, None if receiver is None else tuple(offset for offset, _ in given)))
        if is_last:
            self.parked.discard(group)
            writes.append(Mark(group, False))
        return writes

    def take_dropped(self) -> int:
        """How many messages the last `plan` found no member for."""
        dropped, self.dropped = self.dropped, 0
        return dropped

    def planned(self) -> None:
        """The writes of `plan` are committed."""
        self.pending.clear()
        self._before = None

    def given(self) -> None:
        """The writes of `give` are committed."""
        self._before = None

    def undo(self) -> None:
        """What `plan` or `give` wrote was not committed: as if it had not been asked."""
        if self._before is not None:
            self.state.sequence, parked = self._before
            self.parked = set(parked)
            self._before = None

    def _begin(self) -> None:
        self._before = self.state.sequence, frozenset(self.parked)

    def _number(self) -> int:
        self.state.sequence += 1
        return self.state.sequence - 1

    def _choose(self, message: SharedMessage, members: Sequence[Member], nodes: Nodes) -> Member | None:
        online = [member for member in members if member.is_online]
        here = [member for member in online if _is_here(member, nodes)]
        if not here:
            # Whoever's gateway is gone gets it when they come back, if their session lasts.
            lasting = [member for member in members if message.qos and _is_lasting(member)]
            here = [member for member in lasting if member.is_online] if lasting else online
        if not here:
            self._choosing.pop(message.group, None)
            return None
        strategy = self._choosing.get(message.group)
        if strategy is None:
            strategy = self._choosing[message.group] = self.strategies.of(message.group)
        return strategy.choose(message.origin, here)


def _is_lasting(member: Member) -> bool:
    """Whether messages can wait for a member: it will come back, and may be sent more than QoS 0."""
    return member.is_persistent and member.qos > 0


def _is_here(member: Member, nodes: Nodes) -> bool:
    return nodes is None or member.node in nodes
