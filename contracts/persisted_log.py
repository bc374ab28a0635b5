"""What `tbmq.msg.persisted` amounts to: which messages are still owed to a client, in what order, which are repeats.

Gateway and sink read the same log with these same rules, so that what the store holds at an offset, folded with the
rest of the log, is what the whole log gives. Everything here is pure: no clock, no store, no Kafka.

An offset of one client is in one of three states: *pending* (to be sent as PUBLISH), *received* (PUBREC came: only
PUBREL is sent), or gone. Pending and received never overlap. Folding records over a state that already has some of them
in it changes nothing in the end, as each offset's state is decided by the last record about it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from contracts import json_text
from contracts.errors import RecordError
from contracts.persisted_record import Event, EventKind, Message
from contracts.retained_record import is_copy
from contracts.topics import SHARE_PREFIX

T = TypeVar("T")
_ALL_ITS_OWN = ""  # stands for all filters of a client but those of share groups


class Repeats:
    """Tells which messages of one persisted partition are repeats (a router's replay, overlapping generations).

    Records of one source partition come in source order. So, per source partition, a record below the highest source
    offset is a repeat, and one at it is a repeat if its client was seen there: what matches several filters of one
    client is written for each, and the first of these records stands for all (docs/adr/0018). What comes by a share
    group is a message of its own, so there it is (client, group). All messages of the partition must be shown to it,
    also those of clients that its reader has no interest in. Copies of retained messages are of no router's, and never
    repeats.
    """

    def __init__(self) -> None:
        self._highest: dict[int, int] = {}
        # (client id, group), the second empty for what comes by any other filter.
        self._seen: dict[int, set[tuple[str, str]]] = {}

    def is_repeat(self, source_partition: int, source_offset: int, client_id: str, filter: str) -> bool:
        """Tell whether a message was here before, and remember it."""
        if is_copy(source_partition):
            return False
        highest = self._highest.get(source_partition, -1)
        if source_offset > highest:
            self._highest[source_partition] = source_offset
            self._seen[source_partition] = {(client_id, _kept_apart(filter))}
            return False
        if source_offset < highest:
            return True
        seen, pair = self._seen[source_partition], (client_id, _kept_apart(filter))
        if pair in seen:
            return True
        seen.add(pair)
        return False

    def include(self, other: Repeats) -> None:
        """Know also what another one has seen; where their marks differ, the higher tells more."""
        for source, highest in other._highest.items():
            mine = self._highest.get(source, -1)
            if highest > mine:
                self._highest[source] = highest
                self._seen[source] = set()
            if highest >= mine:
                self._seen[source] |= other._seen[source]

    def to_json(self) -> str:
        """The state as text: {"marks": {source partition: offset}, "seen": {client: {source partition: [group]}}}.

        A group is empty where the message came by another filter. Equal states give equal text.
        """
        seen: dict[str, dict[str, list[str]]] = {}
        for source, pairs in sorted(self._seen.items()):
            for client_id, group in sorted(pairs):
                seen.setdefault(client_id, {}).setdefault(str(source), []).append(group)
        marks = {str(source): offset for source, offset in sorted(self._highest.items())}
        return _dumps({"marks": marks, "seen": dict(sorted(seen.items()))})

    @classmethod
    def from_json(cls, text: str) -> Repeats:
        """Read what `to_json` wrote, or what an earlier version did, which named every filter.

        Raises:
            RecordError: It is not of that form.
        """
        found = cls()
        try:
            state = json_text.load(text.encode())
            for source, offset in state["marks"].items():
                found._highest[int(source)] = int(offset)
                found._seen[int(source)] = set()
            for client_id, sources in state["seen"].items():
                for source, filters in sources.items():
                    found._seen[int(source)].update((client_id, _kept_apart(str(name))) for name in filters)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            raise RecordError("the state of repeats is not JSON with marks and seen") from None
        return found


def _kept_apart(filter: str) -> str:
    """What tells a client's messages by this filter from its others of the same source: nothing, but for a group."""
    return filter if filter.startswith(SHARE_PREFIX) else _ALL_ITS_OWN


def split_repeats(text: str) -> tuple[str, dict[str, str]]:
    """Take `Repeats.to_json` apart: the marks, and what was seen by client.

    After a message to 100,000 clients the second part is large; one client's reader needs its own line alone.
    """
    state = json.loads(text)
    return _dumps(state["marks"]), {client_id: _dumps(seen) for client_id, seen in state["seen"].items()}


def join_repeats(marks: str, seen: Mapping[str, str]) -> str:
    """Undo `split_repeats`, for as many clients as `seen` has."""
    lines = ",".join(
        f"{json.dumps(client_id, ensure_ascii=False)}:{seen[client_id]}" for client_id in sorted(seen)
    )
    return f'{{"marks":{marks},"seen":{{{lines}}}}}'


def _dumps(value: Mapping[str, object]) -> str:
    return json_text.dump(value)


@dataclass(frozen=True, slots=True)
class Position:
    """How far something has read a partition of `tbmq.msg.persisted`."""

    next_offset: int
    """Everything before this offset is in; reading goes on here."""
    repeats: str
    """`Repeats.to_json()` at that place."""


class Backlog(Generic[T]):
    """What one client is still owed. `T` is whatever stands for a message with its reader."""

    def __init__(self, pending: Mapping[int, T] | None = None, received: Iterable[int] = ()) -> None:
        self.pending: dict[int, T] = dict(pending or {})
        """Messages to be sent as PUBLISH, by offset, in ascending order."""
        self.received_offsets: set[int] = set(received)
        """Messages whose PUBREC came: only PUBREL is to be sent, so nothing but the offset is kept."""

    def add(self, offset: int, message: T) -> None:
        """A message came that is no repeat. Offsets come in ascending order, but may begin again after a re-read."""
        self.pending[offset] = message

    def apply(self, event: Event) -> None:
        """An event about this client came."""
        if event.kind is EventKind.ACKED:
            self.acked(event.offsets)
        elif event.kind is EventKind.RECEIVED:
            self.received(event.offsets)
        else:
            self.cleared(event.offset)

    def acked(self, offsets: Iterable[int]) -> None:
        """These are done with; offsets that are not there are passed over."""
        for offset in offsets:
            self.pending.pop(offset, None)
            self.received_offsets.discard(offset)

    def received(self, offsets: Iterable[int]) -> None:
        """PUBREC came for these, also for one that a limit has dropped meanwhile: the client waits for its PUBREL."""
        for offset in offsets:
            self.pending.pop(offset, None)
            self.received_offsets.add(offset)

    def cleared(self, below: int) -> None:
        """Everything below an offset is void."""
        self.pending = {offset: message for offset, message in self.pending.items() if offset >= below}
        self.received_offsets = {offset for offset in self.received_offsets if offset >= below}


@dataclass(slots=True)
class ClientChanges:
    """What a batch changes for one client, to be applied in this order: cleared, deleted, received, added."""

    cleared: int | None = None
    """Everything below this offset goes, messages and received marks."""
    deleted: set[int] = field(default_factory=set)
    """Messages or received marks from before the batch that are done with."""
    received: set[int] = field(default_factory=set)
    """Offsets that are marked as received from now on; their messages, where stored, go."""
    added: dict[int, Message] = field(default_factory=dict)
    """New messages by offset, ascending."""

    def __bool__(self) -> bool:
        return self.cleared is not None or bool(self.deleted or self.received or self.added)


@dataclass(frozen=True, slots=True)
class PartitionBatch:
    """What a stretch of one partition of the log changes in the store, as one transaction."""

    expected: Position | None
    """Where the store must stand before; None: it knows nothing of the partition."""
    position: Position
    """Where it stands after."""
    clients: Mapping[str, ClientChanges]
    """Changes by client id; clients without any are left out."""

    @property
    def begins(self) -> int | None:
        """The next offset that the store must stand at before; None: it knows nothing of the partition."""
        return self.expected.next_offset if self.expected else None


class PartitionFold:
    """Folds a stretch of one partition of the log, all clients, into a `PartitionBatch`.

    A message that is acknowledged in the same stretch never appears in the batch.
    """

    def __init__(self, start: Position | None) -> None:
        self.start = start
        """Where the store stands, or None when it knows nothing of the partition."""
        self.next_offset = start.next_offset if start else 0
        """Everything before this offset is folded."""
        self.repeats = Repeats.from_json(start.repeats) if start else Repeats()
        """The state of repeats at `next_offset`."""
        self.clients: dict[str, ClientChanges] = {}
        """Changes so far."""
        self.repeated = 0
        """How many messages were repeats."""

    def take(self, record: Message | Event) -> None:
        """Fold the next record. One before `next_offset` is in already and is passed over."""
        if record.offset < self.next_offset:
            return
        self.next_offset = record.offset + 1
        if isinstance(record, Message):
            if self.repeats.is_repeat(
                record.source_partition, record.source_offset, record.client_id, record.filter
            ):
                self.repeated += 1
            else:
                self._of(record.client_id).added[record.offset] = record
        elif record.kind is EventKind.CLEARED:
            self._clear(self._of(record.client_id), record.offset)
        else:
            self._finish(self._of(record.client_id), record)

    def skip_to(self, next_offset: int) -> None:
        """Say that there is nothing more to fold before an offset (unreadable records, gaps in the log)."""
        self.next_offset = max(self.next_offset, next_offset)

    def batch(self) -> PartitionBatch:
        """What has been folded so far; the fold is not to be used after."""
        changed = {client_id: changes for client_id, changes in self.clients.items() if changes}
        return PartitionBatch(self.start, Position(self.next_offset, self.repeats.to_json()), changed)

    def _of(self, client_id: str) -> ClientChanges:
        changes = self.clients.get(client_id)
        if changes is None:
            changes = self.clients[client_id] = ClientChanges()
        return changes

    def _finish(self, changes: ClientChanges, event: Event) -> None:
        stored_below = self.start.next_offset if self.start else 0
        for offset in event.offsets:
            changes.added.pop(offset, None)
            if event.kind is EventKind.RECEIVED:
                changes.received.add(offset)
                changes.deleted.discard(offset)
                continue
            changes.received.discard(offset)
            # What came in this batch is not in the store; what a `cleared` of this batch covers goes with that.
            if offset < stored_below and offset >= (changes.cleared or 0):
                changes.deleted.add(offset)

    @staticmethod
    def _clear(changes: ClientChanges, below: int) -> None:
        changes.cleared = below
        # All that came before has a lower offset than this event.
        changes.deleted.clear()
        changes.received.clear()
        changes.added.clear()
