"""A Spark job that routes one backlog and one stream with each of several hooks in turn, in one JVM.

Run by spark-submit with the router's settings (bench.benches.hooks); arguments: bootstrap, a folder, the file for the
result, rounds, the number of messages, the Kafka topic prefix, and files of hooks, of which `-` is none.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from bench.processes import CpuMeter
from bench.routed_stream import RoutedStream
from bench.router_job import NODES, Job
from contracts.kafka_topics import KafkaTopics
from routing.hooks.hooks import Hooks
from routing.records import write_records
from routing.routes.kafka import RouteLog
from routing.sources import register_sources

NONE = "-"
_WARM_UP, _SECONDS = 4.0, 10.0
"""Of the stream."""


class HookedJob:
    """One backlog, and what is measured of it with one hook."""

    def __init__(self, spark: SparkSession, bootstrap: str, folder: Path, prefix: str, file: str) -> None:
        self._bootstrap, self._topics = bootstrap, KafkaTopics(prefix)
        self._job = Job(spark, bootstrap, folder, prefix)
        self._folder = folder / f"live-{Path(file).stem}"
        self._hooks = None if file == NONE else Hooks.load(spark, Path(file), self._topics)

    def drain(self) -> dict[str, float]:
        """Seconds, and CPU seconds of the JVM, without those of a run that has next to nothing to do."""
        # spark-submit is a JVM, and this Python its child.
        meter = CpuMeter({"jvm": os.getppid()})
        seconds, checkpoint = self._job.drain(lambda: self._job.route(self._hooks))
        used = meter.seconds()["jvm"]
        self._job.publish_little()
        meter = CpuMeter({"jvm": os.getppid()})
        nothing, _ = self._job.drain(lambda: self._job.route(self._hooks), checkpoint)
        return {"seconds": seconds - nothing, "cpu": used - meter.seconds()["jvm"]}

    def latencies(self, number: int) -> list[float]:
        """Of messages through a real-time query, in seconds."""
        log = RouteLog(self._bootstrap, self._topics.publishes)
        ends = {partition: log.bounds(partition)[1] for partition in range(log.partitions())}
        records = self._job.route(self._hooks, ends)
        writer = write_records(records, self._bootstrap, str(self._folder / str(number)))
        query = writer.trigger(realTime="300 seconds").start()  # type: ignore[call-overload]
        try:
            with RoutedStream(self._bootstrap, self._topics, NODES[0]) as stream:
                stream.wait_first(120.0)
                time.sleep(_WARM_UP)
                since = time.monotonic()
                time.sleep(_SECONDS)
                until = time.monotonic()
                time.sleep(1.0)  # The last of them come.
        finally:
            query.stop()
        return [one.latency for one in stream.samples() if since <= one.sent_at < until]


def main(bootstrap: str, folder: str, output: str, rounds: str, prefix: str, *files: str) -> None:
    """Measure all hooks."""
    spark = SparkSession.builder.appName("sluicemq-bench").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    register_sources(spark)
    jobs = {file: HookedJob(spark, bootstrap, Path(folder), prefix, file) for file in files}
    found: dict[str, dict[str, list[Any]]] = {file: {"drained": [], "latencies": []} for file in files}
    jobs[files[0]].drain()  # The JVM compiles what it runs first.
    for number in range(int(rounds)):
        for file, job in jobs.items():
            found[file]["drained"].append(job.drain())
            found[file]["latencies"] += job.latencies(number)
    Path(output).write_text(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
