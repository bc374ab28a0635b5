"""The archive as a table of Delta Lake, where that is installed; and what is told where it is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sinks.archive import delta
from sinks.archive.compaction import CompactionSettings
from sinks.archive.delta import DeltaArchive
from sinks.archive.job import Settings, supervised
from sinks.archive.records import archived_records
from sinks.errors import DeltaMissingError, PositionLostError
from tests.sinks.publishes import Publishes

pytestmark = pytest.mark.live

COMPACTION = CompactionSettings(settle_seconds=0)


def test_each_message_once(spark: SparkSession, publishes: Publishes, tmp_path: Path) -> None:
    if not delta.is_available(spark):
        pytest.skip("Delta Lake is not installed")
    place = str(tmp_path / "table")
    settings = Settings(
        publishes.bootstrap, place, publishes.topics, "available-now", format="delta", compaction=COMPACTION
    )
    for _ in range(2):
        publishes.publish(30)
        supervised(spark, settings, lambda: None).run()
    supervised(spark, settings, lambda: None).run()
    archive = DeltaArchive(spark, place, COMPACTION)
    ends = archive.positions()
    assert archive.compact() > 1
    assert archive.positions() == ends
    publishes.publish(10)
    supervised(spark, settings, lambda: None).run()
    found = [tuple(row) for row in spark.read.format("delta").load(place).select(
        "partition", "offset", "value").collect()]  # fmt: skip
    assert sorted((partition, offset, bytes(value)) for partition, offset, value in found) == sorted(
        publishes.written
    )
    stream = spark.read.format("kafka").options(
        **{"kafka.bootstrap.servers": publishes.bootstrap, "subscribe": publishes.topics.publishes,
           "includeHeaders": "true"}
    )  # fmt: skip
    with pytest.raises(PositionLostError):
        archive.append(archived_records(stream.load()), ends, ends)


def test_what_is_missing_is_told(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta, "is_available", lambda _spark: False)
    with pytest.raises(DeltaMissingError, match=r"install sluicemq\[delta\], and give spark-submit"):
        DeltaArchive(spark, str(tmp_path), COMPACTION)
