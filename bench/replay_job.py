"""A Spark job that replays a backlog into other Kafka topics, and reads it as a table in both ways.

Run by spark-submit with the router's settings (bench.benches.replay); arguments: bootstrap, a folder, the file for the
result, the number of messages, how many of them Python reads, and the Kafka topic prefix.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from bench.jvm import SizeWatch, live_heap_bytes
from bench.processes import resident_bytes
from contracts.kafka_topics import KafkaTopics
from routing.moments import encode_offsets
from routing.replay.replay import Replay
from routing.replay.run import ReplayRequest, run_replay
from routing.routes.kafka import RouteLog
from routing.sources import register_sources
from routing.transforms.messages import read_messages

INTO = "bench-replayed"
_SECONDS_BETWEEN = 1.0
_SECONDS_BETWEEN_COLLECTIONS = 5.0
"""Each takes the job a tenth of a second."""


def timed(frame: DataFrame) -> float:
    """Seconds to compute all columns of all rows."""
    began_at = time.monotonic()
    frame.write.format("noop").mode("overwrite").save()
    return time.monotonic() - began_at


def main(bootstrap: str, folder: str, output: str, messages: str, by_python: str, prefix: str) -> None:
    """Measure."""
    spark = SparkSession.builder.appName("sluicemq-bench").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    register_sources(spark)
    topics = KafkaTopics(prefix)
    partitions = RouteLog(bootstrap, topics.publishes).partitions()
    part = encode_offsets(dict.fromkeys(range(partitions), int(by_python) // partitions))
    native = read_messages(Replay(spark, bootstrap, topics).messages())
    source = spark.read.format("mqtt_messages").option("kafka", bootstrap).option("topic_prefix", prefix)
    timed(native.limit(10_000))  # The JVM compiles what it runs first.
    measured: dict[str, object] = {
        "native": timed(native),
        "python": timed(source.option("end", part).load()),
    }
    # spark-submit is a JVM, and this Python its child.
    jvm = os.getppid()
    with (
        SizeWatch(resident_bytes, jvm, _SECONDS_BETWEEN) as resident,
        SizeWatch(live_heap_bytes, jvm, _SECONDS_BETWEEN_COLLECTIONS) as alive,
    ):
        began_at = time.monotonic()
        request = ReplayRequest(bootstrap, prefix, INTO, "earliest", "latest", "latest")
        run_replay(spark, request, str(Path(folder) / "replay"))
        measured |= {"replay": time.monotonic() - began_at, "messages": int(messages)}
    measured |= {"memory": resident.sizes, "heap": alive.sizes}
    Path(output).write_text(json.dumps(measured))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
