"""This life of this node: what it found in Kafka, and what most of its parts share."""

from __future__ import annotations

import uuid

from contracts.kafka_topics import parse_topic_properties
from edge.gateway.appender import Appender
from edge.gateway.config import GatewayConfig
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.exclusive.claims import ExclusiveClaims
from edge.gateway.fresh_routes import FreshRoutes
from edge.gateway.kafka_clients import create_topics, partition_count
from edge.gateway.local_subscriptions import LocalSubscriptions
from edge.gateway.sessions.membership import member_name
from edge.gateway.shares.groups import ShareGroups
from edge.gateway.source_marks import SourceMarks


class NodeLife:
    """What several parts are made of."""

    def __init__(self, config: GatewayConfig, counters: Counters) -> None:
        """Create the node's own Kafka topics, and ask Kafka for what else it has.

        Raises:
            KafkaNotReadyError: Kafka does not answer, or lacks a topic.
        """
        self.config, self.counters = config, counters
        self.node, self.kafka, self.topics = config.node, config.kafka, config.topics
        create_topics(self.kafka, self.topics.of_node(self.node))
        self.sources = partition_count(self.kafka, self.topics.publishes)
        """Partitions of `tbmq.msg.all`."""
        self.tables = partition_count(self.kafka, self.topics.subscriptions)
        """Partitions of `tbmq.client.subscriptions`."""
        self.me = (self.node, uuid.uuid4().hex)
        """Node and boot."""
        self.member = member_name(self.me)
        """How its consumer groups call it."""
        self.session_timeout_ms = round(config.session_timeout * 1_000)
        self.application_properties = parse_topic_properties(config.application_topic_properties)
        self.appender = Appender(self.kafka)
        self.local: LocalSubscriptions[Connection] = LocalSubscriptions()
        self.fresh = FreshRoutes()
        self.marks = SourceMarks()
        self.groups = ShareGroups()
        self.claims = ExclusiveClaims()
