"""Records of traces: `tbmq.sys.trace` switches one on or off for all gateways, `tbmq.sys.trace.steps` is what they saw.

A switch: key = the trace's id, value = JSON. A step: key = node id, value = JSON. Neither ever holds a payload.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contracts import headers as h
from contracts import json_text
from contracts.errors import RecordError, TopicError
from contracts.topics import matches, validate_filter

LONGEST_SECONDS = 3_600
"""A trace ends by itself after an hour, as its records do."""
_HIGHEST_MS = 1 << 53


@dataclass(frozen=True, slots=True)
class TraceSwitch:
    """What is to be traced, and until when."""

    trace: str
    """Its id."""
    client_id: str | None
    """What this client publishes and gets; None: it does not depend on the client."""
    filter: str | None
    """What is published on topics that match; None: likewise. With both, either is enough."""
    until_ms: int
    """When it ends, ms since 1970; 0: now."""

    def wants(self, client_id: str, topic: str) -> bool:
        """Whether a message is traced for its publisher or its topic."""
        if self.client_id is not None and client_id == self.client_id:
            return True
        return self.filter is not None and matches(self.filter, topic)


def encode_switch(switch: TraceSwitch) -> tuple[bytes, bytes]:
    """Key and value."""
    value = {"client": switch.client_id, "filter": switch.filter, "until_ms": switch.until_ms}
    return switch.trace.encode(), _json({name: each for name, each in value.items() if each is not None})


def decode_switch(key: bytes | None, value: bytes | None) -> TraceSwitch:
    """Read a switch.

    Raises:
        RecordError: It is not of the documented form.
    """
    trace = h.text("key", key)
    try:
        found = json_text.load(value or b"")
        client_id, filter, until_ms = found.get("client"), found.get("filter"), found["until_ms"]
        is_right = (
            bool(trace)
            and type(until_ms) is int
            and 0 <= until_ms <= _HIGHEST_MS
            and all(each is None or (isinstance(each, str) and each) for each in (client_id, filter))
            and not (client_id is None and filter is None and until_ms)
        )
        if is_right and filter is not None:
            validate_filter(filter)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, TopicError):
        is_right = False
    if not is_right:
        raise RecordError("a trace is not a JSON object with client or filter, and until_ms")
    return TraceSwitch(trace, client_id, filter, until_ms)


def encode_step(step: Mapping[str, Any]) -> bytes:
    """The value of a step; its fields are those of docs/kafka-format.md."""
    return _json({name: each for name, each in step.items() if each is not None})


def decode_step(value: bytes | None) -> dict[str, Any]:
    """Read a step.

    Raises:
        RecordError: It is not of the documented form.
    """
    try:
        found = json_text.load(value or b"")
        is_right = (
            isinstance(found["step"], str)
            and isinstance(found["node"], str)
            and isinstance(found["traces"], list)
            and isinstance(found["at_ms"], int | float)
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        is_right = False
    if not is_right:
        raise RecordError("a step of a trace is not a JSON object with step, node, traces and at_ms")
    return dict(found)


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
