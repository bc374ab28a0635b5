"""What this gateway tells of itself: under `$SYS`, in its history, and in the state that others see."""

from __future__ import annotations

from collections.abc import Callable

from contracts.publish_record import connection_headers
from contracts.state_record import Authentication
from edge.gateway.connection import Connection
from edge.gateway.kafka_clients import partition_count
from edge.gateway.node_life import NodeLife
from edge.gateway.system_topics.history import History
from edge.gateway.system_topics.node_state import NodeParts, NodeState, seen
from edge.gateway.system_topics.steady_records import SteadyRecords
from edge.gateway.system_topics.system_topics import SystemTopics
from edge.gateway.way_in import WayIn
from edge.mqtt.protocol import ProtocolVersion


class SelfReport:
    """What is published goes in as from a client without a socket."""

    def __init__(
        self, life: NodeLife, way_in: WayIn, own: Connection, nodes: Callable[[], frozenset[str] | None],
        addresses: Callable[[], dict[str, str]], authentication: Callable[[], Authentication],
    ) -> None:  # fmt: skip
        """Prepare.

        Args:
            life: This life of the node.
            way_in: Where what it publishes goes in.
            own: The client without a socket.
            nodes: Tells the gateways that live; None while nobody knows.
            addresses: Tells where it listens.
            authentication: Tells how clients are authenticated.

        Raises:
            KafkaNotReadyError: Kafka lacks a topic.
        """
        config, topics, local = life.config, life.topics, life.local
        own.headers = connection_headers("", life.node, ProtocolVersion.V5)
        self.system = SystemTopics(
            life.node, config.sys_interval, config.sys_client_events, life.counters,
            lambda packet: way_in.ingress.submit(own, packet), nodes, lambda: len(local),
        )  # fmt: skip
        if config.historical_interval:
            partition_count(life.kafka, topics.historical)  # or it is told that the topic is missing
        self.history = History(
            topics.historical, life.node, config.historical_interval, life.counters, life.appender,
            lambda: self.system.connections, lambda: len(local), lambda: seen(way_in.router_view),
        )  # fmt: skip
        if config.state_interval:
            partition_count(life.kafka, topics.states)  # as above
        state = NodeState(
            NodeParts(
                life.node, life.me[1], config.state_interval, life.counters, lambda: self.system.connections,
                lambda: len(local), addresses, way_in.router_view, authentication, config.strategies,
            )
        )  # fmt: skip
        self.state = SteadyRecords(topics.states, config.state_interval, life.appender, state.record)

    def start(self) -> None:
        """Tell, from now on."""
        self.system.start()
        self.history.start()
        self.state.start()
