"""The route table on a real Kafka: snapshot, tail, compaction, versions."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from confluent_kafka import Consumer, KafkaException, Producer

from contracts.kafka_topics import subscription_partition
from contracts.probe_record import PROBE_KEY
from contracts.subscription_record import SubscriptionRecord, encode_key, encode_value
from routing.errors import RouteTableError
from routing.routes import kafka as route_kafka
from routing.routes import partition
from routing.routes import snapshot as snapshots
from routing.routes.partition import REWRITE_SECONDS, RoutePartition
from tests.conftest import LiveKafka
from tests.routing.broker import Broker

pytestmark = pytest.mark.live
PATIENCE = 60  # seconds for Kafka, on a machine that is busy with other tests
P = subscription_partition("a", 2)


@pytest.fixture
def table(broker: Broker, snapshot_dir: Path) -> RoutePartition:
    """The partition where the filters of these tests stand."""
    broker.create_nodes("n1", "n2")
    return RoutePartition(broker.bootstrap, broker.topics, P, snapshot_dir)


def filter_here(start: str) -> str:
    """A filter that begins so and stands in that partition."""
    return next(f for i in range(1000) if subscription_partition(f := f"{start}{i}", 2) == P)


def kinds(table: RoutePartition) -> set[tuple[str, str]]:
    """{(kind, target)} of the filter `a`."""
    found = pa.Table.from_batches(table.batches(None)).to_pylist()
    return {(r["kind"], r["node"]) for r in found if r["route_key"] == "a"}


def rows(table: RoutePartition, shapes: list[str] | None = None) -> tuple[set[tuple[str, str]], int]:
    """({(route key, node)}, version); checks that all rows are distinct and tell the same version."""
    found = pa.Table.from_batches(table.batches(shapes)).to_pylist()
    assert len({(r["route_key"], r["kind"], r["node"]) for r in found}) == len(found)
    assert {r["table_partition"] for r in found} == {P}
    [version] = {r["table_version"] for r in found}
    assert [r["kind"] for r in found if r["route_key"] == PROBE_KEY] == ["probe"]
    return {(r["route_key"], r["node"]) for r in found if r["route_key"] != PROBE_KEY}, version


def is_made_anew(broker: Broker, former: str) -> bool:
    """Whether the Kafka broker knows the subscription log by another id than it had."""
    try:
        return broker.topic_id(broker.topics.subscriptions) != former
    except KafkaException:
        return False


def snapshot_file(table: RoutePartition) -> Path:
    [path] = table.directory.rglob(f"{P}-*.arrow")
    return path


def test_rows_are_distinct_and_the_last_record_of_a_key_wins(broker: Broker, table: RoutePartition) -> None:
    assert rows(table) == (set(), 0)
    broker.subscribe("c1", "a", "n1")
    broker.subscribe("c2", "a", "n1")
    broker.subscribe("c3", "a", "n2")
    broker.flush()
    assert rows(table) == ({("a", "n1"), ("a", "n2")}, 3)
    broker.subscribe("c3", "a", "n1")  # The client has moved.
    broker.unsubscribe("c1", "a")
    broker.flush()
    assert rows(table) == ({("a", "n1")}, 5)
    broker.unsubscribe("c2", "a")
    broker.unsubscribe("c3", "a")
    broker.unsubscribe("never", "a")
    broker.flush()
    assert rows(table) == (set(), 8)


def test_a_snapshot_spares_the_log(
    broker: Broker, table: RoutePartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P14: a table in which nothing has changed is not read anew from Kafka."""
    broker.subscribe("c1", "a", "n1")
    broker.flush()
    first = rows(table)
    monkeypatch.setattr(route_kafka.RouteLog, "tail", None)
    assert rows(table) == first


