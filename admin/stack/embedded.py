"""The whole broker on one machine, for `sluicemq up`, the demo, tests and bench.

Kafka, the store, the router, the gateways, the sinks, the administration: each a process that is restarted when it
dies. So are the master and the workers of a Spark cluster, where the router and the sinks are to run on one.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from admin.errors import AdminError
from admin.kafka_topics import topic_administration
from admin.stack import administration, gateway, kafka, router, sink, spark_cluster, valkey
from admin.stack.administration import Administration, administration_at
from admin.stack.data_folder import DataFolder, locked_data_folder
from admin.stack.gateway import MqttAddress, gateway_addresses, gateway_part
from admin.stack.jars import ensure_jars
from admin.stack.java import find_java
from admin.stack.kafka import KafkaBroker
from admin.stack.metrics import MetricsPorts
from admin.stack.ports import LOOPBACK, free_ports, require_free
from admin.stack.router import router_part, slots_for
from admin.stack.sink import Sinks, check_stores, sink_part
from admin.stack.spark_cluster import SparkCluster
from admin.stack.supervisor import Supervisor
from admin.stack.valkey import ValkeyServer
from admin.stack.wheel import build_wheel
from contracts.archive import ArchiveFormat
from contracts.kafka_topics import KafkaTopic, KafkaTopics

_READY_MARKS = {
    "kafka": kafka.STARTED,
    "valkey": valkey.STARTED,
    "router": router.STARTED,
    "sink": sink.STARTED,
    "admin": administration.STARTED,
    "spark-master": spark_cluster.MASTER_STARTED,
}
_READY_MARK_OF_GATEWAY = gateway.ROUTED


@dataclass(frozen=True)
class StackOptions:
    """What a stack is to be like."""

    data: Path
    gateways: int = 2
    host: str = LOOPBACK
    port: int = 0
    """Of the first gateway, the others follow it; 0 takes free ones."""
    websocket_port: int = 0
    """The same for MQTT over WebSocket."""
    kafka_port: int = 0
    """0 takes a free one."""
    kafka_heap: int = kafka.HEAP_MIB
    """MiB of Kafka's heap."""
    partitions: int = 4
    """Of `tbmq.msg.all`."""
    batch_seconds: int | None = None
    """Length of the router's batches; None leaves it to the router."""
    persistence: bool = True
    """Whether there are a store and a sink, so that sessions outlive their connections."""
    store: str | None = None
    """The store's URL; None: a Valkey server of the stack's own."""
    archive: str | None = None
    """Where all messages are archived: a path, or a URI that Spark knows; None: nowhere."""
    archive_format: ArchiveFormat = ArchiveFormat.PARQUET
    message_store: str | None = None
    """URL of the database of confirmed messages; None: there is none."""
    statistics: bool = False
    """Whether what gateways count is kept in SQL."""
    statistics_store: str | None = None
    """URL of the database of statistics; None: an SQLite file of the stack's own."""
    gateway_settings: Mapping[str, str] = field(default_factory=dict)
    """Further settings of the gateways, by the names of environment variables that docs/configuration.md lists."""
    administration: bool = False
    """Whether there is one: the web console and its API."""
    administration_port: int = 0
    """0 takes a free one."""
    database: str | None = None
    """URL of the database of identity for gateways and administration; None: one of the stack's own, for these two."""
    spark_workers: int = 0
    """Of a Spark standalone cluster that router and sinks run on; 0: each in a JVM of its own, without a cluster."""


