"""Records of `tbmq.sys.historical.data`: what a gateway has counted, at a steady interval.

Key = node id, value = JSON with `at_ms` and `counters`, an object of whole numbers by name. Counters begin at 0 when
their gateway starts; those whose name ends in `_now` are what there is at that moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from contracts import headers as h
from contracts import json_text
from contracts.errors import RecordError

CONNECTIONS_NOW = "connections_now"
"""Clients that are connected."""
SUBSCRIPTIONS_NOW = "subscriptions_now"
"""What they are subscribed to."""
ROUTER_P50_NOW, ROUTER_P99_NOW = "router_latency_p50_us_now", "router_latency_p99_us_now"
"""Microseconds that the router takes for a probe, of the last ones; not there before the first is answered."""
ROUTER_BACKLOG_NOW = "router_backlog_now"
"""Records that the router is not proven to have routed; the same."""
_HIGHEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class HistoricalRecord:
    """One gateway's numbers at one time."""

    node: str
    at_ms: int
    """The gateway's clock, ms since 1970."""
    counters: Mapping[str, int]


def encode(record: HistoricalRecord) -> tuple[bytes, bytes]:
    """Key and value."""
    value = {"at_ms": record.at_ms, "counters": dict(record.counters)}
    return record.node.encode(), json_text.dump(value).encode()


def decode(key: bytes | None, value: bytes | None) -> HistoricalRecord:
    """Read a record.

    Raises:
        RecordError: It is not of the documented form.
    """
    node = h.text("key", key)
    try:
        found = json_text.load(value or b"")
        at_ms, counters = found["at_ms"], found["counters"]
        is_right = (
            type(at_ms) is int
            and 0 <= at_ms <= _HIGHEST
            and all(type(number) is int and abs(number) <= _HIGHEST for number in counters.values())
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        is_right = False
    if not is_right or not node or "\0" in node or any("\0" in name for name in counters):
        raise RecordError("a gateway's counters are not a JSON object with at_ms and counters")
    return HistoricalRecord(node, at_ms, dict(counters))
