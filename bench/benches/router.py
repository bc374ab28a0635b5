"""The router on a backlog, beside a plain copy by the same Spark, with a thousand and with a million routes."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from admin.kafka_topics import topic_administration
from admin.stack.data_folder import DataFolder
from admin.stack.kafka import running_kafka
from bench import router_job
from bench.environment import Environment
from bench.figures import Bars, Figure, Result, at_least, at_most
from bench.load.process import ROOT
from bench.router_job import COPY_NODE, NODES
from bench.routes import write_routes
from bench.stacks import PARTITIONS, spark_command
from bench.statistics import median
from contracts.kafka_topics import KafkaTopics
from contracts.publish_record import PublishRecord, encode_headers

_SMALL = 1_000
_MEMORY = "2g"
_SECONDS = 900.0


@dataclass(frozen=True)
class Table:
    """One size of the subscription table: a Kafka topic prefix of its own, and a backlog that is spread over it."""

    routes: int

    @property
    def topics(self) -> KafkaTopics:
        """Its Kafka topics."""
        return KafkaTopics(f"bench-{self.routes}")

    @property
    def mqtt_topics(self) -> int:
        """Topics with two routes each: an exact filter on one node, one with a wildcard on the other."""
        return self.routes // 2

    def rows(self) -> Iterator[tuple[str, str]]:
        """(filter, node)."""
        for number in range(self.mqtt_topics):
            yield f"fleet/{number}/state", NODES[0]
            yield f"fleet/{number}/+", NODES[1]


def measure_router(environment: Environment) -> Result:
    """A million messages of 256 B, each for two nodes: available-now against a plain copy."""
    messages = environment.million
    result = Result("router", f"The router on a backlog of {messages:,} messages, 256 B, fan-out 2")
    environment.stop_stack()
    tables = [Table(_SMALL), Table(environment.million)]
    folder = environment.folder / "router"
    with running_kafka(folder / "kafka") as (broker, _):
        for table in tables:
            environment.tell(f"writing {messages:,} messages and {table.routes:,} routes")
            prepare_backlog(broker.bootstrap, table, messages)
        environment.tell("copying and routing, in turn")
        rounds = str(min(environment.rounds, 2))
        prefixes = [table.topics.prefix for table in tables]
        measured = run_spark(folder, broker.bootstrap, router_job.__file__, [rounds, *prefixes])
    small, large = (_Rates(measured[table.topics.prefix], messages) for table in tables)
    many = f"{tables[1].routes:,} routes"
    copies = [{"plain copy": table.copy, "copied twice": table.copy_twice} for table in (small, large)]
    result.figures = [
        Figure(
            "share of a plain copy's rate, 1,000 routes", 100 * small.route / small.copy, "%", at_least(80.0)
        ),
        Figure("routed, 1,000 routes", small.route, "msg/s", None, copies[0]),
        Figure(f"routed, {many}", large.route, "msg/s", None, copies[1]),
        Figure(
            f"time per message, {many} against 1,000",
            large.message_us / small.message_us,
            "×",
            at_most(1.3),
            {},
            f"{large.message_us:.1f} against {small.message_us:.1f} µs, without each run's fixed"
            f" {large.fixed:.1f} and {small.fixed:.1f} s",
        ),
    ]
    rates = {"plain copy": small.copy, "plain copy, written twice": small.copy_twice}
    rates |= {"router, 1,000 routes": small.route, f"router, {many}": large.route}
    result.plots = [Bars(result.title, "messages per second", rates, 0.8 * small.copy)]
    result.details = measured
    return result


class _Rates:
    """Medians of what the Spark job measured on one table."""

    def __init__(self, measured: dict[str, Any], messages: int) -> None:
        self.copy = messages / median(measured["copy"])
        self.copy_twice = messages / median(measured["copy_twice"])
        whole = median(measured["route"])
        self.route = messages / whole
        self.fixed = median(measured["route_nothing"])
        """Seconds that a run takes with next to nothing to route."""
        self.message_us = (whole - self.fixed) / messages * 1e6


def prepare_backlog(
    bootstrap: str, table: Table, messages: int, more: Iterable[tuple[str, str]] = ()
) -> None:
    """Create the Kafka topics of a table, and write it, more routes, and a backlog of messages of 256 B."""
    topics = table.topics
    with topic_administration(bootstrap) as administration:
        administration.create(topics.shared(publish_partitions=PARTITIONS))
        for node in (*NODES, COPY_NODE):
            administration.create(topics.of_node(node))
    write_routes(bootstrap, topics, itertools.chain(table.rows(), more))
    write_backlog(bootstrap, topics.publishes, messages, table.mqtt_topics)


def write_backlog(bootstrap: str, kafka_topic: str, messages: int, mqtt_topics: int) -> None:
    """Write messages of 256 bytes, as a gateway would.

    Raises:
        RuntimeError: Kafka did not take them.
    """
    producer = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 20, "partitioner": "murmur2_random"}
        | {"queue.buffering.max.messages": 500_000}
    )
    payload = os.urandom(256)
    headers = encode_headers(PublishRecord("", payload, "backlog", "gw1", 1))
    for number in range(messages):
        # A large step spreads the messages over the table, so that no cache makes a large one look small.
        topic = f"fleet/{number * 7_919 % mqtt_topics}/state"
        while True:
            try:
                producer.produce(kafka_topic, payload, topic.encode(), headers=headers)  # type: ignore[arg-type] # invariance only
                break
            except BufferError:
                producer.poll(0.1)
        if number % 1_000 == 0:
            producer.poll(0)
    if producer.flush(60):
        raise RuntimeError("Kafka did not take the backlog")


def run_spark(
    folder: Path,
    bootstrap: str,
    script: str,
    others: list[str],
    seconds: float = _SECONDS,
    jars: Sequence[Path] = (),
) -> dict[str, Any]:
    """Run a Spark job with the router's settings; its arguments: bootstrap, checkpoints, output, and others.

    It may take so many seconds, and has these jars beside the connector.
    """
    data = DataFolder(folder, lock=-1)
    output = folder / "measured.json"
    arguments = [bootstrap, str(folder / "checkpoints"), str(output), *others]
    part = spark_command(data, bootstrap, _MEMORY, Path(script), arguments)
    program, *options = part.command
    added = ["--jars", ",".join(map(str, jars))] if jars else []
    variables = {**os.environ, **part.environment, "PYTHONPATH": str(ROOT)}
    log = folder / "spark.log"
    with log.open("wb") as sink:
        done = subprocess.run(
            [program, *added, *options],
            stdout=sink,
            stderr=subprocess.STDOUT,
            env=variables,
            cwd=ROOT,
            timeout=seconds,
        )
    if done.returncode:
        raise RuntimeError(f"the Spark job failed: {log.read_text()[-2_000:]}")
    return dict(json.loads(output.read_text()))
