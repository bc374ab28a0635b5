"""The gateway put together: which part gets what from which. Read this to see the whole of it."""

from __future__ import annotations

import asyncio
import json
import logging
import sys

from confluent_kafka import Consumer, TopicPartition

from edge.gateway.appender import Appender
from edge.gateway.config import GatewayConfig
from edge.gateway.connection import Connection, Outbox
from edge.gateway.counters import Counters
from edge.gateway.fanout import Fanout
from edge.gateway.fresh_routes import FreshRoutes
from edge.gateway.ingress import Held, Ingress
from edge.gateway.kafka_clients import (
    START_TIMEOUT,
    consumer_config,
    create_topics,
    end_offsets,
    partition_count,
)
from edge.gateway.local_subscriptions import LocalSubscriptions
from edge.gateway.log_reader import LogReader
from edge.gateway.probing import Probing
from edge.gateway.router_view import RouterView
from edge.gateway.sessions import Sessions
from edge.gateway.source_marks import SourceMarks
from edge.gateway.subscribing import Subscribing
from edge.gateway.subscription_log import SubscriptionBarrier, SubscriptionTail
from edge.mqtt.events import ConnectionEnded, ConnectReceived, SubscribeReceived, UnsubscribeReceived
from edge.mqtt.limits import ServerLimits
from edge.mqtt.packets import Publish
from edge.mqtt.reason_codes import ReasonCode

log = logging.getLogger(__name__)


class Gateway:
    """One node. Make it, and `start` it, inside its event loop."""

    def __init__(self, config: GatewayConfig) -> None:
        topics, kafka = config.topics, config.kafka
        create_topics(kafka, topics.of_node(config.node))
        sources = partition_count(kafka, topics.publishes)
        tables = partition_count(kafka, topics.subscriptions)
        self.config = config
        self.counters = Counters()
        self.outbox = Outbox()
        self.limits = _limits(config)
        self._server: asyncio.Server | None = None
        self._caught_up = asyncio.Event()

        fresh, marks = FreshRoutes(), SourceMarks()
        self._local: LocalSubscriptions[Connection] = LocalSubscriptions()
        self._appender = Appender(kafka)
        self._tail = SubscriptionTail(kafka, topics.subscriptions, tables, config.node, fresh, self.counters)
        self._ingress = Ingress(topics.publishes, self._appender, fresh, self.counters, config.max_held_bytes)
        self._barrier: SubscriptionBarrier[Held] = SubscriptionBarrier(
            kafka, topics.subscriptions, tables, self._tail, self._ingress.release
        )
        self._ingress.through(self._barrier.enter)
        self._subscribing = Subscribing(
            topics.subscriptions, tables, config.node, self._appender, marks, self._local
        )  # fmt: skip
        self.sessions = Sessions(config.node, self.counters, self._subscribing.drop, self._ingress.submit)
        self._probing = Probing(
            topics.publishes, sources, config.node, self._appender, fresh, RouterView(sources, tables),
            config.probe_interval, self._announce_routed,
        )  # fmt: skip
        fanout = Fanout(self._local, marks, self.counters, self._probing.answered)
        self._downlink = LogReader(kafka, "downlink", self._downlink_start(), fanout.take)

    async def start(self) -> None:
        """Catch up with the subscription log, then listen; prints LISTENING with the address."""
        config = self.config
        consumer = Consumer(consumer_config(config.kafka))
        topic = config.topics.subscriptions
        ends = end_offsets(consumer, topic, partition_count(config.kafka, topic), START_TIMEOUT)
        consumer.close()
        self._tail.start()
        self._tail.when_reached(ends, self._caught_up.set)
        await self._caught_up.wait()
        self._subscribing.bury(self._tail.leftovers())
        self._downlink.start()
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._connection, config.host, config.port, backlog=4096)
        host, port = self._server.sockets[0].getsockname()[:2]
        _announce("LISTENING", {"node": config.node, "host": host, "port": port})
        self._probing.start()

    async def stop(self) -> None:
        """Take no more clients, send the ones here away, and end what belongs to them in Kafka."""
        if self._server:
            self._server.close()
        for connection in self.sessions:
            connection.disconnect(ReasonCode.SERVER_SHUTTING_DOWN)
        await asyncio.sleep(0)  # one turn of the loop: the farewells go out
        self._probing.stop()
        self._barrier.stop()
        self._downlink.stop()
        self._tail.stop()
        if left := self._appender.flush(5.0):
            log.warning(
                "stopped with %d records that Kafka has not acknowledged; no client was told otherwise", left
            )

    # what connections tell (edge.gateway.connection.Handler)

    def opened(self) -> None:
        """Count it."""
        self.counters.connections += 1

    def connect_received(self, connection: Connection, event: ConnectReceived) -> None:
        """To the sessions."""
        self.sessions.connect(connection, event)

    def publish_received(self, connection: Connection, packet: Publish) -> None:
        """Into the ingress."""
        self._ingress.submit(connection, packet)

    def subscribe_received(self, connection: Connection, event: SubscribeReceived) -> None:
        """To the subscribing."""
        self._subscribing.subscribe(connection, event)

    def unsubscribe_received(self, connection: Connection, event: UnsubscribeReceived) -> None:
        """To the subscribing."""
        self._subscribing.unsubscribe(connection, event)

    def ended(self, connection: Connection, event: ConnectionEnded) -> None:
        """To the sessions."""
        self.sessions.ended(connection, event)

    def _connection(self) -> Connection:
        return Connection(self, self.limits, self.outbox, self.config.max_unsent_bytes)

    def _downlink_start(self) -> list[TopicPartition]:
        # No client of an earlier life is here any more; what comes after this moment is read, whenever that may be.
        topic = self.config.topics.downlink(self.config.node)
        consumer = Consumer(consumer_config(self.config.kafka))
        ends = end_offsets(consumer, topic, partition_count(self.config.kafka, topic), START_TIMEOUT)
        consumer.close()
        return [TopicPartition(topic, partition, end) for partition, end in ends.items()]

    def _announce_routed(self) -> None:
        _announce("ROUTED", {"node": self.config.node})


def _announce(what: str, details: dict[str, object]) -> None:
    # For whoever started this process: people, systemd, the embedded stack.
    sys.stdout.write(f"{what} {json.dumps(details)}\n")
    sys.stdout.flush()


def _limits(config: GatewayConfig) -> ServerLimits:
    return ServerLimits(
        maximum_packet_size=config.max_packet_size,
        receive_maximum=config.max_in_flight,
        topic_alias_maximum=config.topic_alias_max,
        maximum_in_flight=config.max_in_flight,
        maximum_queued=config.max_queued,
        maximum_queued_bytes=config.max_queued_bytes,
        keep_alive_cap=config.keep_alive_max,
        connect_timeout=config.connect_timeout,
    )
