"""What strains the router: a backlog that has piled up, one message for many, offsets with gaps (P15, P16)."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from contracts import probe_record
from contracts.publish_record import PublishRecord, encode_headers
from contracts.routed_record import decode_route
from routing import records
from tests.routing.broker import Broker
from tests.routing.running import running_router

pytestmark = [pytest.mark.live, pytest.mark.timeout(400)]


def ends_of_batches(checkpoint: Path) -> list[int]:
    """How many messages each batch's plan has reached, from the log of offsets."""
    plans = sorted((checkpoint / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    return [
        sum(sum(of_topic.values()) for of_topic in json.loads(plan.read_text().splitlines()[-1]).values())
        for plan in plans
    ]


def test_a_backlog_drains_in_bounded_batches(
    spark: SparkSession, broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P15: whatever has piled up; and what is published meanwhile comes after it."""
    bound, backlog, live = 500, 3_000, 100
    monkeypatch.setattr(records, "OFFSETS_PER_BATCH", bound)
    broker.create_nodes("n1")
    broker.subscribe("c1", "b/#", "n1")
    padding = bytes(1024)
    for number in range(backlog):
        broker.publish(f"b/{number % 5}", b"%d " % number + padding)
    broker.flush()
    came: list[int] = []
    places: dict[int, list[int]] = {0: [], 1: []}
    with running_router(spark, broker, tmp_path, "microbatch"):
        for record in broker.records(broker.topics.downlink("n1"), seconds=200):
            if not came:
                for number in range(backlog, backlog + live):
                    broker.publish(f"b/{number % 5}", b"%d " % number + padding)
                broker.flush()
            came.append(int((record.value or b"").split()[0]))
            route = decode_route(record.headers)
            places[route.partition].append(route.offset)
            if len(came) == backlog + live:
                break
    assert sorted(came) == list(range(backlog + live))
    for offsets in places.values():  # As they stand there, whatever this test's producer had to send again.
        assert offsets == list(range(len(offsets)))
    ends = [0, *ends_of_batches(tmp_path / "checkpoint" / "1")]
    assert ends[-1] == backlog + live
    assert max(end - start for start, end in pairwise(ends)) <= bound


def test_one_message_for_many(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """P15: a filter that 50,000 persistent clients hold; each gets it once, and the next message as well."""
    clients = 50_000
    broker.create_nodes("n1")
    for number in range(clients):
        broker.subscribe(f"d{number}", "news", "n1", qos=1, kind="device")
        if number % 10_000 == 0:
            broker.flush()
    broker.publish("news", b"1")
    broker.publish("news", b"2")
    broker.flush()
    with running_router(spark, broker, tmp_path, "available-now") as router:
        router.wait()
    came: dict[bytes | None, list[bytes | None]] = {}
    for partition in range(4):
        for record in broker.records_so_far(broker.topics.persisted, partition):
            came.setdefault(record.key, []).append(record.value)
    assert len(came) == clients
    assert all(values == [b"1", b"2"] for values in came.values())


def test_gaps_of_transactions(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """P16: what was rolled back is not routed, and a log that ends with a control record holds up nobody.

    A generation is followed by the next one there, though none of its offsets can be read any more.
    """
    broker.create_nodes("n1")
    broker.subscribe("c1", "g/#", "n1")
    broker.flush()
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": broker.topics.prefix})
    producer.init_transactions(60)

    def write(number: int, commit: bool) -> None:
        producer.begin_transaction()
        for partition in (0, 1):  # so that a control record is the last of both
            topic, payload = f"g/{partition}", b"%d" % number
            headers = encode_headers(PublishRecord(topic, payload, "c", "gw1", 1))
            producer.produce(
                broker.topics.publishes, payload, topic.encode(), partition, headers=list(headers)
            )  # fmt: skip
        producer.flush(60)
        (producer.commit_transaction if commit else producer.abort_transaction)(60)

    def route_what_is_there() -> None:
        with running_router(spark, broker, tmp_path, "available-now") as router:
            router.wait()

    for number in range(20):
        write(number, commit=number % 3 == 0)
    route_what_is_there()
    write(20, commit=False)  # nothing but a gap
    route_what_is_there()
    write(21, commit=True)
    with running_router(spark, broker, tmp_path, rollover="seamless") as router:
        taken = broker.records(broker.topics.downlink("n1"), seconds=200)
        last = 21
        while router.supervisor.plan.generation.number < 3:
            assert not router.errors
            write(last + 1, commit=False)
            write(last + 2, commit=True)
            last += 2
            wanted = {f"g/{partition}" for partition in (0, 1)}
            while wanted:
                record = next(taken)
                if record.value == b"%d" % last and not probe_record.is_answer(record.headers):
                    wanted.discard(decode_route(record.headers).topic)
    came: dict[str, list[int]] = {"g/0": [], "g/1": []}
    for record in broker.records_so_far(broker.topics.downlink("n1")):
        if not probe_record.is_answer(record.headers):
            came[decode_route(record.headers).topic].append(int(record.value or b""))
    routed = [number for number in range(20) if number % 3 == 0] + list(range(21, last + 1, 2))
    for numbers in came.values():
        assert list(dict.fromkeys(numbers)) == routed
