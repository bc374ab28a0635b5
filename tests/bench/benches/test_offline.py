"""What the bench writes in the router's stead is what a sink reads as messages, none of them a repeat."""

from __future__ import annotations

from collections import Counter

from bench.benches.offline import records
from contracts.partitioner import partition_of
from contracts.persisted_log import Repeats
from contracts.persisted_record import Message, decode
from contracts.publish_record import PublishRecord, encode_headers


def test_each_session_gets_its_messages_once() -> None:
    publish = encode_headers(PublishRecord("", b"payload", "bench", "gw1", 1))
    seen = {partition: Repeats() for partition in range(4)}
    taken: Counter[str] = Counter()
    for offset, (key, headers) in enumerate(records(20, 3, publish)):
        record = decode(offset, key, b"payload", headers)
        assert isinstance(record, Message)
        repeats = seen[partition_of(key, 4)]
        taken[record.client_id] += not repeats.is_repeat(
            record.source_partition, record.source_offset, record.client_id, record.filter
        )
    assert len(taken) == 20
    assert set(taken.values()) == {3}
