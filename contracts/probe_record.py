"""Probes: how a gateway learns what the router knows, with no clock and no side channel.

A gateway writes a probe to each partition of `tbmq.msg.all`. Its key is one that no MQTT topic can have, and each
reader of the route table emits a row with just that key; so the ordinary join answers it, once per partition of
`tbmq.client.subscriptions`, onto the downlink of the node named in the probe's headers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from contracts import headers as h
from contracts.partitioner import partition_of
from contracts.publish_record import QOS_HEADERS, RouteHit, routes_header
from contracts.route_table import APP, APPSHARE, DEVICE, SHARE
from contracts.routed_record import decode_route
from contracts.topics import SHARE_PREFIX

PROBE_KEY = "\0probe"
"""Key of a probe in `tbmq.msg.all`, and route key of the rows that answer it."""
_ANSWERED = PROBE_KEY.encode()
PROBE_KIND = "probe"
"""The route kind of those rows."""


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """What one source partition's task knows of one partition of the subscription table."""

    sequence: int
    """The probe's number, as the gateway gave it."""
    source_partition: int
    """Partition of `tbmq.msg.all` that the probe went through."""
    source_offset: int
    """The probe's own offset there."""
    table_partition: int
    """Partition of `tbmq.client.subscriptions`."""
    table_version: int
    """All of that partition before this offset is in the router's table."""
    generation: int
    """Which generation of the router answers."""


def encode_headers(node: str, sequence: int) -> h.Headers:
    """Headers of a probe; its value is empty."""
    return [(h.NODE, node.encode()), (h.PROBE, str(sequence).encode())]


def encode_persisted_headers(partitions: int) -> h.Headers:
    """Headers of a probe that is answered once in each partition of `tbmq.msg.persisted`, which has so many."""
    keys: dict[int, str] = {}
    number = 0
    while len(keys) < partitions:
        key = f"\0{number}"
        keys.setdefault(partition_of(key.encode(), partitions), key)
        number += 1
    hits = [RouteHit(PROBE_KEY, keys[partition], DEVICE) for partition in range(partitions)]
    return [QOS_HEADERS[1], routes_header(hits)]


def encode_application_headers(suffixes: Iterable[str], share_targets: Iterable[str] = ()) -> h.Headers:
    """Headers of a probe that is answered once in each of these applications' Kafka topics.

    And once in each of the entities with these targets: in the partition of the probe's source partition.
    """
    hits = [RouteHit(PROBE_KEY, suffix, APP) for suffix in suffixes]
    hits += [RouteHit(PROBE_KEY, target, APPSHARE) for target in share_targets]
    return [QOS_HEADERS[1], routes_header(hits)]


def encode_share_headers(partitions: int) -> h.Headers:
    """Headers of a probe that is answered once in each partition of `tbmq.msg.shared`, which has so many."""
    groups: dict[int, str] = {}
    number = 0
    while len(groups) < partitions:
        key = f"{SHARE_PREFIX}{number}/{PROBE_KEY}"
        groups.setdefault(partition_of(key.encode(), partitions), str(number))
        number += 1
    return [QOS_HEADERS[1], routes_header([RouteHit(PROBE_KEY, groups[p], SHARE) for p in range(partitions)])]


def is_answer(headers: Sequence[tuple[str, bytes | None]] | None) -> bool:
    """Tell a probe's answer from a message among routed records, wherever the router writes."""
    if not headers or headers[-1][0] != h.FILTER:
        return False
    filter = headers[-1][1]
    return filter is not None and filter.endswith(_ANSWERED)  # no filter that a client may have holds U+0000


def decode_answer(headers: Sequence[tuple[str, bytes | None]]) -> ProbeAnswer:
    """Read a probe's answer.

    Raises:
        RecordError: A header is missing or malformed.
    """
    route = decode_route(headers)
    highest = 1 << 63
    return ProbeAnswer(
        sequence=h.number(h.PROBE, h.first(headers, h.PROBE), highest),
        source_partition=route.partition,
        source_offset=route.offset,
        table_partition=h.number(h.TABLE_PARTITION, h.first(headers, h.TABLE_PARTITION), highest),
        table_version=h.number(h.TABLE_VERSION, h.first(headers, h.TABLE_VERSION), highest),
        generation=h.number(h.GENERATION, h.first(headers, h.GENERATION), highest),
    )
