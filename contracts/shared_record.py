"""Records of shared subscriptions: `tbmq.msg.shared`, its state, and what a dispatcher writes on.

The router writes each message once for each (share group, filter) into `tbmq.msg.shared`: a routed record whose key and
whose `filter` are `$share/<group>/<filter>`, the *group* for short. The partition's dispatcher chooses one member, and
writes the record on: into the persisted log, or into the downlink `tbmq.msg.downlink.shared.<node>`.

The `id` of what a dispatcher writes lives in a number space of its own: source partition = `SOURCES` + its partition of
`tbmq.msg.shared`, source offset = how many records it has written before. So the persisted log's rule of repeats
(contracts.persisted_log.Repeats) holds for them as for the router's, whatever they were before.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from contracts import headers as h
from contracts import json_text
from contracts.errors import RecordError
from contracts.persisted_log import Repeats
from contracts.routed_record import ROUTED_HEADERS, encode_id, is_of_rule
from contracts.topics import SHARE_PREFIX

SOURCES = 1_000_000
"""Source partitions from here on are dispatchers'; no Kafka topic has so many."""
MEMBER = "member"
"""Header of a record in `tbmq.msg.downlink.shared.<node>`: the one client that it is for."""
_SEPARATOR = "\0"
_MOST_DIGITS = 20

RecordHeaders = Sequence[tuple[str, bytes | None]]


def is_group(name: str) -> bool:
    """Whether a filter (in its canonical form), or the key of a record in the persisted log, is a share group's."""
    return name.startswith(SHARE_PREFIX)


def is_of_dispatcher(source_partition: int) -> bool:
    """Whether an `id` was given by a dispatcher. In `tbmq.msg.shared`: a message that comes back to its group."""
    return source_partition >= SOURCES and not is_of_rule(source_partition)


def encode_headers(
    headers: RecordHeaders, partition: int, sequence: int, member: str | None = None
) -> list[tuple[str, bytes | None]]:
    """The headers of what a dispatcher writes on.

    Args:
        headers: As they came; the last three are a routed record's.
        partition: The dispatcher's, of `tbmq.msg.shared`.
        sequence: How many records it has written before.
        member: For a downlink: whom the record is for.
    """
    group = h.text(h.FILTER, headers[-1][1])
    return encode_dispatched(headers, SOURCES + partition, sequence, group, member)


def encode_dispatched(
    headers: RecordHeaders, source: int, offset: int, group: str, member: str | None = None
) -> list[tuple[str, bytes | None]]:
    """The headers of what any dispatcher writes on: as they came, under another id and for a group."""
    found = without_member(headers)[:-3]
    if member is not None:
        found.append((MEMBER, member.encode()))
    return [*found, headers[-3], (h.ID, encode_id(source, offset)), (h.FILTER, group.encode())]


def without_member(headers: RecordHeaders) -> list[tuple[str, bytes | None]]:
    """The headers of a dispatcher's record without the member, to be written to `tbmq.msg.shared` again."""
    found = list(headers)
    if _has_member(headers):
        del found[-4]
    return found


def decode_member(headers: RecordHeaders) -> str:
    """Whom a record of `tbmq.msg.downlink.shared.<node>` is for.

    Raises:
        RecordError: It does not say.
    """
    if not _has_member(headers):
        raise RecordError(
            f"a record for a member of a share group has the header {MEMBER} before its last three"
        )
    return h.text(MEMBER, headers[-4][1])


def _has_member(headers: RecordHeaders) -> bool:
    # A publisher may have a header of this name too; only a dispatcher's `id` behind it makes it one of ours.
    if len(headers) < 4 or headers[-4][0] != MEMBER or headers[-2][0] != ROUTED_HEADERS[1]:
        return False
    source = (headers[-2][1] or b"").partition(b":")[0]
    # Python converts no number of thousands of digits, and no source has so many.
    return source.isdigit() and len(source) <= _MOST_DIGITS and is_of_dispatcher(int(source))


@dataclass
class DispatchState:
    """What a dispatcher remembers of its partition, in `tbmq.msg.shared.state` (compacted, same partition number)."""

    next_offset: int = 0
    """Everything in `tbmq.msg.shared` before this offset is dispatched."""
    sequence: int = 0
    """How many records have been written on."""
    repeats: Repeats = field(default_factory=Repeats)
    """By which the router's repeats are told."""


def encode_state_key(partition: int, group: str | None = None) -> bytes:
    """The key of a partition's state, or of the mark that messages of a group are parked (its value: empty JSON)."""
    return (str(partition) if group is None else f"{partition}{_SEPARATOR}{group}").encode()


def decode_state_key(key: bytes | None) -> str | None:
    """The group of a mark's key; None for the partition's own.

    Raises:
        RecordError: It is not of that form.
    """
    number, separator, group = h.text("key", key).partition(_SEPARATOR)
    if not number.isdigit() or (separator and not is_group(group)):
        raise RecordError("the key of a record of the dispatchers' state is not of the documented form")
    return group if separator else None


def encode_state(state: DispatchState) -> bytes:
    """The JSON of a partition's state."""
    repeats = json.loads(state.repeats.to_json())
    fields = {"next": state.next_offset, "sequence": state.sequence, "repeats": repeats}
    return json_text.dump(fields).encode()


def decode_state(value: bytes) -> DispatchState:
    """Read what `encode_state` wrote.

    Raises:
        RecordError: It is not of that form.
    """
    try:
        fields = json_text.load(value)
        repeats = Repeats.from_json(json.dumps(fields["repeats"]))
        return DispatchState(int(fields["next"]), int(fields["sequence"]), repeats)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise RecordError("a dispatcher's state is not JSON with next, sequence and repeats") from None
