"""Messages of a range, as `route()` takes them: from `tbmq.msg.all`, or from the archive that a sink has made of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

from contracts.archive import DELTA_CLASS, DELTA_LOG, DELTA_PACKAGE, ArchiveFormat
from contracts.kafka_topics import KafkaTopics
from routing.errors import ReplayError
from routing.moments import Moment, record_time
from routing.records import source_options

_SLACK = timedelta(days=1)
"""The archive's dates may be of another zone than ours."""


def read_range(
    spark: SparkSession,
    bootstrap: str,
    topics: KafkaTopics,
    starts: Mapping[int, int],
    ends: Mapping[int, int],
) -> DataFrame:
    """Records of `tbmq.msg.all` from some offsets up to others, by partition, as a batch."""
    options = source_options(bootstrap, topics) | {
        "startingOffsets": json.dumps({topics.publishes: starts}),
        "endingOffsets": json.dumps({topics.publishes: ends}),
    }
    return spark.read.format("kafka").options(**options).load()


def read_archive(spark: SparkSession, path: str, start: Moment, end: Moment) -> DataFrame:
    """Records of an archive between two moments: Kafka's columns, and `date` and `hour` to find them by.

    Raises:
        ReplayError: It is a table of Delta Lake, which this Spark has not.
    """
    records = spark.read.format(_format(spark, path)).load(path)
    conditions = [~before(start), before(end)]
    if "date" in records.columns:
        if (at := record_time(start.at_ms)) is not None:
            conditions.append(F.col("date").cast("date") >= F.lit((at - _SLACK).date()))
        if (at := record_time(end.at_ms)) is not None:
            conditions.append(F.col("date").cast("date") <= F.lit((at + _SLACK).date()))
    for condition in conditions:
        records = records.where(condition)
    return records


def _format(spark: SparkSession, path: str) -> ArchiveFormat:
    """Parquet, or Delta Lake: read as Parquet, such a table would show what it has left out, too."""
    session: Any = spark  # its bridge is the only way to Spark's file systems
    jvm = session._jvm
    log = jvm.org.apache.hadoop.fs.Path(path, DELTA_LOG)
    if not log.getFileSystem(session._jsc.hadoopConfiguration()).exists(log):
        return ArchiveFormat.PARQUET
    try:
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(DELTA_CLASS)
    except Py4JJavaError:
        raise ReplayError(
            f"{path} is a table of Delta Lake: give Spark the package {DELTA_PACKAGE} and its settings"
        ) from None
    return ArchiveFormat.DELTA


def before(moment: Moment) -> Column:
    """Whether a record stands before a moment; for columns partition, offset, timestamp. A partition not named: no."""
    if moment.offsets is not None:
        return before_offsets(dict(moment.offsets))
    if moment.at_ms is not None:
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=moment.at_ms)
        return F.col("timestamp") < F.lit(at)
    return F.lit(moment.end == "latest")


def before_offsets(ends: Mapping[int, int]) -> Column:
    """Whether a record stands before its partition's offset; a partition without one: no."""
    found = F.lit(False)
    for partition, end in sorted(ends.items()):
        found = found | ((F.col("partition") == partition) & (F.col("offset") < end))
    return found
