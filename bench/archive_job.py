"""A Spark job that archives a backlog and copies it into plain Parquet, in turn, in one JVM.

Run by spark-submit (bench.benches.archive); arguments: bootstrap, a folder for what is written, the file for the
result, rounds, the Kafka topic prefix, and the archive's format. Both read with the same options; the copy is Spark's
own file sink.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

from contracts.archive import DELTA_SETTINGS, ArchiveFormat
from contracts.kafka_topics import KafkaTopics
from sinks.archive.job import OFFSETS_PER_BATCH, SPARK_SETTINGS, Settings, supervised
from sinks.archive.records import RAW_COLUMNS
from sinks.log import log_ends, stream_log


def copy(spark: SparkSession, bootstrap: str, topic: str, place: Path) -> float:
    """Each record as it is, by Spark's own sink; seconds."""
    began_at = time.monotonic()
    starts = dict.fromkeys(log_ends(bootstrap, topic))
    records = stream_log(spark, bootstrap, topic, starts, OFFSETS_PER_BATCH).select(*RAW_COLUMNS)
    writer = records.writeStream.format("parquet").option("checkpointLocation", str(place / "checkpoint"))
    writer.trigger(availableNow=True).start(str(place / "copied")).awaitTermination()
    return time.monotonic() - began_at


def archive(spark: SparkSession, bootstrap: str, topics: KafkaTopics, place: Path, form: str) -> float:
    """The archive, from an empty folder to its last commit; seconds."""
    began_at = time.monotonic()
    settings = Settings(
        bootstrap, str(place / "archive"), topics, "available-now", format=ArchiveFormat(form)
    )
    supervised(spark, settings, lambda: None).run()
    return time.monotonic() - began_at


def main(bootstrap: str, folder: str, output: str, rounds: str, prefix: str, form: str) -> None:
    """Measure both, after one round that warms up the JVM and the page cache."""
    needs = {**SPARK_SETTINGS, **DELTA_SETTINGS} if form == ArchiveFormat.DELTA else SPARK_SETTINGS
    spark = SparkSession.builder.appName("sluicemq-bench").config(map=needs).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    topics = KafkaTopics(prefix)
    measured: dict[str, list[float]] = {"copy": [], "archive": []}
    rows = set()
    for number in range(int(rounds) + 1):
        place = Path(folder) / str(number)
        # Who comes first changes from round to round: what one leaves to collect, the other pays for.
        for name in sorted(measured, reverse=number % 2 == 0):
            seconds = (
                copy(spark, bootstrap, topics.publishes, place)
                if name == "copy"
                else archive(spark, bootstrap, topics, place, form)
            )
            if number:
                measured[name].append(seconds)
        rows.add(spark.read.parquet(str(place / "copied")).count())
        rows.add(spark.read.format(form).load(str(place / "archive")).count())
        shutil.rmtree(place)
    if len(rows) != 1:
        raise RuntimeError(f"not all rounds wrote the same number of rows: {sorted(rows)}")
    Path(output).write_text(json.dumps(measured))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