@dataclass(frozen=True)
class Stack:
    """A running stack. Its parts are named `kafka`, `valkey`, `router`, `sink`, `gw1`, `gw2` and so on.

    With a Spark cluster also `spark-master`, `spark-worker1` and so on.
    """

    mqtt: list[MqttAddress]
    kafka: str
    """Bootstrap servers."""
    data: Path
    supervisor: Supervisor
    store: str | None = None
    """The store's URL; None without persistence."""
    statistics: str | None = None
    """URL of the database with what gateways have counted; None where it is not kept."""
    metrics: Mapping[str, str] = field(default_factory=dict)
    """By part, the URL of its metrics; `/health/ready` is beside it."""
    administration: Administration | None = None
    """Where the web console and the API are. The stack is ready before they are: `wait_ready("admin")`."""

    def pid(self, part: str) -> int:
        """The process id of a part: for `router` its JVM, whose child is the job's Python."""
        return self.supervisor.pid(part)

    def kill(self, part: str) -> int:
        """`kill -9` a part's process; the supervisor restarts it. Returns what `wait_restarted` wants."""
        restarts = self.supervisor.restarts(part)
        os.kill(self.pid(part), signal.SIGKILL)
        return restarts

    def pause(self, part: str) -> None:
        """SIGSTOP a part, with all that it has started."""
        self.supervisor.signal(part, signal.SIGSTOP)

    def resume(self, part: str) -> None:
        """SIGCONT a part, with all that it has started."""
        self.supervisor.signal(part, signal.SIGCONT)

    def restarts(self, part: str) -> int:
        """How often a part has been restarted since the stack started."""
        return self.supervisor.restarts(part)

    def wait_restarted(self, part: str, restarts: int, seconds: float = 120.0) -> None:
        """Wait until a part has been restarted more than so many times, and is ready again.

        Raises:
            PartError: It was not in so many seconds.
        """
        self.supervisor.wait_for_restart(part, restarts, _ready_mark(part), seconds)

    def wait_ready(self, part: str, seconds: float = 120.0) -> None:
        """Wait until a part's present run is ready.

        Raises:
            PartError: It was not in so many seconds, or died again and again.
        """
        self.supervisor.wait_for(part, _ready_mark(part), seconds)


def _ready_mark(part: str) -> str:
    if part.startswith("spark-worker"):
        return spark_cluster.WORKER_STARTED
    return _READY_MARKS.get(part, _READY_MARK_OF_GATEWAY)


@contextmanager
def embedded_stack(
    options: StackOptions, on_event: Callable[[str], None] = lambda _event: None
) -> Iterator[Stack]:
    """Run a stack: ready when the block begins, gone without a trace but its data when it has ended.

    What can be checked is checked before anything is started.

    Args:
        options: What it is to be like.
        on_event: Told, in one line each, how the start gets on, and of parts that die and are restarted.

    Raises:
        UsageError: The data folder cannot be written, a port is in use, or the store cannot be used.
        AdminError: A stack already runs on the folder; Java or the jars are missing; a part did not start.
    """
    with locked_data_folder(options.data) as data:
        mqtt = gateway_addresses(options.gateways, options.host, options.port, options.websocket_port)
        find_java()
        ensure_jars()
        kafka_port, controller_port = free_ports(2)
        if options.kafka_port:
            kafka_port = options.kafka_port
            require_free(LOOPBACK, kafka_port)
        broker = KafkaBroker(data.kafka, kafka_port, controller_port, options.kafka_heap)
        own_store = None
        if options.persistence and options.store is None:
            own_store = ValkeyServer(data.valkey, *free_ports(1))
        sinks = _sinks(options, data, own_store)
        administered = _administration(options, data)
        if administered:
            database = {"SLUICEMQ_DATABASE": administered.database}
            options = replace(options, gateway_settings=database | dict(options.gateway_settings))
        jobs = ["router", *(["sink"] if sinks else []), *(["admin"] if administered else [])]
        metrics = MetricsPorts([*(address.node for address in mqtt), *jobs])
        with Supervisor(data.logs, [data.lock], on_event) as supervisor:
            if own_store:
                supervisor.start(own_store.prepare())
            cluster = _start_cluster(supervisor, data, options, sinks) if options.spark_workers else None
            _start(supervisor, broker, data, mqtt, options, sinks.store, cluster, metrics, on_event)
            if administered:
                supervisor.start(metrics.observed(administered.part(broker.bootstrap, sinks.urls)))
            if sinks:
                # Last, and not waited for: nobody needs sinks to be quick, and their start takes CPU from all others.
                supervisor.start(metrics.observed(sink_part(data, broker.bootstrap, sinks, cluster=cluster)))
            yield Stack(
                mqtt, broker.bootstrap, data.path, supervisor, sinks.store, sinks.statistics, metrics.urls,
                administered,
            )  # fmt: skip


