"""The archive as a table of Delta Lake: each message once, whatever dies, also while files are put together."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from pyspark.sql import SparkSession

from admin.stack.jars import delta_jars
from contracts.archive import DELTA_LOG, DELTA_SETTINGS
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


class Table:
    """The table as another implementation of the format reads it."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def rows(self) -> list[tuple[int, int, bytes]]:
        """Partition, offset, value; in order."""
        found = self._opened()
        if found is None:
            return []
        columns = found.to_pyarrow_table(columns=["partition", "offset", "value"]).columns
        return sorted(zip(*(column.to_pylist() for column in columns), strict=True))

    def compactions(self) -> int:
        """How often files were put together."""
        found = self._opened()
        return sum(entry["operation"] == "OPTIMIZE" for entry in found.history()) if found else 0

    def _opened(self) -> DeltaTable | None:
        try:
            return DeltaTable(str(self.place))
        except TableNotFoundError:
            return None


def wait_for(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 150
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.1)  # a folder tells nobody when it has changed


@pytest.mark.timeout(600)
def test_kill_loses_nothing_and_doubles_nothing(publishes: Publishes, tmp_path: Path) -> None:
    place, jars = tmp_path / "archive #1", delta_jars()
    arguments = ["--kafka", publishes.bootstrap, "--topic-prefix", publishes.topics.prefix]
    arguments += ["--archive", str(place), "--format", "delta", "--interval-ms", "10"]
    arguments += ["--settle-seconds", "0", "--tidy-seconds", "1"]
    table = Table(place)
    publishes.publish(100)
    with sink_process("sinks.archive.job", arguments, tmp_path, {}, jars) as process:
        wait_until_started(process)
        for number in range(2):  # several files in the same hours, and batches while they are put together
            publishes.publish(50, at_ms=FIRST_MS + number % 2 * HOUR_MS)
            wait_for(lambda: len(table.rows()) == len(publishes.written))
        wait_for(lambda: table.compactions() > 0)
        publishes.publish(100)
        kill_jvm(process)  # batches and compactions follow one another without a pause, so it dies within one
    compactions = table.compactions()
    publishes.publish(100)
    with sink_process("sinks.archive.job", arguments, tmp_path, {}, jars) as process:
        wait_until_started(process)
        wait_for(lambda: len(table.rows()) >= len(publishes.written))
        wait_for(lambda: table.compactions() > compactions)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert table.rows() == sorted(publishes.written)
    publishes.create(publishes.topics.subscriptions)
    check_replay(publishes, place, tmp_path)


def check_replay(publishes: Publishes, place: Path, folder: Path) -> None:
    """A replay reads it as it reads Kafka: here, who would have received what, were there a subscriber of some."""
    wanted = json.dumps({"client_id": "new", "filter": "t/3", "node": "n9"})
    arguments = ["--kafka", publishes.bootstrap, "--topic-prefix", publishes.topics.prefix]
    arguments += ["--archive", str(place), "--add", wanted, "--explain", "-"]
    done = subprocess.run(
        [sys.executable, "-m", "routing.replay", *arguments],
        env=submit_environment(folder, "local[2]", delta_jars(), DELTA_SETTINGS),
        capture_output=True,
        text=True,
        check=True,
    )
    explained = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    found = sorted((row["partition"], row["offset"]) for row in explained if row["client_id"] == "new")
    assert found == sorted(
        (partition, offset) for partition, offset, value in publishes.written if int(value) % 7 == 3
    )


def test_what_is_missing_is_told(spark: SparkSession, tmp_path: Path) -> None:
    settings = Settings("k:1", str(tmp_path), KafkaTopics(), format="delta")
    with pytest.raises(DeltaMissingError, match=r"give spark-submit io\.delta:delta-spark"):
        supervised(spark, settings, lambda: None).run()
    (tmp_path / DELTA_LOG).mkdir()
    with pytest.raises(ReplayError, match="is a table of Delta Lake: give Spark the package"):
        Replay(spark, "k:1", archive=str(tmp_path)).messages(EARLIEST, LATEST)
