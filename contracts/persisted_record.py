"""Records of `tbmq.msg.persisted`: messages for persistent clients, and what became of them.

Key = client id (UTF-8), so one client's messages and their acknowledgements stand in one partition, in order. A message
is a routed record (contracts/routed_record.py), written by the router alone. An event is written by gateways (`cleared`
by session owners too): its first header is `event`, its value a JSON array of offsets in the same partition.

A message's identity for its client is its offset here, and its packet id is a function of it: whoever sends it again,
on whatever gateway, sends it under the same packet id.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from contracts import headers as h
from contracts import json_text
from contracts.errors import RecordError
from contracts.routed_record import decode_route

EVENT = "event"
"""First header of an event; its value is the kind."""

_PACKET_IDS = 65_535


class EventKind(StrEnum):
    """What an event says about a client's messages."""

    ACKED = "acked"
    """Done with: PUBACK, PUBCOMP or a negative PUBREC came, or they were dropped as expired or too large."""
    RECEIVED = "received"
    """PUBREC came (QoS 2): from now on only PUBREL is sent, never PUBLISH. `acked` follows at PUBCOMP."""
    CLEARED = "cleared"
    """A clean start or the session's end: all of the client's below this event's own offset is void."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message for one persistent client, by one filter."""

    offset: int
    """Its offset in its partition of `tbmq.msg.persisted`: its identity for the client."""
    client_id: str
    """Whom it is for."""
    source_partition: int
    """Partition of the publish in `tbmq.msg.all`."""
    source_offset: int
    """Offset of the publish there."""
    topic: str
    """The topic name."""
    filter: str
    """The client's filter that matched, without share prefix."""
    value: bytes
    """The payload, untouched."""
    headers: Sequence[tuple[str, bytes | None]]
    """All headers of the record, as read; `publish_record` and `decode_route` read them."""


@dataclass(frozen=True, slots=True)
class Event:
    """What became of a client's messages."""

    offset: int
    """The event's own offset; the bound of `cleared`."""
    client_id: str
    """Whose messages."""
    kind: EventKind
    """What happened."""
    offsets: tuple[int, ...] = ()
    """Which messages, by their offsets in the same partition; empty for `cleared`."""


def packet_id(offset: int) -> int:
    """The packet id, 1 to 65,535, under which the message at an offset is sent; the same on every gateway.

    Ids repeat every 65,535 offsets: a message waits while an earlier one of its client has the same id in flight.
    """
    return offset % _PACKET_IDS + 1


def encode_key(client_id: str) -> bytes:
    """The key of all of a client's records."""
    return client_id.encode()


def encode_event(kind: EventKind, offsets: Iterable[int] = ()) -> tuple[bytes, h.Headers]:
    """Value and headers of an event; `cleared` has no offsets and an empty value."""
    value = b"" if kind is EventKind.CLEARED else json_text.dump(list(offsets)).encode()
    return value, [(EVENT, kind.value.encode())]


def decode(
    offset: int, key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes | None]] | None
) -> Message | Event:
    """Read a record at its offset.

    What ends as a routed record is a message, whatever it begins with: a header `event` that some writer put on a
    publish never makes an event of it.

    Raises:
        RecordError: It is neither a message nor an event of a known kind; a reader passes over it.
    """
    client_id = h.text("key", key)
    if not client_id or "\0" in client_id:  # MQTT has neither, and PostgreSQL could not store the second
        raise RecordError("the key of a record of the persisted log is not a client id")
    if headers and headers[0][0] == EVENT and headers[-1][0] != h.FILTER:
        return _decode_event(offset, client_id, headers[0][1], value)
    route = decode_route(headers)
    return Message(
        offset,
        client_id,
        route.partition,
        route.offset,
        route.topic,
        route.filter,
        value or b"",
        headers or (),
    )


def _decode_event(offset: int, client_id: str, kind: bytes | None, value: bytes | None) -> Event:
    shown = h.text(EVENT, kind)
    try:
        known = EventKind(shown)
    except ValueError:
        raise RecordError(f"header {EVENT} is {shown!r}: write one of {', '.join(EventKind)}") from None
    if known is EventKind.CLEARED:
        return Event(offset, client_id, known)
    try:
        offsets = json_text.load(value or b"")
    except (ValueError, RecursionError):  # JSON can nest deeper than Python recurses
        offsets = None
    # bool is a kind of int in Python, and no offset.
    if not isinstance(offsets, list) or not all(type(one) is int and one >= 0 for one in offsets):
        raise RecordError(f"the value of an {EVENT} {known} is not a JSON array of offsets")
    return Event(offset, client_id, known, tuple(offsets))
