"""The gateway put together: which part gets what from which. Read this to see the whole of it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from contracts.state_record import Authentication
from edge.gateway.announcements import announce
from edge.gateway.cluster_part import ClusterPart
from edge.gateway.config import GatewayConfig
from edge.gateway.connection import Connection, Outbox
from edge.gateway.counters import Counters
from edge.gateway.errors import KafkaNotReadyError
from edge.gateway.fanout import Fanout
from edge.gateway.kafka_clients import START_TIMEOUT, first_ends, partition_count
from edge.gateway.listeners.listeners import Listeners
from edge.gateway.log_reader import LogReader
from edge.gateway.metrics.signs import Signs
from edge.gateway.node_life import NodeLife
from edge.gateway.reception import Reception
from edge.gateway.retained.retention import Retention
from edge.gateway.self_report import SelfReport
from edge.gateway.session_delivery import SessionDelivery
from edge.gateway.sessions.requests import Requests, from_end
from edge.gateway.shares.view import ShareView
from edge.gateway.subscription_log import SubscriptionTail
from edge.gateway.tracing.tracer import Tracer
from edge.gateway.tracing.tracing import Tracing
from edge.gateway.way_in import Views, WayIn

if TYPE_CHECKING:
    from edge.gateway.access.access import Access

log = logging.getLogger(__name__)

_FAREWELL = 5.0  # seconds for what clients leave behind to reach Kafka, and the same again for what is left


class Gateway:
    """One node. Make it, and `start` it, inside its event loop."""

    def __init__(self, config: GatewayConfig) -> None:
        """Connect the parts.

        Raises:
            KafkaNotReadyError: Kafka does not answer, or lacks a topic.
            StoreUrlError, StoreUnavailableError: There is no such store, or it does not answer.
            CertificateFilesError: A listener with TLS has no certificate that it could use.
            IdentityError: A setting of authentication is wrong, or the database of identity does not answer.
        """
        self.config = config
        self.counters = Counters()
        self.outbox = Outbox()
        self.limits = config.mqtt_limits
        self.listeners = Listeners(config, self._connection, self.counters)
        self._access = self._make_access()
        life = NodeLife(config, self.counters)
        self._local, self._appender = life.local, life.appender
        self._make_logs(life)
        views = self._views(life)
        self._way_in = WayIn(life, self._tail, views, self._retention, self._requests)
        self._delivery = SessionDelivery(life, self._retention, self._requests, self.limits)
        self._part = ClusterPart(life, self._way_in, self._delivery, self._retention, self._requests, views)
        self._way_in.pulse = self._part.pulse
        self.delayed, self.sessions, self.dispatcher = (
            self._way_in.delayed,
            self._part.clients,
            self._part.dispatcher,
        )
        self._reception = Reception(
            life, self._way_in, self._delivery, self._part, self._tracing, self._access
        )
        self._report = SelfReport(
            life, self._way_in, self._connection(), lambda: self._part.owner.living,
            lambda: self.listeners.addresses, self._authentication,
        )  # fmt: skip
        self._reception.system = self._report.system
        self._make_way_out(life)
        self.signs = Signs(
            life.appender, self._way_in.ingress, self._way_in.probing, self._part.pulse, life.local,
            self._retention.view, life.fresh, lambda: self._report.system.connections,
        )  # fmt: skip

    def _make_access(self) -> Access | None:
        """Who is let in; None: everybody, and what would ask takes neither memory nor time to load."""
        config = self.config
        if not config.asks_who:
            return None
        from edge.gateway.access.access import open_access

        url = None if config.database is None else config.database.get_secret_value()
        return open_access(
            url, self.counters, config.connect_timeout,
            lambda connection, event: self.sessions.connect(connection, event),
            lambda connection: self._delivery.subscribing.drop_unauthorized(connection),
        )  # fmt: skip

    def _make_logs(self, life: NodeLife) -> None:
        """What is read from its beginning, or always: subscriptions, retained messages, answers, traces."""
        kafka, topics, node, counters = life.kafka, life.topics, life.node, life.counters
        self._tail = SubscriptionTail(
            kafka, topics.subscriptions, life.tables, node, life.fresh, counters, life.groups,
            self._contradict, life.claims,
        )  # fmt: skip
        partition_count(kafka, topics.traces)  # or it is told that the topic is missing
        self._tracing = Tracing(topics, node, life.appender, counters, self._trace)
        self._requests = Requests(kafka, topics, node, life.appender, counters, self._tracing.take)
        self._retention = Retention(
            kafka, topics, partition_count(kafka, topics.retained), node, life.appender, life.local,
            counters, lambda: self._tail.positions,
        )  # fmt: skip

    def _views(self, life: NodeLife) -> Views:
        return lambda is_stopping: ShareView(
            life.kafka, life.topics.subscriptions, life.tables, self._tail, life.groups, is_stopping
        )

    def _make_way_out(self, life: NodeLife) -> None:
        """Routed records, on their way to clients that are served while they are connected."""
        self._fanout = Fanout(
            life.local, life.marks, life.counters, self._way_in.probing.answered, self.sessions.connected,
            self._delivery.returning.give_back, self._retention.order,
        )  # fmt: skip
        # No client of an earlier life is here any more; what comes after this moment is read, whenever that may be.
        names = life.topics.downlink(life.node), life.topics.share_downlink(life.node)
        downlinks = [from_end(life.kafka, name) for name in names]
        self._downlink = LogReader(life.kafka, "downlink", downlinks, self._fanout.take)

    async def start(self) -> tuple[str, int]:
        """Catch up with the subscription log, join the owners, then listen; prints LISTENING with the addresses.

        Returns:
            That of the TCP listener, if there is one: host and port.

        Raises:
            KafkaNotReadyError: Kafka does not let it join.
            DatabaseUnavailableError: The database of identity does not answer.
            OSError: An address can't be listened on; it stands in `filename`.
        """
        config, owner = self.config, self._part.owner
        await self._caught_up()
        self._retention.tail.put_right()
        buried = asyncio.Event()
        self._delivery.subscribing.bury(self._tail.leftovers(), buried.set)
        await buried.wait()  # before an owner may give the clients of this node's earlier life to others
        self._downlink.start()
        if self._delivery.persistence:
            self._delivery.persistence.start()
        self._requests.start(self.sessions)
        owner.start()
        if not await asyncio.to_thread(owner.joined.wait, START_TIMEOUT):
            raise KafkaNotReadyError(
                f"Kafka at {config.kafka} did not take this gateway into the group of owners"
            )
        self.dispatcher.start()
        self.delayed.start()
        if self._access is not None:
            await self._access.start()
        announce("LISTENING", {"node": config.node} | await self.listeners.open())
        self._way_in.probing.start()
        self._report.start()
        return self.listeners.tcp

    async def _caught_up(self) -> None:
        """Read the logs that a gateway has to know, as far as they reach now."""
        kafka, topics = self.config.kafka, self.config.topics
        for tail, topic in ((self._tail, topics.subscriptions), (self._retention.tail, topics.retained)):
            ends = first_ends(kafka, topic, partition_count(kafka, topic))
            reached = asyncio.Event()
            tail.start()
            tail.when_reached(ends, reached.set)
            await reached.wait()

    async def stop(self) -> None:
        """Take no more clients, send the ones here away, and end what belongs to them in Kafka."""
        way_in, delivery, part, report = self._way_in, self._delivery, self._part, self._report
        self.listeners.close()
        way_in.probing.stop()
        report.system.stop()
        part.pulse.stop()
        if self._access is not None:
            await self._access.close()
        await self.sessions.close(_FAREWELL)
        report.system.publish_events()
        delivery.application_shares.turns.stop()
        delivery.subscribing.stop()
        await _stopped(delivery.application_shares, self.dispatcher, self.delayed)
        self._tracing.stop()
        self._requests.stop()
        delivery.applications.stop()
        await _stopped(way_in.barrier, self._downlink, self._tail, self._retention)
        report.history.stop()
        report.state.stop()
        if left := self._appender.flush(_FAREWELL):
            log.warning(
                "stopped with %d records that Kafka has not acknowledged; no client was told otherwise", left
            )
        if part.releases:
            part.releases.cancel()
        await asyncio.to_thread(part.owner.stop)
        part.fresh_headers.close()
        if part.releases:
            part.releases.close()
        if delivery.persistence:
            delivery.persistence.stop()

    def _connection(self) -> Connection:
        return Connection(self._reception, self.limits, self.outbox, self.config.max_unsent_bytes)

    def _authentication(self) -> Authentication:
        return Authentication() if self._access is None else self._access.in_force

    def _trace(self, tracer: Tracer | None) -> None:
        """Put the tracer where messages pass, or take it away."""
        self._way_in.ingress.tracer = self._fanout.tracer = tracer
        if self._delivery.persistence is not None:
            self._delivery.persistence.trace(tracer)
        for connection in self.sessions:
            connection.tracer = tracer

    def _contradict(self, client_id: str, filter: str) -> None:
        connection = self.sessions.connected(client_id)
        if connection is not None:
            self._part.pulse.check()  # who stood still has the client no more, and is not to say otherwise
            self._delivery.subscribing.renew(connection, filter)


class Stoppable(Protocol):
    """A part with a thread of its own."""

    def stop(self) -> None:
        """End it; blocks until it has ended."""


async def _stopped(*parts: Stoppable) -> None:
    """Stop parts, all at once: each may take as long as its thread's last look at Kafka."""
    await asyncio.gather(*(asyncio.to_thread(part.stop) for part in parts))
