"""P08 (c): a gateway's consumer gets its partitions long after messages for its clients were written."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from contracts.publish_record import PublishRecord, encode_headers
from contracts.routed_record import ROUTED_HEADERS, encode_id
from edge.gateway.log_reader import LogReader
from tests.edge.gateway.conftest import Cluster, Starting
from tests.live.peers import Peer

pytestmark = pytest.mark.live


async def test_nothing_is_skipped(cluster: Cluster, start: Starting, monkeypatch: pytest.MonkeyPatch) -> None:
    late: list[LogReader] = []
    start_now = LogReader.start
    monkeypatch.setattr(
        LogReader,
        "start",
        lambda reader: late.append(reader) if reader._name == "downlink" else start_now(reader),
    )
    _, gw1 = await start("gw1")
    [downlink] = late
    subscriber = await Peer.connect(gw1)
    await subscriber.subscribe("t")
    producer = Producer({"bootstrap.servers": cluster.kafka})
    for number in range(10):
        payload = b"%d" % number
        headers = encode_headers(PublishRecord("t", payload, "c", "gw2", 1))
        headers += zip(ROUTED_HEADERS, (b"t", encode_id(0, number), b"t"), strict=True)
        producer.produce(cluster.topics.downlink("gw1"), payload, b"0", headers=list(headers))
    assert producer.flush(60) == 0
    assert subscriber.inbox == []
    start_now(downlink)
    assert await subscriber.payloads(10) == [str(number) for number in range(10)]
    subscriber.client.drop()
