"""A Spark job that copies and routes backlogs in turn, in one JVM: the router's own plan, source and sink.

Run by spark-submit with the router's settings (bench.benches.router); arguments: bootstrap, a folder for checkpoints,
the file for the result, rounds, and the Kafka topic prefixes to measure. Each prefix has a backlog and a subscription
table of its own.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

from contracts.kafka_topics import KafkaTopics
from routing.job import join_shapes
from routing.pipeline import Hooking, route
from routing.records import stream_publishes, write_records
from routing.routes.datasource import MqttRoutes
from routing.survey import survey_table

NODES = ("bench-a", "bench-b")
"""Each message goes to both."""
COPY_NODE = "bench-copy"
"""Where the copies go: a Kafka topic of the same kind."""

_numbers = itertools.count()


class Job:
    """One prefix's backlog, and the ways of draining it."""

    def __init__(self, spark: SparkSession, bootstrap: str, folder: Path, prefix: str) -> None:
        self._spark, self._bootstrap = spark, bootstrap
        self._folder = folder / prefix
        self._topics = KafkaTopics(prefix)

    def copy(self) -> DataFrame:
        """Each record once, as it is."""
        return self._publishes().select(
            F.lit(self._topics.downlink(COPY_NODE)).alias("topic"), "key", "value", "headers"
        )

    def copy_twice(self) -> DataFrame:
        """Each record twice: as many as the router writes."""
        twice = F.explode(F.array(*(F.lit(self._topics.downlink(node)) for node in (COPY_NODE, NODES[0]))))
        return self._publishes().select(twice.alias("topic"), "key", "value", "headers")

    def route(self, hooks: Hooking | None = None, offsets: Mapping[int, int] | None = None) -> DataFrame:
        """The router's plan; from these offsets on, of a stream that has no end, or of all that is there."""
        snapshots = self._folder / "snapshots"
        shapes = survey_table(self._bootstrap, self._topics, snapshots).shapes
        routes = (
            self._spark.read.format(MqttRoutes.name())
            .option("kafka", self._bootstrap)
            .option("topic_prefix", self._topics.prefix)
            .option("snapshot_dir", str(snapshots))
            .option("shapes", join_shapes(shapes))
            .load()
        )
        ordered = sorted(shapes, key=lambda shape: shape.text)
        publishes = self._publishes() if offsets is None else self._live(offsets)
        return route(publishes, routes, ordered, self._topics, generation=1, hooks=hooks)

    def drain(self, records: Callable[[], DataFrame], checkpoint: str = "") -> tuple[float, str]:
        """Write all that is there, available-now; returns the seconds it took and the checkpoint, to go on from."""
        checkpoint = checkpoint or str(self._folder / f"checkpoint-{next(_numbers)}")
        frame = records()
        began_at = time.monotonic()
        query = write_records(frame, self._bootstrap, checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
        return time.monotonic() - began_at, checkpoint

    def publish_little(self) -> None:
        """One more message for each partition."""
        producer = Producer({"bootstrap.servers": self._bootstrap})
        for partition in range(4):
            producer.produce(self._topics.publishes, b"", b"fleet/0/state", partition)
        producer.flush(30)

    def _live(self, offsets: Mapping[int, int]) -> DataFrame:
        return stream_publishes(self._spark, self._bootstrap, self._topics, bounded=False, offsets=offsets)

    def _publishes(self) -> DataFrame:
        return stream_publishes(self._spark, self._bootstrap, self._topics, bounded=True)


def measure(job: Job, rounds: int) -> dict[str, list[float]]:
    """Seconds of each round, after one that warms up the JVM and the page cache."""
    found: dict[str, list[float]] = {"copy": [], "copy_twice": [], "route": [], "route_nothing": []}
    for number in range(rounds + 1):
        copied, _ = job.drain(job.copy)
        copied_twice, _ = job.drain(job.copy_twice) if number else (0.0, "")
        routed, checkpoint = job.drain(job.route)
        job.publish_little()
        nothing, _ = job.drain(job.route, checkpoint)
        if number:
            for name, seconds in zip(found, (copied, copied_twice, routed, nothing), strict=True):
                found[name].append(seconds)
    return found


def main(bootstrap: str, folder: str, output: str, rounds: str, *prefixes: str) -> None:
    """Measure all prefixes."""
    spark = SparkSession.builder.appName("sluicemq-bench").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.dataSource.register(MqttRoutes)
    measured = {
        prefix: measure(Job(spark, bootstrap, Path(folder), prefix), int(rounds)) for prefix in prefixes
    }
    Path(output).write_text(json.dumps(measured))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
