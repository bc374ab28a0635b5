"""The archive as a table of Delta Lake: its log is the commits, and each tells how far the table has the log of Kafka.

Needs the package `delta-spark` and its jars in Spark, and asks for them only where it is wanted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession

from sinks.archive.compaction import CompactionSettings
from sinks.archive.destination import check_begins
from sinks.archive.records import PARTITION_COLUMNS
from sinks.errors import DeltaMissingError
from sinks.running import SparkSettings

PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"
"""The jars for the Spark that this runs on."""
SPARK_SETTINGS: SparkSettings = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
_POSITIONS = "sluicemq-positions"
_COMPACTION_SECONDS = 3_600.0
"""Between two compactions: each looks at the files of all hours that are over."""


def is_available(spark: SparkSession) -> bool:
    """Whether Delta Lake is installed, the package and the jars."""
    session: Any = spark
    try:
        import delta  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: F401

        session._jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(
            "io.delta.tables.DeltaTable"
        )
    except (ImportError, Py4JError):
        return False
    return True


class DeltaArchive:
    """See the protocol, `sinks.archive.destination.Archive`."""

    def __init__(self, spark: SparkSession, place: str, compaction: CompactionSettings) -> None:
        """Open the table in `place`, a path or URI; made with the first batch.

        Raises:
            DeltaMissingError: Delta Lake is not installed.
        """
        if not is_available(spark):
            raise DeltaMissingError(PACKAGE)
        from delta.tables import DeltaTable  # type: ignore[import-not-found,import-untyped,unused-ignore]

        self._tables: Any = DeltaTable
        self._spark = spark
        self._place = place
        self._compaction = compaction
        self._compacted_at: float | None = None

    def positions(self) -> dict[int, int]:
        """See the protocol. Of the newest commit that tells; others may commit to the table as well."""
        if not self._tables.isDeltaTable(self._spark, self._place):
            return {}
        told = self._tables.forPath(self._spark, self._place).history().select("version", "userMetadata")
        newest = told.where(told["userMetadata"].startswith(f'{{"{_POSITIONS}"')).orderBy(
            "version", ascending=False
        )
        row = newest.first()
        found = {} if row is None else json.loads(row.userMetadata)[_POSITIONS]
        return {int(partition): offset for partition, offset in found.items()}

    def append(self, records: DataFrame, begins: Mapping[int, int], ends: Mapping[int, int]) -> None:
        """See the protocol.

        Delta refuses the commit of one transaction of a name (`txnAppId`) where another of that name came in between.
        """
        check_begins(self.positions(), begins)
        (
            records.write.format("delta")
            .mode("append")
            .partitionBy(*PARTITION_COLUMNS)
            .option("userMetadata", _encode(ends))
            .option("txnAppId", "sluicemq-archive")
            .option("txnVersion", str(sum(ends.values())))
            .save(self._place)
        )

    def compact(self) -> int:
        """Have Delta put the files of the days that are over together, once an hour; what it left out, it keeps."""
        now = time.monotonic()
        is_due = self._compacted_at is None or now - self._compacted_at >= _COMPACTION_SECONDS
        if not is_due or not self._tables.isDeltaTable(self._spark, self._place):
            return 0
        self._compacted_at = now
        over = time.gmtime(self._compaction.clock() - self._compaction.settle_seconds)
        today = time.strftime("%Y-%m-%d", over)
        # Its commit tells no positions: an append may come in between, and then they would be the old ones.
        metrics = (
            self._tables.forPath(self._spark, self._place)
            .optimize()
            .where(f"date < '{today}' OR (date = '{today}' AND hour < '{over.tm_hour:02}')")
            .executeCompaction()
        )
        return int(metrics.select("metrics.numFilesRemoved").first()[0])


def _encode(positions: Mapping[int, int]) -> str:
    return json.dumps({_POSITIONS: dict(positions)})
