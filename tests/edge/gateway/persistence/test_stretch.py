"""Stretches of the persisted log, for many clients at once, against what each would read alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from contracts import persisted_record, probe_record
from contracts.persisted_log import PartitionFold, Position
from contracts.persisted_record import EventKind, Message
from contracts.publish_record import PublishRecord, encode_headers, packet_id_header
from contracts.session_event import InboundExchange
from edge.gateway.kafka_clients import place_of, producer_config
from edge.gateway.persistence.stretch import StretchReader
from tests.edge.gateway.conftest import Cluster
from tests.edge.gateway.persistence.client import message_headers

PATIENCE = 120.0
RECORDS: list[tuple[str, int | EventKind]] = [
    ("a", 0), ("b", 0), ("a", 1), ("b", 2), ("a", EventKind.ACKED), ("b", 2), ("a", 1), ("c", 2), ("b", 3),
    ("c", EventKind.CLEARED), ("a", 3), ("a", 4),
]  # fmt: skip
"""(client id, source offset or event): 5 and 6 are repeats, 7 is not."""


@pytest.fixture
def reader(cluster: Cluster) -> Iterator[StretchReader]:
    producer = Producer(producer_config(cluster.kafka))
    for client_id, what in RECORDS:
        if isinstance(what, EventKind):
            value, headers = persisted_record.encode_event(what, [0])
        else:
            value, headers = b"%d" % what, message_headers((0, what))
        producer.produce(cluster.topics.persisted, value, client_id.encode(), 0, headers=headers_of(headers))
    assert not producer.flush(PATIENCE)
    reader = StretchReader(cluster.kafka, cluster.topics, 4, 3)
    yield reader
    reader.stop()


def headers_of(headers: Any) -> Any:
    return list(headers)


def position(next_offset: int) -> Position:
    """What a store that has everything below an offset says."""
    fold = PartitionFold(None)
    for offset, (client_id, what) in enumerate(RECORDS[:next_offset]):
        if isinstance(what, int):
            fold.take(Message(offset, client_id, 0, what, "a", "a", b"", ()))
    return fold.batch().position


def read(reader: StretchReader, starts: dict[str, Position | None], end: int) -> dict[str, list[int]]:
    found = reader.thread.submit(reader.read, 0, starts, end).result(PATIENCE)
    return {client_id: [record.offset for record in records] for client_id, records in found.items()}


def test_each_client_gets_its_records_without_repeats(reader: StretchReader) -> None:
    whole = read(reader, {"a": None, "b": None, "c": None, "nobody": None}, len(RECORDS))
    assert whole == {"a": [0, 2, 4, 10, 11], "b": [1, 3, 8], "c": [7, 9], "nobody": []}


@pytest.mark.parametrize("end", [6, len(RECORDS)])
def test_clients_whose_positions_differ_read_what_they_would_alone(reader: StretchReader, end: int) -> None:
    starts: dict[str, Position | None] = {"a": position(1), "b": position(4), "c": None}
    assert read(reader, starts, end) == {
        client_id: read(reader, {client_id: start}, end)[client_id] for client_id, start in starts.items()
    }


def test_nothing_lies_between(reader: StretchReader) -> None:
    assert read(reader, {"a": position(7)}, 7) == {"a": []}
    assert read(reader, {}, 7) == {}


def test_answers_to_the_routers_markers_are_nobodys(cluster: Cluster, reader: StretchReader) -> None:
    producer = Producer(producer_config(cluster.kafka))
    for filter in (probe_record.PROBE_KEY, "a"):
        headers = headers_of(message_headers((0, 90), filter=filter))
        producer.produce(cluster.topics.persisted, b"", b"a", 0, headers=headers)
    assert not producer.flush(PATIENCE)
    assert read(reader, {"a": position(12)}, 14) == {"a": [13]}


def test_whose_publishes_are_there(cluster: Cluster, reader: StretchReader) -> None:
    """By client, packet id, partition and place; what has no packet id is nobody's."""
    producer = Producer(producer_config(cluster.kafka))
    for client_id, packet_id, source in [("a", 1, 0), ("b", 1, 0), ("a", 2, 0), ("a", 3, 1), ("a", None, 0)]:
        record = PublishRecord("t", b"", client_id, "gw1", 2)
        headers = encode_headers(record)
        if packet_id is not None:
            headers.append(packet_id_header(packet_id))
        producer.produce(cluster.topics.publishes, b"", b"t", source, headers=headers_of(headers))
    assert not producer.flush(PATIENCE)
    begun = [
        ("a", InboundExchange(1, "begun", 0, 0)),  # there
        ("b", InboundExchange(1, "begun", 0, 2)),  # only below its floor
        ("a", InboundExchange(2, "begun", 0, 2)),  # there, at its floor
        ("a", InboundExchange(3, "begun", 2, 0)),  # in another partition
        ("a", InboundExchange(4, "begun", 1, 0)),  # nowhere
    ]
    found = reader.thread.submit(reader.find_published, begun).result(PATIENCE)
    assert {name: place_of(message) for name, message in found.items()} == {
        ("a", 1): (0, 0),
        ("a", 2): (0, 2),
    }
    assert reader.thread.submit(reader.find_published, []).result(PATIENCE) == {}