def _administration(options: StackOptions, data: DataFolder) -> Administration | None:
    if not options.administration:
        return None
    database = options.database or data.identity
    return administration_at(options.host, options.administration_port, database)


def _sinks(options: StackOptions, data: DataFolder, own_store: ValkeyServer | None) -> Sinks:
    """Which sinks there are to be; raises UsageError where one could not write."""
    check_stores(options.store, options.message_store, options.statistics_store)
    return Sinks(
        own_store.url if own_store else options.store,
        options.archive,
        options.archive_format,
        options.message_store,
        (options.statistics_store or data.statistics) if options.statistics else None,
    )


def _start_cluster(
    supervisor: Supervisor, data: DataFolder, options: StackOptions, sinks: Sinks
) -> SparkCluster:
    # Each worker could carry everything, so that one is enough while another is away.
    cores = slots_for(options.partitions) + sinks.slots
    wheel = build_wheel(data.path / "wheel")
    cluster = SparkCluster(data.spark, free_ports(1)[0], wheel, options.spark_workers, cores)
    supervisor.start(cluster.master())
    for number in range(1, cluster.workers + 1):
        supervisor.start(cluster.worker(number))
    supervisor.wait_for("spark-master", spark_cluster.MASTER_STARTED, spark_cluster.SECONDS_TO_START)
    return cluster


def _start(
    supervisor: Supervisor,
    broker: KafkaBroker,
    data: DataFolder,
    mqtt: list[MqttAddress],
    options: StackOptions,
    store: str | None,
    cluster: SparkCluster | None,
    metrics: MetricsPorts,
    on_event: Callable[[str], None],
) -> None:
    began_at = time.monotonic()

    def tell(what: str) -> None:
        on_event(f"{what} ({time.monotonic() - began_at:.1f} s)")

    job_options = () if options.batch_seconds is None else ("--batch-seconds", str(options.batch_seconds))
    supervisor.start(broker.prepare())
    # Both JVMs take seconds to load their classes, so they do it together; the router waits for Kafka and its topics.
    job = router_part(data, broker.bootstrap, options.partitions, job_options, cluster)
    supervisor.start(metrics.observed(job))
    supervisor.wait_for("kafka", kafka.STARTED, kafka.SECONDS_TO_START)
    _create_topics(broker.bootstrap, mqtt, options, data)
    tell(f"Kafka is up on {broker.bootstrap}")
    if store is not None and options.store is None:
        supervisor.wait_for("valkey", valkey.STARTED, valkey.SECONDS_TO_START)
    for address in mqtt:
        part = gateway_part(address, broker.bootstrap, store, options.gateway_settings)
        supervisor.start(metrics.observed(part))
    for address in mqtt:
        supervisor.wait_for(address.node, gateway.LISTENING, gateway.SECONDS_TO_START)
        tell(
            f"Gateway {address.node} listens on {address.host}:{address.port}, WebSocket {address.websocket_port};"
            f" metrics {metrics.urls[address.node]}"
        )
    supervisor.wait_for("router", router.STARTED, router.SECONDS_TO_START)
    tell("The router's query runs")
    for address in mqtt:
        supervisor.wait_for(address.node, gateway.ROUTED, gateway.SECONDS_TO_START)
    tell("Messages go round")


def _create_topics(bootstrap: str, mqtt: list[MqttAddress], options: StackOptions, data: DataFolder) -> None:
    names = KafkaTopics()
    topics: list[KafkaTopic] = names.shared(publish_partitions=options.partitions)
    # A gateway would create its own when it starts; made here, they are there before the router first writes.
    topics += [topic for address in mqtt for topic in names.of_node(address.node)]
    with topic_administration(bootstrap) as administration:
        administration.create(topics)
        for difference in administration.differences(topics):
            if difference.setting == "partitions":
                raise AdminError(
                    f"The data in {data.path} has {difference.found} partitions in {difference.topic}, not"
                    f" {difference.wanted}: give that number, or another data folder."
                )