@pytest.mark.parametrize("damage", ["emptied", "cut", "garbage", "other format", "too old"])
def test_a_snapshot_that_cannot_be_used_is_rebuilt(
    broker: Broker, table: RoutePartition, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.subscribe("c1", "a", "n1")
    broker.flush()
    first = rows(table)
    assert first == ({("a", "n1")}, 1)
    path = snapshot_file(table)
    whole = path.read_bytes()
    if damage == "emptied":
        path.write_bytes(b"")
    elif damage == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif damage == "garbage":
        path.write_bytes(b"x" * len(whole))
    elif damage == "other format":
        monkeypatch.setattr(snapshots, "FORMAT", snapshots.FORMAT + 1)
    else:
        old = time.time() - snapshots.STALE_SECONDS - 1
        os.utime(path, (old, old))
    assert rows(table) == first


class ForgetfulClient:
    """A Kafka client that is told, so many times, that a log is shorter than it is."""

    def __init__(self, client: Consumer, end: int, lies: int) -> None:
        self._client, self._end, self.lies = client, end, lies

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def get_watermark_offsets(self, *arguments: Any) -> tuple[int, int]:
        if self.lies <= 0:
            return self._client.get_watermark_offsets(*arguments)
        self.lies -= 1
        return 0, self._end


@pytest.mark.parametrize("end", [0, 2])
@pytest.mark.parametrize("has_snapshot", [True, False])
def test_a_table_does_not_shrink_because_kafka_says_that_its_log_is_shorter(
    broker: Broker, table: RoutePartition, end: int, has_snapshot: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for client in ("c1", "c2", "c3"):
        broker.subscribe(client, filter_here(client), "n1")
    broker.flush()
    before = rows(table)
    assert len(before[0]) == before[1] == 3
    if has_snapshot:  # All that another process knows is the snapshot.
        monkeypatch.setattr(partition, "_read_to", {})
    else:
        snapshot_file(table).unlink()
    forgetful = ForgetfulClient(route_kafka._consumer(broker.bootstrap), end, lies=3)
    # It is asked for as one that is kept, which is forgotten when it has failed.
    monkeypatch.setattr(route_kafka, "_consumer", functools.cache(lambda _: forgetful))
    assert rows(table) == before
    assert forgetful.lies == 0
    monkeypatch.setattr(route_kafka, "SECONDS_TO_ANSWER", 0.2)
    forgetful.lies = 1_000_000
    with pytest.raises(RouteTableError, match="was read up to 3 before"):
        rows(table)


def test_a_topic_that_was_created_again_is_another_topic(broker: Broker, table: RoutePartition) -> None:
    broker.subscribe("c1", "a", "n1")
    broker.flush()
    assert rows(table) == ({("a", "n1")}, 1)
    former = broker.topic_id(broker.topics.subscriptions)
    broker.delete(broker.topics.subscriptions)
    until = time.monotonic() + PATIENCE
    while True:
        try:
            broker.create(broker.topics.shared(2, 2)[1])
            break
        except Exception:
            assert time.monotonic() < until
    while not is_made_anew(
        broker, former
    ):  # A busy Kafka broker writes to the former one until it hears of it.
        assert time.monotonic() < until
    broker.subscribe("c2", "a", "n2")
    broker.flush()
    assert rows(table) == ({("a", "n2")}, 1)


def test_a_directory_that_cannot_be_written_costs_only_time(
    broker: Broker, table: RoutePartition, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    broker.subscribe("c1", "a", "n1")
    broker.flush()
    nowhere = RoutePartition(table.bootstrap, table.topics, P, tmp_path / "file" / "below")
    assert rows(nowhere) == ({("a", "n1")}, 1)


def test_unreadable_and_foreign_records_are_passed_over(broker: Broker, table: RoutePartition) -> None:
    broker.subscribe("c1", "a", "n1")
    broker.subscribe("c2", "a", "n2")
    broker.write_subscription("c2", "a", b"{")  # Compaction would remove what stood here before.
    for number, value in enumerate(
        (b"[]", b"null", b"\xff", b'{"filter":"a"}', b'{"node":"n2"}', b'{"filter":"a","node":"\\ud800"}')
    ):
        broker.write_subscription(f"bad{number}", "a", value)
    broker.subscribe("c3", "a", "n2", kind="other")
    broker.subscribe("c4", "a", "n2", share_group="g", kind="other")
    broker.producer.produce(broker.topics.subscriptions, key=b"no separator", value=b"{}", partition=P)
    broker.write_subscription("c5", "a", b'{\n "filter": "a", "node": "n1", "more": {"x": [1]}}')
    broker.flush()
    assert rows(table)[0] == {("a", "n1")}


def test_rows_of_nodes_without_a_kafka_topic_are_left_out(broker: Broker, table: RoutePartition) -> None:
    broker.subscribe("c1", "a", "n1")
    broker.subscribe("c2", "a", "ghost")
    broker.flush()
    assert rows(table) == ({("a", "n1")}, 2)
    broker.create_nodes("ghost")
    assert rows(table) == ({("a", "n1"), ("a", "ghost")}, 2)


def test_rows_of_applications(broker: Broker, table: RoutePartition) -> None:
    broker.create(broker.topics.of_application("here"))
    broker.subscribe("here", "a", "n1", qos=1, kind="app", target="here")
    broker.subscribe("ghost", "a", "n1", qos=1, kind="app", target="ghost")
    broker.flush()
    assert kinds(table) == {("app", "here"), ("node0", "n1")}
    broker.create(broker.topics.of_application("ghost"))
    assert kinds(table) == {("app", "here"), ("app", "ghost"), ("node0", "n1")}
    broker.delete(broker.topics.application("here"))
    assert kinds(table) == {("app", "ghost"), ("node0", "n1")}


def test_rows_of_persistent_clients(broker: Broker, table: RoutePartition) -> None:
    broker.subscribe("c1", "a", "n1", qos=1, kind="device")
    broker.subscribe("c2", "a", "n1", qos=2, kind="device")
    broker.flush()
    assert kinds(table) == {("device", "c1"), ("device", "c2"), ("node0", "n1")}
    broker.subscribe("c2", "a", "n1", qos=2)  # Its session ends with its connection now.
    broker.flush()
    assert kinds(table) == {("device", "c1"), ("node", "n1")}
    broker.unsubscribe("c2", "a")
    broker.flush()
    assert kinds(table) == {("device", "c1"), ("node0", "n1")}
    assert kinds(RoutePartition(table.bootstrap, table.topics, P, table.directory / "none")) == kinds(table)


def test_a_persistent_client_is_routed_to_though_its_node_is_gone(
    broker: Broker, table: RoutePartition
) -> None:
    broker.subscribe("c1", "a", "ghost", qos=1, kind="device")
    broker.subscribe("ghost", "a", "n1", qos=1, kind="device")  # A client may have the name of a node.
    broker.flush()
    assert kinds(table) == {("device", "c1"), ("device", "ghost"), ("node0", "n1")}
    broker.delete(broker.topics.persisted)
    until = time.monotonic() + PATIENCE
    while kinds(table) != {("node0", "n1")}:
        assert time.monotonic() < until


def test_a_share_group_is_one_route_wherever_its_members_are(broker: Broker, table: RoutePartition) -> None:
    broker.subscribe("c1", "a", "n1", share_group="g")
    broker.subscribe("c2", "a", "ghost", qos=1, kind="device", share_group="g", online=False)
    broker.subscribe("c2", "a", "n1", share_group="n1")  # A group may have the name of a node.
    broker.subscribe("c1", "a", "n1")
    broker.flush()
    assert kinds(table) == {("share", "g"), ("share", "n1"), ("node", "n1")}
    broker.unsubscribe("c1", "$share/g/a")
    broker.flush()
    assert kinds(table) == {("share", "g"), ("share", "n1"), ("node", "n1")}
    broker.unsubscribe("c2", "$share/g/a")
    broker.flush()
    assert kinds(table) == {("share", "n1"), ("node", "n1")}
    broker.delete(broker.topics.shares)
    until = time.monotonic() + 20
    while kinds(table) != {("node", "n1")}:
        assert time.monotonic() < until


def test_the_version_ends_before_the_first_row_that_the_plan_does_not_cover(
    broker: Broker, table: RoutePartition
) -> None:
    wild = filter_here("+/")
    broker.subscribe("c1", "a", "n1")
    broker.subscribe("c2", wild, "n1")
    broker.subscribe("c3", "a", "n2")
    broker.flush()
    assert rows(table, [])[1] == 1
    assert rows(table, ["2:0:"])[1] == 3
    assert table.read().shapes == {"2:0:"}
    broker.unsubscribe("c2", wild)
    broker.flush()
    assert rows(table, [])[1] == 4


def test_a_long_tail_is_merged_in_blocks(
    broker: Broker, table: RoutePartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(route_kafka, "BLOCK_RECORDS", 7)
    for number in range(100):
        broker.subscribe(f"c{number % 30}", "a", "n1" if number % 2 else "n2")
    broker.unsubscribe("c1", "a")
    broker.flush()
    assert rows(table) == ({("a", "n1"), ("a", "n2")}, 101)
    assert table.read().state.num_rows == 29


def test_gaps_of_compaction_and_transactions(kafka: LiveKafka, broker: Broker, snapshot_dir: Path) -> None:
    """P16: the log ends with a transaction marker, aborted records are missing, compaction has removed most of it."""
    topics = broker.topics
    subscriptions = topics.shared(2, 2)[1]
    broker.delete(topics.subscriptions)
    fast = {
        **subscriptions.config,
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.001",
        "min.compaction.lag.ms": "0",
    }
    until = time.monotonic() + PATIENCE
    while True:
        try:
            broker.create(type(subscriptions)(subscriptions.name, 2, fast))
            break
        except Exception:
            assert time.monotonic() < until
    broker.create_nodes("n1", "n2")
    table = RoutePartition(kafka.bootstrap, topics, P, snapshot_dir)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topics.prefix})
    producer.init_transactions(20)

    def write(client: str, node: str | None) -> None:
        value = None if node is None else encode_value(SubscriptionRecord(client, "a", node))
        producer.produce(topics.subscriptions, key=encode_key(client, "a"), value=value, partition=P)

    for number in range(50):
        producer.begin_transaction()
        write("c1", "n1")
        write(f"gone{number % 3}", None if number > 40 else "n1")
        producer.commit_transaction(20)
    producer.begin_transaction()
    write("aborted", "n2")
    producer.flush(20)
    producer.abort_transaction(20)
    until = time.monotonic() + PATIENCE
    while table.read().offset < 152:
        assert time.monotonic() < until
    before = rows(table)
    assert before[0] == {("a", "n1")}
    assert before[1] == 152  # Three for each transaction, and two: markers count.
    again = RoutePartition(kafka.bootstrap, topics, P, snapshot_dir / "again")
    assert rows(again) == before  # Kafka told once that it is empty; it had been read, so it is asked again
    producer.begin_transaction()
    write("c2", "n2")
    producer.commit_transaction(20)
    # The coordinator answers before the marker stands in the log.
    until = time.monotonic() + PATIENCE
    while table.read().offset < 154:
        assert time.monotonic() < until
    assert rows(table) == rows(again) == ({("a", "n1"), ("a", "n2")}, 154)


def test_a_snapshot_is_written_anew_before_tombstones_vanish(broker: Broker, table: RoutePartition) -> None:
    for number in range(100):
        broker.subscribe(f"c{number}", "a", "n1")
    broker.flush()
    rows(table)
    path = snapshot_file(table)
    size, written_at = path.stat().st_size, path.stat().st_mtime_ns
    broker.unsubscribe("c1", "a")
    broker.flush()
    rows(table)
    assert path.stat().st_mtime_ns == written_at  # A short tail is only read.
    old = time.time() - REWRITE_SECONDS - 1
    os.utime(path, (old, old))
    rows(table)
    assert path.stat().st_size != size or path.stat().st_mtime > old + 1
    assert rows(table) == ({("a", "n1")}, 101)


def test_a_missing_kafka_topic_is_one_clear_sentence(kafka: LiveKafka, unique: Callable[[str], str]) -> None:
    with pytest.raises(RouteTableError, match="sluicemq topics"):
        route_kafka.RouteLog(kafka.bootstrap, unique("none")).partitions()
