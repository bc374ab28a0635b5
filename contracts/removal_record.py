"""Records of `tbmq.sys.app.removed` (compacted): applications whose Kafka topic is to be removed.

Key = client id, value = JSON with `due_at_ms`; a tombstone when that is done, or when it is not wanted any more. The
partition is that of the client's session.
"""

from __future__ import annotations

from contracts import headers as h
from contracts import json_text
from contracts.errors import RecordError


def encode(due_at_ms: int) -> bytes:
    """The value: when to remove the topic, ms since 1970."""
    return json_text.dump({"due_at_ms": due_at_ms}).encode()


def decode(key: bytes | None, value: bytes | None) -> tuple[str, int | None]:
    """The client id, and when its topic is to be removed; None for no more.

    Raises:
        RecordError: It is not of the documented form.
    """
    client_id = h.text("key", key)
    if value is None:
        return client_id, None
    try:
        due_at_ms = json_text.load(value)["due_at_ms"]
    except (ValueError, KeyError, TypeError, RecursionError):
        due_at_ms = None
    if type(due_at_ms) is not int:
        raise RecordError("the removal of an application is not a JSON object with due_at_ms")
    return client_id, due_at_ms
