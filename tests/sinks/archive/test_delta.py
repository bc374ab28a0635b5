"""The archive as a table of Delta Lake: each message once, whatever dies, also while files are put together."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from admin.stack.jars import delta_jars
from contracts.archive import DELTA_LOG, ArchiveFormat
from contracts.kafka_topics import KafkaTopics
from routing.errors import ReplayError
from routing.moments import EARLIEST, LATEST
from routing.replay.replay import Replay
from sinks.archive.job import Settings, supervised
from sinks.errors import DeltaMissingError
from tests.job_process import kill_jvm
from tests.sinks.process import sink_process, wait_until_started
from tests.sinks.publishes import FIRST_MS, HOUR_MS, Publishes
from tests.spark_session import submit_environment

pytestmark = pytest.mark.live

PATIENCE = 300.0


class Table:
    """The table by its log, and as another implementation of the format reads it."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def rows(self) -> list[tuple[int, int, bytes]]:
        """Partition, offset, value; in order."""
        # The log is read by deltalake, the files by Arrow itself: deltalake's own way to hand them to Arrow ends one
        # process in ten by an abort.
        found: list[tuple[int, int, bytes]] = []
        for uri in DeltaTable(str(self.place)).file_uris():
            table = pq.ParquetFile(unquote(uri)).read(["partition", "offset", "value"])
            found += zip(*(column.to_pylist() for column in table.columns), strict=True)
        return sorted(found)

    def compactions(self) -> int:
        """How often files were put together."""
        return self.operations().count("OPTIMIZE")

    def operations(self) -> list[str]:
        """Of each commit, from the first one on."""
        # By itself: deltalake sees no history where a folder has a `#` or a blank in its name.
        return [action["operation"] for action in self._actions("commitInfo")]

    def has(self, publishes: Publishes) -> bool:
        """Whether the newest batch is the last one."""
        told = [action["userMetadata"] for action in self._actions("commitInfo") if "userMetadata" in action]
        positions = json.loads(told[-1])["sluicemq-positions"] if told else {}
        return all(positions.get(str(partition), 0) >= end for partition, end in publishes.ends().items())

    def is_about_to_commit(self) -> bool:
        """Whether there is a file that no commit has named."""
        named = {unquote(action["path"]) for action in self._actions("add")}
        files = self.place.glob("date=*/hour=*/*.parquet")
        return any(str(file.relative_to(self.place)) not in named for file in files)

    def _actions(self, kind: str) -> Iterator[Any]:
        for commit in sorted((self.place / DELTA_LOG).glob("[0-9]*.json")):
            for line in commit.read_text().splitlines():
                if kind in (action := json.loads(line)):
                    yield action[kind]


def wait_for(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)  # a folder tells nobody when it has changed


@pytest.mark.timeout(1_200)
def test_kill_loses_nothing_and_doubles_nothing(publishes: Publishes, tmp_path: Path) -> None:
    place, jars = tmp_path / "archive #1", delta_jars()
    arguments = ["--kafka", publishes.bootstrap, "--topic-prefix", publishes.topics.prefix]
    arguments += ["--archive", str(place), "--format", "delta", "--interval-ms", "10"]
    arguments += ["--settle-seconds", "0", "--tidy-seconds", "1"]
    table = Table(place)
    publishes.publish(100)
    with sink_process("sinks.archive.job", arguments, tmp_path, {}, jars) as process:
        wait_until_started(process)
        for number in range(2):  # several files in an hour, and batches while they are put together
            publishes.publish(50, at_ms=FIRST_MS + number * HOUR_MS)
            wait_for(lambda: table.has(publishes))
        wait_for(lambda: table.compactions() > 0)
        publishes.publish(100)
        wait_for(lambda: table.is_about_to_commit() or table.has(publishes))
        kill_jvm(process)
    compactions = table.compactions()
    publishes.publish(100)
    with sink_process("sinks.archive.job", arguments, tmp_path, {}, jars) as process:
        wait_until_started(process)
        wait_for(lambda: table.has(publishes))
        wait_for(lambda: table.compactions() > compactions)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert table.rows() == sorted(publishes.written)
    assert set(table.operations()) == {"WRITE", "OPTIMIZE"}
    publishes.create(publishes.topics.subscriptions)
    check_in_spark(publishes, place, tmp_path)


def check_in_spark(publishes: Publishes, place: Path, folder: Path) -> None:
    """A replay reads it; of two who write from one place one does; and cleaning up is no business of many tasks."""
    script = Path(__file__).with_name("delta_spark.py")
    arguments = [publishes.bootstrap, publishes.topics.prefix, str(place)]
    done = subprocess.run(
        [sys.executable, str(script), *arguments],
        env=submit_environment(folder, "local[2]", delta_jars()),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    wanted = sorted(
        [partition, offset] for partition, offset, value in publishes.written if int(value) % 7 == 3
    )
    assert found["received"] == wanted
    assert (found["rows"], found["told"]) == (3, True)
    assert found["tasks"] <= 16


def test_what_is_missing_is_told(spark: SparkSession, tmp_path: Path) -> None:
    settings = Settings("k:1", str(tmp_path), KafkaTopics(), format=ArchiveFormat.DELTA)
    with pytest.raises(DeltaMissingError, match=r"give spark-submit io\.delta:delta-spark"):
        supervised(spark, settings, lambda: None).run()
    (tmp_path / DELTA_LOG).mkdir()
    with pytest.raises(ReplayError, match="is a table of Delta Lake: give Spark the package"):
        Replay(spark, "k:1", archive=str(tmp_path)).messages(EARLIEST, LATEST)
