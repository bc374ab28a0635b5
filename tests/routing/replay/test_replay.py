"""Replay and what-if on a real Kafka: the Python API, the run into Kafka topics, the archive, and the command."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from contracts.kafka_topics import KafkaTopics
from contracts.publish_record import RouteHit
from contracts.routed_record import decode_route
from routing.errors import ReplayError
from routing.moments import LATEST, encode_offsets
from routing.replay import run
from routing.replay.job import parse_arguments
from routing.replay.replay import Replay
from routing.replay.run import ReplayRequest, run_replay
from routing.routes.assumptions import Assumptions
from routing.routes.kafka import RouteLog
from tests.routing.broker import Broker
from tests.spark_session import submit_environment

ADDED = {"client_id": "new", "filter": "city/+", "node": "n9", "qos": 2}


@pytest.fixture
def replay(spark: SparkSession, broker: Broker) -> Replay:
    """A day in a small city: subscriptions, messages, one of them with a fresh route, and a probe."""
    broker.subscribe("c1", "city/oslo", "n1", qos=1)
    broker.subscribe("d1", "city/#", "n1", qos=1, kind="device")
    broker.publish("city/oslo", b"1", qos=1)
    broker.publish("city/rome", b"2", [RouteHit("city/rome", "n2")], qos=0)
    broker.probe("gw1", 1)
    broker.publish("sea/north", b"3")
    broker.flush()
    return Replay(spark, broker.bootstrap, broker.topics)


def who(found: DataFrame) -> set[tuple[Any, ...]]:
    return {
        (row.topic, row.filter, row.kind, row.target, row.origin, row.client_id, row.qos)
        for row in found.collect()
    }


OSLO = {
    ("city/oslo", "city/oslo", "node", "n1", "table", "c1", 1),
    ("city/oslo", "city/#", "device", "d1", "table", "d1", 1),
}
ROME = {("city/rome", "city/#", "node", "n1", "table", "d1", 0)}
IN_BAND = {("city/rome", "city/rome", "node", "n2", "in-band", None, None)}


@pytest.mark.live
def test_who_would_have_got_a_message_and_why(replay: Replay, broker: Broker) -> None:
    records, table = replay.messages(), replay.table()
    assert who(replay.explain(records, table)) == OSLO | ROME | IN_BAND
    assert who(replay.explain(records, table, in_band=False)) == OSLO | ROME
    nothing = replay.table(as_of=encode_offsets({0: 0, 1: 0}))
    assert who(replay.explain(records, nothing)) == IN_BAND
    assert sum(table.version.values()) == 2
    # The table that was chosen stays, whatever is subscribed now.
    broker.unsubscribe("c1", "city/oslo")
    broker.flush()
    assert who(replay.explain(records, table)) == OSLO | ROME | IN_BAND


@pytest.mark.live
def test_what_if(replay: Replay) -> None:
    records = replay.messages()
    changed = replay.table(
        add=replay.spark.createDataFrame([ADDED], "client_id string, filter string, node string, qos int"),
        remove=[{"client_id": "d1", "filter": "city/#"}, {"client_id": "x", "filter": "city/rome"}],
    )
    assert who(replay.explain(records, changed)) == {
        ("city/oslo", "city/oslo", "node", "n1", "table", "c1", 1),
        ("city/oslo", "city/+", "node", "n9", "assumed", "new", 1),
        # About city/rome the changed table alone decides: what a gateway carried for it does not count.
        ("city/rome", "city/+", "node", "n9", "assumed", "new", 0),
    }


def replayed(broker: Broker, into: KafkaTopics, *nodes: str) -> dict[str, list[bytes]]:
    return {
        node: [record.value or b"" for record in broker.records_so_far(into.downlink(node))] for node in nodes
    }


def persisted(broker: Broker, into: KafkaTopics) -> list[tuple[bytes | None, str]]:
    count = RouteLog(broker.bootstrap, into.persisted).partitions()
    assert count == RouteLog(broker.bootstrap, broker.topics.persisted).partitions()
    found = [record for number in range(count) for record in broker.records_so_far(into.persisted, number)]
    return [(record.key, decode_route(record.headers).filter) for record in found]


def request(broker: Broker, into: str, **others: Any) -> ReplayRequest:
    whole = {"start": "earliest", "end": LATEST, "as_of": LATEST} | others
    return ReplayRequest(broker.bootstrap, broker.topics.prefix, into, **whole)


@pytest.mark.live
def test_a_replay_into_kafka_topics_goes_on_where_it_was_ended(
    replay: Replay,
    broker: Broker,
    unique: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    into = KafkaTopics(unique("what-if"))
    wanted = request(broker, into.prefix, assumptions=Assumptions.of([ADDED]))
    place = str(tmp_path / "replay")
    with monkeypatch.context() as patch:
        patch.setattr(run, "create_missing", _fail)  # It ends when all is chosen and nothing is written.
        with pytest.raises(InterruptedError):
            run_replay(replay.spark, wanted, place)
    # What comes meanwhile is not part of it: neither messages nor subscriptions.
    broker.subscribe("late", "city/oslo", "n1")
    broker.subscribe("late", "city/oslo", "n7")
    broker.publish("city/oslo", b"late")
    broker.flush()
    found = run_replay(replay.spark, wanted, place)
    assert found == {into.downlink("n1"), into.downlink("n2"), into.downlink("n9"), into.persisted}
    oslo_and_rome = {"n1": [b"1", b"2"], "n2": [b"2"], "n9": [b"1", b"2"]}

    def written() -> dict[str, list[bytes]]:
        return {node: sorted(got) for node, got in replayed(broker, into, *oslo_and_rome).items()}

    assert written() == oslo_and_rome
    assert persisted(broker, into) == [(b"d1", "city/#")]
    assert run_replay(replay.spark, wanted, place) == found  # Nothing is left to be written.
    assert written() == oslo_and_rome
    with pytest.raises(ReplayError, match="another replay's"):
        run_replay(replay.spark, request(broker, into.prefix), place)
    with pytest.raises(ReplayError, match="would be delivered"):
        run_replay(replay.spark, request(broker, broker.topics.prefix), str(tmp_path / "own"))


def _fail(*_: object) -> None:
    raise InterruptedError


@pytest.mark.live
def test_an_archive_is_replayed_in_order(
    replay: Replay, broker: Broker, unique: Callable[[str], str], tmp_path: Path
) -> None:
    for number in range(50):
        broker.publish("city/oslo", b"%d" % number)
    broker.flush()
    archive = str(tmp_path / "archive")
    records = replay.messages().selectExpr("*", "date(timestamp) AS date", "hour(timestamp) AS hour")
    # Files in no order, and of several partitions each.
    records.repartition(3).sort("value").write.partitionBy("date", "hour").parquet(archive)
    archived = Replay(replay.spark, replay.kafka, replay.topics, archive)
    assert who(archived.explain(archived.messages(), archived.table())) == OSLO | ROME | IN_BAND
    assert archived.messages("2000-01-01T00:00Z", "2000-01-02T00:00Z").isEmpty()
    assert archived.messages(start=LATEST).isEmpty()
    some = archived.messages(end=encode_offsets({0: 1, 1: 0}))
    assert [(row.partition, row.offset) for row in some.collect()] == [(0, 0)]
    into = KafkaTopics(unique("from-archive"))
    run_replay(replay.spark, request(broker, into.prefix, archive=archive), str(tmp_path / "replay"))
    places: dict[int, list[int]] = {}
    for record in broker.records_so_far(into.downlink("n1")):
        told = decode_route(record.headers)
        if told.filter == "city/oslo":
            places.setdefault(told.partition, []).append(told.offset)
    assert sum(map(len, places.values())) == 51
    assert all(offsets == sorted(offsets) for offsets in places.values())


@pytest.mark.live
@pytest.mark.timeout(400)
@pytest.mark.usefixtures("replay")
def test_the_command(broker: Broker, tmp_path: Path) -> None:
    row = tmp_path / "rows"
    row.write_text(json.dumps(ADDED) + "\n\n")
    command = [sys.executable, "-m", "routing.replay", "--kafka", broker.bootstrap]
    command += ["--topic-prefix", broker.topics.prefix, "--add", f"@{row}", "--explain", "-"]
    done = subprocess.run(
        command,
        env=submit_environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert {(one["topic"], one["target"]) for one in told} == {
        ("city/oslo", "n1"), ("city/oslo", "d1"), ("city/rome", "n1"), ("city/rome", "n2"),
        ("city/oslo", "n9"), ("city/rome", "n9"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "--into --explain"),
        (["--into", "p"], "--checkpoint"),
        (["--explain", "-", "--checkpoint", "c"], "--checkpoint"),
        (["--into", "a b", "--checkpoint", "c"], "prefix"),
        (["--explain", "-", "--start", "yesterday"], "is no moment"),
        (["--explain", "-", "--as-of", "2026-01-01T00:00"], "time zone"),
        (["--explain", "-", "--add", "{}"], "has no client_id"),
        (["--explain", "-", "--add", "[1]"], "write an object"),
        (["--explain", "-", "--remove", "@/nowhere/at/all"], "No such file"),
    ],
)
def test_bad_arguments_are_told(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse_arguments(["--kafka", "k:1", *arguments])
    assert sentence in capsys.readouterr().err
