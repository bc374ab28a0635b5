"""Generations: what is written down, and rollovers under way on a real Kafka."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from contracts import probe_record
from contracts.application_shares import share_target
from contracts.partitioner import partition_of
from contracts.publish_record import decode_routes
from contracts.route_table import APP, APPSHARE
from contracts.routed_record import decode_route
from routing.errors import CheckpointError
from routing.generations import FIRST, Generation, GenerationFolder
from tests.routing.broker import Broker
from tests.routing.running import running_router


def test_the_generation_in_charge_is_remembered(tmp_path: Path) -> None:
    folder = GenerationFolder(str(tmp_path / "new"))
    assert folder.current() == FIRST
    folder.put_in_charge(FIRST)
    assert folder.current() == FIRST
    second = FIRST.succeed({0: 5, 1: 7})
    folder.put_in_charge(second)
    assert folder.current() == second == Generation(2, {0: 5, 1: 7})


def test_the_quarantine_is_remembered(tmp_path: Path) -> None:
    folder = GenerationFolder(str(tmp_path / "new"))
    assert folder.quarantine() == frozenset()
    folder.keep_quarantine({"b", "a"})
    assert folder.quarantine() == {"a", "b"}
    folder.keep_quarantine(())
    assert folder.quarantine() == frozenset()


@pytest.mark.parametrize("content", ["", "{", "3", "null"])
def test_a_quarantine_that_cannot_be_read_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "quarantine.json").write_text(content)
    assert GenerationFolder(str(tmp_path)).quarantine() == frozenset()


def test_older_checkpoints_are_removed(tmp_path: Path) -> None:
    folder = GenerationFolder(str(tmp_path))
    for number in (1, 2, 10):
        Path(folder.checkpoint(Generation(number, None))).mkdir()
    folder.put_in_charge(Generation(10, None))
    folder.forget(Generation(10, None))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["10", "generation.json"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"number": 1}', '{"number": "x", "offsets": null}'])
def test_a_damaged_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "generation.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"generation\.json"):
        GenerationFolder(str(tmp_path)).current()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=r"generation\.json"):
        GenerationFolder(str(tmp_path / "file")).put_in_charge(FIRST)


def application_numbers(broker: Broker, client: str, count: int) -> list[int]:
    """What a reader of an application's topic takes; likewise."""
    found: list[int] = []
    highest: dict[int, int] = {}
    for record in broker.records(broker.topics.application(client), seconds=60):
        route = decode_route(record.headers)
        if probe_record.is_answer(record.headers) or route.offset <= highest.get(route.partition, -1):
            continue
        highest[route.partition] = route.offset
        found.append(int(record.value or b""))
        if len(found) == count:
            break
    return found


def persisted_numbers(broker: Broker, client: str, count: int) -> list[int]:
    """What a reader of the persisted log takes for a client: a source's records that are above all it has taken."""
    found: list[int] = []
    highest: dict[int, int] = {}
    for record in broker.records(broker.topics.persisted, partition_of(client.encode(), 4), seconds=60):
        route = decode_route(record.headers)
        if route.offset <= highest.get(route.partition, -1):
            continue
        highest[route.partition] = route.offset
        if record.key == client.encode():
            found.append(int(record.value or b""))
        if len(found) == count:
            break
    return found


def shared_numbers(broker: Broker, count: int) -> list[int]:
    """What a group takes from the entity: each source partition stands in one of its partitions."""
    found: list[int] = []
    highest: dict[int, int] = {}
    places = {partition_of(b"%d" % source, 4) for source in range(2)}
    for record in broker.records(broker.topics.application_share("r/#"), *places, seconds=60):
        route = decode_route(record.headers)
        if route.offset <= highest.get(route.partition, -1):
            continue
        highest[route.partition] = route.offset
        if not probe_record.is_answer(record.headers):
            found.append(int(record.value or b""))
        if len(found) == count:
            break
    return found


def first_introductions(broker: Broker) -> list[int]:
    """How many applications are named by each marker that is the first to name one, in any source partition."""
    found = []
    for source in range(2):
        known: set[str] = set()
        for record in broker.records_so_far(broker.topics.publishes, source):
            hits = decode_routes(dict(record.headers).get("routes"))
            names = {hit.node for hit in hits if hit.kind in {APP, APPSHARE}}
            if names - known:
                found.append(len(names))
            known |= names
    return found


@pytest.mark.live
@pytest.mark.timeout(400)
def test_rollovers_lose_nothing_and_keep_the_order(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    """Numbered messages all the time, until three generations have taken over; a new shape comes meanwhile."""
    broker.create_nodes("n1", "n2")
    broker.subscribe("c1", "r/#", "n1")
    broker.subscribe("c2", "elsewhere", "n2")
    broker.subscribe("d1", "r/#", "n2", qos=1, kind="device")
    broker.create(*(broker.topics.of_application(f"a{number}") for number in range(1, 16)))
    broker.subscribe("a1", "r/#", "n2", qos=1, kind="app", target="a1")
    broker.create(broker.topics.of_application_share("r/#"))
    for group in ("g", "h"):
        broker.subscribe("app1", "r/#", "n2", share_group=group, kind="app", target=share_target("r/#"))
    broker.flush()
    done = threading.Event()
    sent = 0

    def publish() -> None:
        nonlocal sent
        while not done.wait(0.005):
            broker.publish(f"r/{sent % 5}", b"%d" % sent)
            sent += 1

    with running_router(spark, broker, tmp_path, rollover="seamless") as router, ExitStack() as at_end:
        at_end.callback(done.set)  # A failure must not leave pytest waiting for the publisher.
        assert router.started.wait(120)
        publisher = threading.Thread(target=publish, daemon=True)
        publisher.start()
        records = broker.records(broker.topics.downlink("n1"), seconds=240)
        highest: dict[int, int] = {}
        numbers: list[int] = []
        repeated = 0
        for record in records:
            if probe_record.is_answer(record.headers):
                continue
            route = decode_route(record.headers)
            if route.filter != "r/#":
                continue
            if route.offset <= highest.get(route.partition, -1):
                repeated += 1
                continue
            highest[route.partition] = route.offset
            numbers.append(int(record.value or b""))
            if router.supervisor.plan.generation.number == 2:
                broker.subscribe("c3", "r/+", "n2")  # More than once: it is the same subscription.
            if router.supervisor.plan.generation.number >= 4 and not done.is_set():
                done.set()
                publisher.join()
                broker.flush()
            if done.is_set() and len(numbers) >= sent:
                break
        assert sorted(numbers) == list(range(sent))
        for topic in range(5):
            of_topic = [number for number in numbers if number % 5 == topic]
            assert of_topic == sorted(of_topic)
        assert "2:1:" in {shape.text for shape in router.supervisor.plan.shapes}
        assert not router.errors
        assert sorted(persisted_numbers(broker, "d1", sent)) == list(range(sent))
        assert sorted(application_numbers(broker, "a1", sent)) == list(range(sent))
        assert sorted(shared_numbers(broker, sent)) == list(range(sent))
        # Fifteen and what they share: a few at a time through one partition, then through the other.
        assert first_introductions(broker) == [10, 6, 16]
    assert repeated < sent  # The overlap is a part of it all.
    # A restart goes on with the generation in charge.
    broker.publish("r/0", b"again 0")
    broker.flush()
    with running_router(spark, broker, tmp_path, "available-now") as router:
        router.wait()
        assert router.supervisor.plan.generation.number >= 4
    for record in broker.records(broker.topics.downlink("n2"), seconds=60):
        if record.value == b"again 0":
            break
    else:
        pytest.fail("the restart did not go on")
