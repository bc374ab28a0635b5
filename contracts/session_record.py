"""The session records in `tbmq.client.session` (compacted): what a client's owner keeps of it.

All records of a client stand in the partition of its client id, and only that partition's owner writes them. A key is
the client id for the session itself, client id + U+0000 + filter for a subscription, and client id + U+0000 + U+0000 +
`q2:` + packet id for an inbound QoS 2 exchange, `will:` + connection for a will (which stands in the record's headers,
as will_record.py says), or `app` for how far an APPLICATION is. A tombstone ends what its key names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from contracts import json_text, will_record
from contracts.application_progress import Progress
from contracts.errors import ContractError, RecordError
from contracts.headers import Headers
from contracts.session_event import (
    NEVER,
    ConnectRequested,
    InboundExchange,
    Subscription,
    as_fields,
    from_fields,
)
from contracts.subscription_record import SEPARATOR
from contracts.will_record import Will

CONNECTED, LINGERING, OFFLINE = "connected", "lingering", "offline"
"""States of a session: with a connection; without, but its will still waits at the node; without."""
_EXCHANGE = SEPARATOR + "q2:"
_PROGRESS = SEPARATOR + "app"
_WILL = SEPARATOR + "will:"
_NO_WILL = Will("", b"")


class Part(Enum):
    """A part of a session that it has once."""

    PROGRESS = "app"
    """How far an APPLICATION is."""


@dataclass(frozen=True, slots=True)
class WillPart:
    """The will of one connection."""

    connection: str


@dataclass(frozen=True, slots=True)
class KeptWill:
    """The will of a connection that is there or waits to be let in, or that is over and has a will that waits."""

    connection: str
    will: Will = _NO_WILL
    due_at_ms: int | None = None
    """When it is to be published, if the session has not gone on by then; None while its connection's node has it."""
    begun_at_ms: int | None = None
    """When its node was about to publish it, by the node's clock; None while it was not."""


KeyPart = str | int | Part | WillPart | None
"""What a key names: a filter, a packet id, another part of a session, or None: the session itself."""
Kept = Subscription | InboundExchange | Progress | KeptWill
"""What is kept of a session beside the session itself."""


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One client's session."""

    state: str
    node: str
    """Where its connection is, or was last."""
    boot: str
    connection: str
    expiry: int
    """Seconds that it outlives the connection."""
    protocol: int
    client_type: str
    connected_at_ms: int
    ended_at_ms: int = 0
    """When the connection ended; 0 while there is one."""
    is_persistent: bool = False
    """Whether it has outlived, or was to outlive, a connection: messages may be stored for it."""
    pending: ConnectRequested | None = None
    """The connection that waits until the present one has ended."""
    sent: tuple[int, ...] = ()
    """Offsets in `tbmq.msg.persisted` that were sent and not acknowledged, on connections before the present one."""
    is_sent_unknown: bool = False
    """Whether nobody knows that, because the gateway died."""
    warning: str = ""
    """What whoever looks at the session should know of it."""
    user_name: str | None = None
    """As in the CONNECT of its connection, or its last one."""
    address: str = ""
    """The host that this came from; empty where that is not to be had."""
    keep_alive: int = 0
    """Seconds, as it asked for."""
    clean_start: bool = False
    """Whether it asked for one."""
    is_cleared: bool = False
    """Whether an administrator wants it ended: it is, as soon as its connection is over."""

    @property
    def expires_at_ms(self) -> int | None:
        """When the session ends by itself; None for never, or while a connection keeps it."""
        if self.state != OFFLINE or self.expiry == NEVER:
            return None
        return self.ended_at_ms + self.expiry * 1_000


def session_key(client_id: str) -> bytes:
    """The key of the session itself."""
    return client_id.encode()


def subscription_key(client_id: str, filter: str) -> bytes:
    """The key of one of its subscriptions."""
    return f"{client_id}{SEPARATOR}{filter}".encode()


def exchange_key(client_id: str, packet_id: int) -> bytes:
    """The key of one of its inbound QoS 2 exchanges."""
    return f"{client_id}{SEPARATOR}{_EXCHANGE}{packet_id}".encode()


def progress_key(client_id: str) -> bytes:
    """The key of an APPLICATION's progress."""
    return f"{client_id}{SEPARATOR}{_PROGRESS}".encode()


def will_key(client_id: str, connection: str) -> bytes:
    """The key of a connection's will."""
    return f"{client_id}{SEPARATOR}{_WILL}{connection}".encode()


def decode_key(key: bytes | None) -> tuple[str, KeyPart]:
    """The client id, and what of it the key names.

    Raises:
        RecordError: It is not of that form.
    """
    try:
        client_id, separator, part = (key or b"").decode().partition(SEPARATOR)
        if not client_id or (separator and not part):
            raise ValueError
        if part == _PROGRESS:
            return client_id, Part.PROGRESS
        if part.startswith(_WILL) and part != _WILL:
            return client_id, WillPart(part.removeprefix(_WILL))
        return client_id, int(part.removeprefix(_EXCHANGE)) if part.startswith(SEPARATOR) else part or None
    except ValueError:  # or not UTF-8
        raise RecordError("a session record's key is not client id, or client id + U+0000 + a part") from None


def encode(record: SessionRecord | Kept) -> bytes:
    """The JSON of a record's value; fields that have their default are left out."""
    fields = as_fields(record)
    if isinstance(record, SessionRecord) and record.pending is not None:
        fields["pending"] = as_fields(record.pending)
    return json_text.dump(fields).encode()


def headers_of(record: SessionRecord | Kept | None) -> Headers:
    """The headers of a record: those of a will."""
    return will_record.encode(record.will) if isinstance(record, KeptWill) else []


def decode(
    key: bytes | None, value: bytes, headers: Sequence[tuple[str, bytes | None]] = ()
) -> SessionRecord | Kept:
    """Read a record that is not a tombstone; the key tells its kind.

    Raises:
        RecordError: Key or value is not of the documented form.
    """
    _, part = decode_key(key)
    try:
        fields: dict[str, Any] = json_text.load(value)
        if part is None:
            pending = fields.pop("pending", None)
            session = from_fields(SessionRecord, fields)
            return (
                session
                if pending is None
                else replace(session, pending=from_fields(ConnectRequested, pending))
            )
        if part is Part.PROGRESS:
            return from_fields(Progress, fields)
        if isinstance(part, WillPart):
            will = will_record.decode(headers)
            if will is None:
                raise RecordError("the record of a will has no will in its headers")
            return replace(from_fields(KeptWill, fields), will=will)
        if isinstance(part, str):
            return from_fields(Subscription, fields)
        return from_fields(InboundExchange, fields)
    except (ContractError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise RecordError("a session record's value is not a JSON object of the documented form") from None
