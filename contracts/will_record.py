"""Wills: what a client's `connect` brings, and its owner keeps until the will is published or void.

A will stands in a record's headers: in those of the `connect` in `tbmq.client.session.event.request`, and in those of
the record that its owner keeps in `tbmq.client.session`. So it takes hardly more room than it took in its packet,
whatever is in it, and fits wherever a publish fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from contracts import headers as h
from contracts.errors import RecordError

WILL = "will"
"""Header of a publish record that is a will: the connection whose will it is."""

_TOPIC, _DELAY, _PAYLOAD = "will-topic", "will-delay", "will-payload"
_UINT32 = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class Will:
    """A message that waits for its client to be lost."""

    topic: str
    """Where it is published."""
    payload: bytes
    """What is published."""
    headers: tuple[tuple[str, bytes], ...] = ()
    """Those of its publish record, but for `published-at`, `will` and `routes`, which it gets when it is published."""
    delay: int = 0
    """Will Delay Interval in seconds: so long it waits, unless its session ends before."""

    @property
    def qos(self) -> int:
        """0, 1 or 2."""
        return h.number(h.QOS, h.first(self.headers, h.QOS) or b"0", 2)

    @property
    def size(self) -> int:
        """Bytes that it takes in a record, about."""
        return (
            len(self.topic) + len(self.payload) + sum(len(name) + len(value) for name, value in self.headers)
        )

    def published(self, connection: str, now_ms: int) -> h.Headers:
        """The headers of its publish record; its expiry runs from this moment on (§3.1.3.2.4)."""
        found: h.Headers = []
        for name, value in self.headers:
            found.append((name, value))
            if name == h.MESSAGE_EXPIRY:
                found.append((h.PUBLISHED_AT, str(now_ms).encode()))
        return [*found, will_header(connection)]


def will_header(connection: str) -> tuple[str, bytes]:
    """The header of a publish record that is a will; by it, whoever takes over from a gateway finds the will."""
    return (WILL, connection.encode())


def encode(will: Will) -> h.Headers:
    """The headers in which a will stands in another record."""
    return [
        (_TOPIC, will.topic.encode()),
        (_DELAY, str(will.delay).encode()),
        (_PAYLOAD, will.payload),
        *will.headers,
    ]


def decode(headers: Sequence[tuple[str, bytes | None]]) -> Will | None:
    """Read the will in a record's headers; None where there is none.

    Raises:
        RecordError: They are not of that form.
    """
    if not headers or headers[0][0] != _TOPIC:
        return None
    if [name for name, _ in headers[:3]] != [_TOPIC, _DELAY, _PAYLOAD]:
        raise RecordError("a will's headers do not begin with will-topic, will-delay, will-payload")
    (_, topic), (_, delay), (_, payload) = headers[:3]
    return Will(
        h.text(_TOPIC, topic),
        payload or b"",
        tuple((name, value or b"") for name, value in headers[3:]),
        h.number(_DELAY, delay, _UINT32),
    )
