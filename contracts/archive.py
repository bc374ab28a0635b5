"""The archive: what the sink writes, who starts it and replays must agree on, above all as a table of Delta Lake.

Delta Lake is no part of SluiceMQ. It is used where Spark has it (`DELTA_PACKAGE`, and a session with `DELTA_SETTINGS`).
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType


class ArchiveFormat(StrEnum):
    """What an archive may be, as Spark calls it."""

    PARQUET = "parquet"
    DELTA = "delta"


DELTA_PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"
"""The jars for the Spark that SluiceMQ runs on, as `--packages` takes them."""
DELTA_SETTINGS = MappingProxyType(
    {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # The table's state is spread over so many tasks; the default, 50, is for tables of millions of files.
        "spark.databricks.delta.snapshotPartitions": "4",
        # VACUUM looks for files in so many tasks. The default, 10,000, takes a minute and more on a few cores, however
        # small the table is, and batches wait behind it.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "16",
        # Two commits a day that tell no positions would, in a table that gets nothing else, push those that do out of
        # the log.
        "spark.databricks.delta.vacuum.logging.enabled": "false",
    }
)
"""What a session needs for it, from its start."""
DELTA_CLASS = "io.delta.sql.DeltaSparkSessionExtension"
"""Is there where the jars are."""
DELTA_LOG = "_delta_log"
"""Only a table of Delta Lake has a folder of this name."""
