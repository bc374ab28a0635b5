"""The archive as a table of Delta Lake, where Spark has that: its log is the commits.

Each commit tells how far the table has the log of Kafka (`userMetadata`), and carries a number that no later one may
have (`txnVersion`): the sum of the offsets that its batch begins at. So

killed before the commit                → the table has nothing of the batch; its files go with Delta's VACUUM
killed after the commit                 → the positions are its own, so the next query begins behind it
another one writes to the same archive  → of two commits from the same place Delta drops the second without a word; the
                                          positions then are not those of the second, which begins anew from there
compacted meanwhile                     → Delta lets both commits stand, as an append reads nothing
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession

from contracts.archive import DELTA_CLASS, DELTA_LOG, DELTA_PACKAGE, ArchiveFormat
from sinks.archive.compaction import CompactionSettings
from sinks.archive.destination import check_begins
from sinks.archive.folder import Folder
from sinks.archive.records import PARTITION_COLUMNS
from sinks.errors import DeltaMissingError, ForeignTableError

_POSITIONS = "sluicemq-positions"
_APPLICATION = "sluicemq-archive"
_RECENT = 20
"""In so many of the newest commits there is one of ours, but for a table that others change a lot."""
_VACUUM_SECONDS = 86_400.0
"""It lists the whole folder, so once a day."""


class DeltaArchive:
    """See the protocol, `sinks.archive.destination.Archive`."""

    def __init__(self, spark: SparkSession, place: str, compaction: CompactionSettings) -> None:
        """Open the table in `place`, a path or URI; made with the first batch.

        Raises:
            DeltaMissingError: Spark has no Delta Lake.
        """
        if not is_available(spark):
            raise DeltaMissingError(DELTA_PACKAGE)
        self._spark = spark
        self._folder = Folder(spark, place)
        self._place = self._folder.absolute("").rstrip("/")
        self._table = "delta.`{}`".format(self._place.replace("`", "``"))
        self._compaction = compaction
        self._vacuumed_at: float | None = None
        self._is_there = False
        spark.conf.set("spark.databricks.delta.optimize.maxFileSize", str(compaction.target_bytes))
        spark.conf.set("spark.databricks.delta.optimize.minFileSize", str(compaction.target_bytes // 2))

    def positions(self) -> dict[int, int]:
        """See the protocol. Of the newest commit that tells; compaction, and other people's commits, do not.

        Raises:
            ForeignTableError: None does.
        """
        if not self._exists():
            return {}
        for limit in (f" LIMIT {_RECENT}", ""):
            history = self._spark.sql(f"DESCRIBE HISTORY {self._table}{limit}")
            told = history.where(history["userMetadata"].contains(_POSITIONS))
            if newest := told.orderBy("version", ascending=False).first():
                found = json.loads(newest["userMetadata"])[_POSITIONS]
                return {int(partition): offset for partition, offset in found.items()}
        raise ForeignTableError(self._place)

    def append(self, records: DataFrame, begins: Mapping[int, int], ends: Mapping[int, int]) -> None:
        """See the protocol."""
        check_begins(self.positions(), begins)
        (
            records.write.format(ArchiveFormat.DELTA)
            .mode("append")
            .partitionBy(*PARTITION_COLUMNS)
            .option("userMetadata", json.dumps({_POSITIONS: dict(ends)}))
            .option("txnAppId", _APPLICATION)
            .option("txnVersion", str(sum(begins.values())))
            .save(self._place)
        )
        check_begins(self.positions(), ends)

    def compact(self) -> int:
        """Have Delta put the files of hours that are over together, and delete, once a day, what it needs no more.

        How long it keeps files that were put together, for those who read them, is the table's own setting.
        """
        if not self._exists():
            return 0
        over = time.gmtime(self._compaction.clock() - self._compaction.settle_seconds)
        today = time.strftime("%Y-%m-%d", over)
        # Its commit tells no positions: an append may come in between, and then they would be the old ones.
        done = self._spark.sql(
            f"OPTIMIZE {self._table}"
            f" WHERE date < DATE'{today}' OR (date = DATE'{today}' AND hour < '{over.tm_hour:02}')"
        ).select("metrics.numFilesRemoved")
        row = done.first()
        now = time.monotonic()
        if self._vacuumed_at is None or now - self._vacuumed_at >= _VACUUM_SECONDS:
            self._spark.sql(f"VACUUM {self._table}")
            self._vacuumed_at = now
        return int(row[0]) if row else 0

    def _exists(self) -> bool:
        if not self._is_there:
            self._is_there = any(found.path.endswith(".json") for found in self._folder.list(DELTA_LOG))
        return self._is_there


def is_available(spark: SparkSession) -> bool:
    """Whether Spark has Delta Lake's jars."""
    session: Any = spark
    loader = session._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        loader.loadClass(DELTA_CLASS)
    except Py4JJavaError:
        return False
    return True
