"""The routed record in `tbmq.msg.downlink.basic.<node>`: a publish record for one node, by one filter.

Key = the source partition in `tbmq.msg.all` as text, so that one source partition stays in one destination partition;
value and headers = those of the publish (without `routes`), then `topic`, `id` and `filter`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from contracts import headers as h
from contracts.errors import RecordError

TOPIC = "topic"
ROUTED_HEADERS = (TOPIC, h.ID, h.FILTER)
"""What the router appends, in this order."""

RULES = 3_000_000
"""What the rule with number n makes of a message has RULES + n · RULE_STRIDE and the message's partition as its source
partition, and the message's offset: a number space of its own, in order, so that it is no repeat of the message."""
RULE_STRIDE = 10_000
"""No `tbmq.msg.all` has so many partitions."""
MAX_RULES = 99
"""Rules have numbers from 1 to this one."""
_RULES_END = RULES + (MAX_RULES + 1) * RULE_STRIDE


def is_of_rule(source_partition: int) -> bool:
    """Whether a record was made by a rule of the router's."""
    return RULES <= source_partition < _RULES_END


def partition_at_source(source_partition: int) -> int:
    """The partition of `tbmq.msg.all` that what a rule made was made of."""
    return source_partition % RULE_STRIDE


@dataclass(frozen=True, slots=True)
class Route:
    """Why a record came here, and its place at the source."""

    partition: int
    """Source partition in `tbmq.msg.all`."""
    offset: int
    """Source offset in that partition; with it the message's identity."""
    topic: str
    """The message's topic name."""
    filter: str
    """The filter that matched; the gateway delivers to its local clients under it."""


def encode_id(partition: int, offset: int) -> bytes:
    """The `id` header: `<partition>:<offset>` in `tbmq.msg.all`."""
    return b"%d:%d" % (partition, offset)


def decode_id(header: bytes | None) -> tuple[int, int]:
    """The (partition, offset) of an `id` header.

    Raises:
        RecordError: It is missing or not of that form.
    """
    try:
        partition, offset = (header or b"").split(b":")
        return int(partition), int(offset)
    except ValueError:
        raise RecordError(f"header {h.ID} is {header!r}: expected <partition>:<offset>") from None


def decode_route(headers: Sequence[tuple[str, bytes | None]] | None) -> Route:
    """Read the routed part of a record's headers: its last three, so that no publisher can stand in for the router.

    Raises:
        RecordError: They are missing or malformed.
    """
    last = (headers or ())[-3:]
    if tuple(name for name, _ in last) != ROUTED_HEADERS:
        raise RecordError(f"a routed record ends with the headers {', '.join(ROUTED_HEADERS)}")
    (_, topic), (_, id), (_, filter) = last
    return Route(*decode_id(id), h.text(TOPIC, topic), h.text(h.FILTER, filter))
