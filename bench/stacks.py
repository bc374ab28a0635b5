"""Stacks to measure on: the embedded one as users get it, one with a large subscription table, and a sink alone."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from admin.kafka_topics import topic_administration
from admin.stack import gateway, kafka, router, sink, valkey
from admin.stack.data_folder import DataFolder, locked_data_folder
from admin.stack.embedded import Stack, StackOptions, embedded_stack
from admin.stack.gateway import MqttAddress, gateway_part
from admin.stack.kafka import KafkaBroker
from admin.stack.ports import LOOPBACK, free_ports
from admin.stack.router import router_part
from admin.stack.sink import Sinks, sink_part
from admin.stack.supervisor import Part, Supervisor
from admin.stack.valkey import ValkeyServer
from bench.routes import NODE, create_node, mixed_filters, write_routes
from contracts.kafka_topics import KafkaTopics

PARTITIONS = 4
"""Of `tbmq.msg.all`, as in the embedded stack."""


@contextmanager
def stack_with_routes(folder: Path, routes: int, batch_seconds: int) -> Iterator[Stack]:
    """The embedded stack with two gateways, and so many routes besides what clients subscribe."""
    with embedded_stack(StackOptions(folder, batch_seconds=batch_seconds, partitions=PARTITIONS)) as stack:
        topics = KafkaTopics()
        create_node(stack.kafka, topics)
        write_routes(stack.kafka, topics, ((filter, NODE) for filter in mixed_filters(routes)))
        yield stack


@contextmanager
def large_stack(folder: Path, routes: int, batch_seconds: int, router_memory: str) -> Iterator[Stack]:
    """The same with a router of more memory, and the routes there before it and the gateways start."""
    topics = KafkaTopics()
    kafka_port, controller_port, *ports = free_ports(4)
    mqtt = [MqttAddress(f"gw{number}", LOOPBACK, port) for number, port in enumerate(ports, 1)]
    broker = KafkaBroker(folder / "kafka", kafka_port, controller_port)
    with locked_data_folder(folder) as data, Supervisor(data.logs, [data.lock]) as supervisor:
        supervisor.start(broker.prepare())
        supervisor.wait_for("kafka", kafka.STARTED, kafka.SECONDS_TO_START)
        with topic_administration(broker.bootstrap) as administration:
            administration.create(topics.shared(publish_partitions=PARTITIONS))
            for node in (NODE, *(address.node for address in mqtt)):
                administration.create(topics.of_node(node))
        write_routes(broker.bootstrap, topics, ((filter, NODE) for filter in mixed_filters(routes)))
        job_options = ("--batch-seconds", str(batch_seconds))
        part = router_part(data, broker.bootstrap, PARTITIONS, job_options)
        supervisor.start(with_memory(part, router_memory))
        for address in mqtt:
            supervisor.start(gateway_part(address, broker.bootstrap))
        supervisor.wait_for("router", router.STARTED, router.SECONDS_TO_START)
        for address in mqtt:
            supervisor.wait_for(address.node, gateway.ROUTED, gateway.SECONDS_TO_START)
        yield Stack(mqtt, broker.bootstrap, data.path, supervisor)


@dataclass(frozen=True)
class SinkStack:
    """Kafka, a store, and the sink between them; no router, no gateways."""

    kafka: str
    store: str
    store_folder: Path
    partitions: int
    """Of `tbmq.msg.persisted`."""
    supervisor: Supervisor

    @property
    def sink_pid(self) -> int:
        """The sink's JVM; its Python is a descendant."""
        return self.supervisor.pid("sink")

    def pause(self) -> None:
        """Let the sink stand still."""
        self.supervisor.signal("sink", signal.SIGSTOP)

    def resume_and_time(self, wait: Callable[[], None]) -> float:
        """Let it go on; returns the seconds until `wait` returns."""
        began_at = time.monotonic()
        self.supervisor.signal("sink", signal.SIGCONT)
        wait()
        return time.monotonic() - began_at


@contextmanager
def sink_stack(folder: Path) -> Iterator[SinkStack]:
    """A sink as the embedded stack has it, ready, its log empty."""
    kafka_port, controller_port, store_port = free_ports(3)
    broker = KafkaBroker(folder / "kafka", kafka_port, controller_port)
    server = ValkeyServer(folder / "valkey", store_port)
    shared = KafkaTopics().shared()
    (persisted,) = (topic for topic in shared if topic.name == KafkaTopics().persisted)
    with locked_data_folder(folder) as data, Supervisor(data.logs, [data.lock]) as supervisor:
        supervisor.start(server.prepare())
        supervisor.start(broker.prepare())
        supervisor.wait_for("valkey", valkey.STARTED, valkey.SECONDS_TO_START)
        supervisor.wait_for("kafka", kafka.STARTED, kafka.SECONDS_TO_START)
        with topic_administration(broker.bootstrap) as administration:
            administration.create(shared)
        supervisor.start(sink_part(data, broker.bootstrap, Sinks(server.url)))
        supervisor.wait_for("sink", sink.STARTED, sink.SECONDS_TO_START)
        yield SinkStack(broker.bootstrap, server.url, server.data, persisted.partitions, supervisor)


@dataclass(frozen=True)
class KafkaAlone:
    """Kafka with all Kafka topics, and nobody who uses them."""

    bootstrap: str
    data: DataFolder
    supervisor: Supervisor

    @contextmanager
    def gateway(self, node: str, settings: Mapping[str, str]) -> Iterator[tuple[MqttAddress, int]]:
        """A gateway for the time of the block: where it accepts clients, and its process id.

        Args:
            node: Its node id.
            settings: By the names of environment variables that docs/configuration.md lists.
        """
        address = MqttAddress(node, LOOPBACK, *free_ports(1))
        with topic_administration(self.bootstrap) as administration:
            administration.create(KafkaTopics().of_node(node))
        with Supervisor(self.data.logs, [self.data.lock]) as supervisor:
            supervisor.start(gateway_part(address, self.bootstrap, settings=settings))
            supervisor.wait_for(node, gateway.LISTENING, gateway.SECONDS_TO_START)
            yield address, supervisor.pid(node)


@contextmanager
def kafka_alone(folder: Path) -> Iterator[KafkaAlone]:
    """Kafka as the embedded stack has it, for gateways that are measured without a router."""
    kafka_port, controller_port = free_ports(2)
    broker = KafkaBroker(folder / "kafka", kafka_port, controller_port)
    with locked_data_folder(folder) as data, Supervisor(data.logs, [data.lock]) as supervisor:
        supervisor.start(broker.prepare())
        supervisor.wait_for("kafka", kafka.STARTED, kafka.SECONDS_TO_START)
        with topic_administration(broker.bootstrap) as administration:
            administration.create(KafkaTopics().shared(publish_partitions=PARTITIONS))
        yield KafkaAlone(broker.bootstrap, data, supervisor)


def with_memory(part: Part, memory: str) -> Part:
    """A router with another heap than the default, such as `2g`."""
    program, *options = part.command
    return replace(part, command=[program, "--driver-memory", memory, *options])


def spark_command(
    data: DataFolder, bootstrap: str, memory: str, script: Path, arguments: Sequence[str]
) -> Part:
    """Another Spark job with the router's very settings, so that the two can be compared."""
    part = with_memory(router_part(data, bootstrap, PARTITIONS), memory)
    words = list(part.command)
    job = next(place for place, word in enumerate(words) if word.endswith("job.py"))
    return replace(part, command=[*words[:job], str(script), *arguments])
