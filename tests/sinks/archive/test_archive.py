"""The archive on a real Kafka: each message once, in its hour, whatever dies, and whoever reads meanwhile."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterable
from pathlib import Path

import pyarrow.dataset as ds  # type: ignore[import-untyped]
import pytest
from pyspark.sql import DataFrame, SparkSession

from contracts import publish_record
from contracts.topics import Shape
from routing.pipeline import route
from sinks.archive.commits import Commits
from sinks.archive.compaction import CompactionSettings, compact_hours
from sinks.archive.folder import Folder, TakenError
from sinks.archive.job import Settings, supervised
from sinks.archive.records import PARTITION_COLUMNS, RAW_COLUMNS
from sinks.errors import SinkFailedError
from sinks.supervision import Supervisor
from tests.job_process import kill_jvm
from tests.routing import rows as routing_rows
from tests.sinks.process import sink_process, wait_until_started
from tests.sinks.publishes import FIRST_MS, HOUR_MS, Publishes

pytestmark = pytest.mark.live

PATIENCE = 150.0
AT_ONCE = CompactionSettings(settle_seconds=0, grace_seconds=0)


def archive_all(spark: SparkSession, publishes: Publishes, place: Path) -> Supervisor:
    """Archive all that is there by now."""
    settings = Settings(publishes.bootstrap, str(place), publishes.topics, "available-now")
    supervisor = supervised(spark, settings, lambda: None)
    supervisor.run()
    return supervisor


def rows(frame: DataFrame | ds.Dataset) -> list[tuple[int, int, bytes]]:
    """Partition, offset, value; in order."""
    if isinstance(frame, DataFrame):
        found = [tuple(row) for row in frame.select("partition", "offset", "value").collect()]
    else:
        table = frame.to_table(columns=["partition", "offset", "value"])
        found = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return sorted((partition, offset, bytes(value)) for partition, offset, value in found)


def files(place: Path) -> list[Path]:
    return sorted(place.glob("date=*/hour=*/*.parquet"))


def commits_of(spark: SparkSession, place: Path) -> tuple[Folder, Commits]:
    folder = Folder(spark, str(place))
    return folder, Commits(folder)


def test_each_message_once_in_its_hour(spark: SparkSession, publishes: Publishes, tmp_path: Path) -> None:
    place = tmp_path / "archive #1"
    for hour in range(3):
        publishes.publish(30, at_ms=FIRST_MS + hour * HOUR_MS)
        archive_all(spark, publishes, place)
    archive_all(spark, publishes, place)  # there is nothing new
    found = spark.read.parquet(str(place))
    assert rows(found) == sorted(publishes.written)
    assert found.columns == [*RAW_COLUMNS, *PARTITION_COLUMNS]
    hours = {(str(row.date), row.hour) for row in found.select("date", "hour").distinct().collect()}
    first = time.gmtime(FIRST_MS / 1_000)
    assert (time.strftime("%Y-%m-%d", first), first.tm_hour) in hours
    assert len(hours) == 3
    row = found.where("partition = 0").orderBy("offset").first()
    assert row is not None
    assert row.topic == publishes.topics.publishes
    headers = [(header.key, bytes(header.value)) for header in row.headers]
    assert publish_record.decode(bytes(row.key), bytes(row.value), headers).client_id == "publisher"
    assert int(row.timestamp.timestamp() * 1_000) == FIRST_MS
    # Who does not know of commits sees the same.
    assert rows(ds.dataset(place, format="parquet", partitioning="hive")) == sorted(publishes.written)


def test_compaction_takes_nothing_from_readers(
    spark: SparkSession, publishes: Publishes, tmp_path: Path
) -> None:
    for _ in range(3):
        publishes.publish(40)
        publishes.publish(5, at_ms=FIRST_MS + HOUR_MS)
        archive_all(spark, publishes, tmp_path)
    before = files(tmp_path)
    reading = spark.read.parquet(str(tmp_path))
    folder, commits = commits_of(spark, tmp_path)
    assert compact_hours(spark, folder, commits, AT_ONCE) == len(before) > 6
    assert rows(reading) == rows(spark.read.parquet(str(tmp_path))) == sorted(publishes.written)
    assert len(commits.latest().files) == 2
    assert compact_hours(spark, folder, commits, AT_ONCE) == 0
    deleted = commits.clean(grace_seconds=0)
    assert {tmp_path / path for path in deleted} == set(before)
    assert len(files(tmp_path)) == 2
    # Messages go on coming, late ones too, and what is deleted is forgotten.
    publishes.publish(10)
    archive_all(spark, publishes, tmp_path)
    publishes.publish(10)
    archive_all(spark, publishes, tmp_path)
    assert compact_hours(spark, folder, commits, AT_ONCE, deleted) > 1
    assert deleted.isdisjoint(commits.latest().left_out)
    commits.clean(grace_seconds=0)
    assert rows(spark.read.parquet(str(tmp_path))) == sorted(publishes.written)
    assert rows(ds.dataset(tmp_path, format="parquet", partitioning="hive")) == sorted(publishes.written)


def test_an_hour_that_still_gathers_is_left_alone(
    spark: SparkSession, publishes: Publishes, tmp_path: Path
) -> None:
    for _ in range(2):
        publishes.publish(10)
        archive_all(spark, publishes, tmp_path)
    folder, commits = commits_of(spark, tmp_path)
    during = CompactionSettings(settle_seconds=600, clock=lambda: FIRST_MS / 1_000 + 3_600 + 599)
    assert compact_hours(spark, folder, commits, during) == 0
    late = CompactionSettings(settle_seconds=600, clock=lambda: FIRST_MS / 1_000 + 3_600 + 600)
    assert compact_hours(spark, folder, commits, late) > 0


def test_what_was_not_committed_is_cleaned_away(
    spark: SparkSession, publishes: Publishes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publishes.publish(20)
    archive_all(spark, publishes, tmp_path)
    publishes.publish(20)

    def die(*_: object, **__: object) -> None:
        raise OSError("the folder is gone")

    with monkeypatch.context() as patched:
        patched.setattr(Commits, "commit", die)  # all files are at their places then
        patched.setattr("sinks.supervision.MAX_FAILURES", 0)
        with pytest.raises(SinkFailedError, match="the folder is gone"):
            archive_all(spark, publishes, tmp_path)
    assert len(rows(spark.read.parquet(str(tmp_path)))) == 20
    archive_all(spark, publishes, tmp_path)
    assert rows(spark.read.parquet(str(tmp_path))) == sorted(publishes.written)
    _, commits = commits_of(spark, tmp_path)
    assert len(files(tmp_path)) > len(commits.latest().files)
    commits.clean(grace_seconds=3_600)
    assert len(files(tmp_path)) > len(commits.latest().files)  # its writer may still be about to commit
    commits.clean(grace_seconds=0)
    assert rows(ds.dataset(tmp_path, format="parquet", partitioning="hive")) == sorted(publishes.written)


def test_two_who_commit(spark: SparkSession, tmp_path: Path) -> None:
    _, commits = commits_of(spark, tmp_path)
    first = commits.commit(commits.latest(), commits.announce([]), positions={0: 5})
    with pytest.raises(TakenError):
        commits.commit(first.__class__(), commits.announce([]), positions={0: 7})
    assert commits.latest().positions == {0: 5}
    for number in range(30):
        commits.commit(commits.latest(), commits.announce([]), positions={0: 6 + number})
    commits.clean(grace_seconds=0)
    assert commits.latest().positions == {0: 35}
    assert len(list((tmp_path / "_spark_metadata").glob("*.compact"))) == 10
    assert len(list((tmp_path / "_archive").glob("*.json"))) == 10


def test_the_routers_plan_reads_it(spark: SparkSession, publishes: Publishes, tmp_path: Path) -> None:
    publishes.publish(20)
    archive_all(spark, publishes, tmp_path)
    routes = routing_rows.routes(spark, ("t/+", "gw9"))
    routed = route(spark.read.parquet(str(tmp_path)), routes, [Shape(2, (1,), False)], publishes.topics, 1)
    records = routed.collect()
    assert len(records) == 20
    assert {record.topic for record in records} == {publishes.topics.downlink("gw9")}


def wait_for(place: Path, ends: Iterable[tuple[int, int]]) -> None:
    """Wait until a commit has so much; read as a file, as the job is another process."""
    until = time.monotonic() + PATIENCE
    while True:
        numbers = sorted(int(path.stem) for path in (place / "_spark_metadata").glob("[0-9]*.compact"))
        positions = {}
        if numbers:
            lines = (place / "_spark_metadata" / f"{numbers[-1]}.compact").read_text().splitlines()
            details = place / "_archive" / json.loads(lines[1])["path"].rpartition("/")[2]
            positions = json.loads(details.read_text())["positions"]
        if all(positions.get(str(partition), 0) >= end for partition, end in ends):
            return
        assert time.monotonic() < until, positions
        time.sleep(0.05)  # a folder tells nobody when it has changed


@pytest.mark.timeout(400)
def test_kill_loses_nothing_and_doubles_nothing(
    spark: SparkSession, publishes: Publishes, tmp_path: Path
) -> None:
    place = tmp_path / "archive"
    arguments = ["--kafka", publishes.bootstrap, "--topic-prefix", publishes.topics.prefix]
    arguments += ["--archive", str(place), "--interval-ms", "10", "--settle-seconds", "0"]
    with sink_process("sinks.archive.job", arguments, tmp_path, {}) as process:
        wait_until_started(process)
        for _ in range(20):
            publishes.publish(100)
        wait_for(place, [(0, 1)])
        for number in range(20):
            publishes.publish(50, at_ms=FIRST_MS + number % 3 * HOUR_MS)
        kill_jvm(process)  # batches follow one another without a pause, so it dies within one
    publishes.publish(100)
    with sink_process("sinks.archive.job", arguments, tmp_path, {}) as process:
        wait_until_started(process)
        wait_for(place, publishes.ends().items())
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert rows(spark.read.parquet(str(place))) == sorted(publishes.written)
    folder, commits = commits_of(spark, place)
    compact_hours(spark, folder, commits, AT_ONCE)
    commits.clean(grace_seconds=0)
    assert rows(ds.dataset(place, format="parquet", partitioning="hive")) == sorted(publishes.written)
