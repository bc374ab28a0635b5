"""What a Spark that has Delta Lake says of an archive: a process of its own, as the tests' session has none.

`python delta_spark.py KAFKA PREFIX PLACE` prints one JSON object. It adds to the archive.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from contracts.archive import DELTA_SETTINGS
from contracts.kafka_topics import KafkaTopics
from routing.replay.replay import Replay
from sinks.archive.compaction import CompactionSettings
from sinks.archive.delta import DeltaArchive
from sinks.errors import PositionLostError

_VACUUM = "vacuum"


class BelatedArchive(DeltaArchive):
    """A second writer, which has looked where the archive stands just before the first one's commit."""

    stood: Mapping[int, int] | None = None

    def positions(self) -> dict[int, int]:
        """Once where it stood, then where it stands."""
        stood, self.stood = self.stood, None
        return self.positions_now() if stood is None else dict(stood)

    def positions_now(self) -> dict[int, int]:
        """Where it stands."""
        return super().positions()


def received(replay: Replay) -> list[tuple[int, int]]:
    """Partition and offset of what a new subscriber of one topic would have got."""
    table = replay.table(add=[{"client_id": "new", "filter": "t/3", "node": "n9"}])
    explained = replay.explain(replay.messages(), table).where("client_id = 'new'")
    return sorted((row.partition, row.offset) for row in explained.collect())


def write_twice(spark: SparkSession, place: str) -> tuple[int, bool]:
    """Two write from the same place; how many rows the archive has more of it, and whether the second was told so."""
    first = DeltaArchive(spark, place, CompactionSettings())
    second = BelatedArchive(spark, place, CompactionSettings())

    def archive() -> DataFrame:
        return spark.read.format("delta").load(place)

    before, records = archive().count(), archive().limit(3).localCheckpoint()
    second.stood = begins = first.positions()
    ends = {**begins, 0: begins[0] + 3}
    first.append(records, begins, ends)
    try:
        second.append(records, begins, {**ends, 0: ends[0] + 1})
    except PositionLostError:
        return archive().count() - before, True
    return archive().count() - before, False


def vacuum_tasks(spark: SparkSession, place: str) -> int:
    """Of how many tasks the largest stage of compacting and cleaning is."""
    context = spark.sparkContext
    context.setJobGroup(_VACUUM, "")
    DeltaArchive(spark, place, CompactionSettings()).compact()
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(_VACUUM)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    return max(stage.numTasks for stage in stages if stage)


def main(kafka: str, prefix: str, place: str) -> None:
    """Ask, and print."""
    spark = SparkSession.builder.config(map=dict(DELTA_SETTINGS)).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    seen = received(Replay(spark, kafka, KafkaTopics(prefix), archive=place))
    rows, told = write_twice(spark, place)
    tasks = vacuum_tasks(spark, place)
    sys.stdout.write(json.dumps({"received": seen, "rows": rows, "told": told, "tasks": tasks}) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
