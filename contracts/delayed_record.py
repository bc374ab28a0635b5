"""The delayed record in `tbmq.msg.delayed` (compacted): a message that is to be published later.

Key = topic name + U+0000 + a unique id, value = the payload, headers = those of the publish record that it will be
(contracts/publish_record.py) and, last, `due-at`. Its tombstone is written in one transaction with that record: what
has no tombstone is still to come.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from contracts import headers as h
from contracts.errors import RecordError, TopicError
from contracts.topics import validate_topic

DELAYED_PREFIX = "$delayed/"
MAX_DELAY = 4_294_967
"""The longest delay in seconds: some 49 days."""
DUE_AT = "due-at"
"""When it is to be published, ms since 1970."""

SOURCES = 2_000_000
"""Of a QoS 2 exchange that begins a delayed message, the source partition is this and the partition here."""

_SEPARATOR = "\0"
_NOT_DELAYED = ("$SYS/", "$exclusive/", DELAYED_PREFIX)
_LATEST_MS = 1 << 53


class Delayed(NamedTuple):
    """What `$delayed/<seconds>/<topic>` says."""

    seconds: int
    topic: str


def parse_delayed(topic: str) -> Delayed:
    """Take a topic that begins with `$delayed/` apart.

    Raises:
        TopicError: The seconds are no number or too many, or there is no topic that clients may publish to.
    """
    shown, _, plain = topic.removeprefix(DELAYED_PREFIX).partition("/")
    if not (shown.isascii() and shown.isdigit() and len(shown) <= 10 and int(shown) <= MAX_DELAY):
        raise TopicError(f"topic {topic[:80]!r}: write $delayed/<seconds up to {MAX_DELAY}>/<topic>")
    validate_topic(plain)
    if plain.startswith(_NOT_DELAYED):
        raise TopicError(f"topic {topic[:80]!r}: nothing can be published there later")
    return Delayed(int(shown), plain)


def encode_key(topic: str, id: str) -> bytes:
    """The record's key; a topic holds no U+0000."""
    return f"{topic}{_SEPARATOR}{id}".encode()


def decode_key(key: bytes | None) -> tuple[bytes, str]:
    """The topic (UTF-8, as the key of the publish record) and the id.

    Raises:
        RecordError: The key is not of that form.
    """
    topic, separator, id = (key or b"").partition(_SEPARATOR.encode())
    if not topic or not separator:
        raise RecordError("a delayed message's key is not topic + U+0000 + id")
    return topic, h.text("(key)", id)


def due_header(due_at_ms: int) -> tuple[str, bytes]:
    """The header that says when; it stands last."""
    return (DUE_AT, str(due_at_ms).encode())


def decode_due(headers: Sequence[tuple[str, bytes | None]] | None) -> int:
    """When a message is due, ms since 1970.

    Raises:
        RecordError: It does not say.
    """
    name, value = (headers or (("", None),))[-1]
    if name != DUE_AT:
        raise RecordError(f"a delayed message's last header is not {DUE_AT}")
    return h.number(DUE_AT, value, _LATEST_MS)


def published_headers(
    headers: Sequence[tuple[str, bytes | None]], now_ms: int, node: str
) -> list[tuple[str, bytes | None]]:
    """The headers of the publish record that it becomes: the message's expiry begins now.

    Args:
        headers: As it waits.
        now_ms: What time it is.
        node: The gateway that publishes it. One that no gateway took is its, so that somebody sees to it that what is
            retained stands in the right order.
    """
    stamp, own = str(now_ms).encode(), node.encode()

    def published(name: str, value: bytes | None) -> bytes | None:
        if name == h.NODE:
            return value or own
        return stamp if name == h.PUBLISHED_AT else value

    return [
        (name, published(name, value))
        for name, value in headers
        # By the packet id, whoever looks for a newer exchange of the client would take this message for it.
        if name not in (DUE_AT, h.PACKET_ID)
    ]
