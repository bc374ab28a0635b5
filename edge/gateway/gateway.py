"""The gateway put together: which part gets what from which. Read this to see the whole of it."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from contracts.kafka_topics import parse_topic_properties
from contracts.publish_record import connection_headers
from contracts.state_record import Authentication
from edge.gateway.admission import Admission, will_refusal
from edge.gateway.appender import Appender
from edge.gateway.application_shares.dispatcher import EntitySetting
from edge.gateway.application_shares.shares import ApplicationShares
from edge.gateway.applications.applications import Applications
from edge.gateway.applications.feed import Bounds
from edge.gateway.auto_subscribe import subscriptions_for
from edge.gateway.config import GatewayConfig
from edge.gateway.connection import Connection, Outbox
from edge.gateway.counters import Counters
from edge.gateway.delayed.delayed_messages import DelayedMessages
from edge.gateway.delayed.timekeeper import TimekeeperSetting
from edge.gateway.denied_filters import DeniedFilters
from edge.gateway.errors import KafkaNotReadyError
from edge.gateway.exclusive.claims import ExclusiveClaims
from edge.gateway.fanout import Fanout
from edge.gateway.fresh_headers import FreshHeaders
from edge.gateway.fresh_routes import FreshRoutes
from edge.gateway.ingress import Held, Ingress
from edge.gateway.kafka_clients import (
    START_TIMEOUT,
    create_topics,
    first_ends,
    partition_count,
)
from edge.gateway.kept_sessions import KeptSessions
from edge.gateway.limits.client_rates import open_rates
from edge.gateway.listeners.listeners import Listeners
from edge.gateway.local_subscriptions import LocalSubscriptions
from edge.gateway.log_barrier import LogBarrier
from edge.gateway.log_reader import LogReader
from edge.gateway.metrics.signs import Signs
from edge.gateway.persistence.exchanges import Exchanges
from edge.gateway.persistence.persistence import Persistence
from edge.gateway.probing import Probing
from edge.gateway.pulse import Pulse
from edge.gateway.retained.retention import Retention
from edge.gateway.router_view import RouterView
from edge.gateway.sessions.changes import Changes
from edge.gateway.sessions.clients import Clients, Surroundings
from edge.gateway.sessions.membership import member_name
from edge.gateway.sessions.owner import Owner
from edge.gateway.sessions.requests import Requests, from_end
from edge.gateway.sessions.will_publishing import WillPublishing
from edge.gateway.shares.backlogs import Backlogs
from edge.gateway.shares.dispatcher import Dispatcher, DispatcherSetting
from edge.gateway.shares.groups import ShareGroups
from edge.gateway.shares.releases import Releases
from edge.gateway.shares.returning import Returning
from edge.gateway.shares.view import ShareView
from edge.gateway.source_marks import SourceMarks
from edge.gateway.subscribing import Subscribing
from edge.gateway.subscription_log import SubscriptionTail
from edge.gateway.system_topics.history import History
from edge.gateway.system_topics.node_state import NodeParts, NodeState, seen
from edge.gateway.system_topics.steady_records import SteadyRecords
from edge.gateway.system_topics.system_topics import SystemTopics
from edge.gateway.tracing.tracer import Tracer
from edge.gateway.tracing.tracing import Tracing
from edge.mqtt.events import (
    AuthReceived,
    ConnectionEnded,
    ConnectReceived,
    DeliveryCompleted,
    DeliveryReceived,
    ReleaseReceived,
    SubscribeReceived,
    UnsubscribeReceived,
)
from edge.mqtt.packets import Publish
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.states import State
from stores import open_store

if TYPE_CHECKING:
    from edge.gateway.access.access import Access

log = logging.getLogger(__name__)

_FAREWELL = 5.0  # seconds for what clients leave behind to reach Kafka, and the same again for what is left


class Common:
    """What several parts are made of."""

    def __init__(self, config: GatewayConfig) -> None:
        """Ask Kafka for what it has.

        Raises:
            KafkaNotReadyError: Kafka does not answer, or lacks a topic.
        """
        self.kafka, self.topics = config.kafka, config.topics
        self.sources = partition_count(config.kafka, config.topics.publishes)
        """Partitions of `tbmq.msg.all`."""
        self.tables = partition_count(config.kafka, config.topics.subscriptions)
        """Partitions of `tbmq.client.subscriptions`."""
        self.me = (config.node, uuid.uuid4().hex)
        """This life of this node."""
        self.session_timeout_ms = round(config.session_timeout * 1_000)
        self.application_properties = parse_topic_properties(config.application_topic_properties)
        self.fresh = FreshRoutes()
        self.marks = SourceMarks()
        self.groups = ShareGroups()
        self.claims = ExclusiveClaims()


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
        create_topics(config.kafka, config.topics.of_node(config.node))
        common = Common(config)
        self._local: LocalSubscriptions[Connection] = LocalSubscriptions()
        self._appender = Appender(common.kafka)
        self._tail = SubscriptionTail(
            common.kafka, common.topics.subscriptions, common.tables, config.node, common.fresh, self.counters,
            common.groups, self._contradict, common.claims,
        )  # fmt: skip
        partition_count(common.kafka, common.topics.traces)  # or it is told that the topic is missing
        self._tracing = Tracing(common.topics, config.node, self._appender, self.counters, self._trace)
        self._requests = Requests(
            common.kafka, common.topics, config.node, self._appender, self.counters, self._tracing.take
        )
        self._retention = Retention(
            common.kafka, common.topics, partition_count(common.kafka, common.topics.retained), config.node,
            self._appender, self._local, self.counters, lambda: self._tail.positions,
        )  # fmt: skip
        self._make_way_in(common)
        open_backlogs = self._make_kept_sessions(common)
        self._make_sessions(common, open_backlogs)
        self._make_system_topics(common)
        self._make_way_out(common)
        self.signs = Signs(
            self._appender, self._ingress, self._probing, self._pulse, self._local,
            self._retention.view, common.fresh, lambda: self._system.connections,
        )  # fmt: skip

    def _make_way_in(self, common: Common) -> None:
        """Publishes, on their way to the router."""
        config, topics = self.config, common.topics
        self._ingress = Ingress(
            topics.publishes,
            self._appender,
            common.fresh,
            self.counters,
            config.max_held_bytes,
            check_payload_format=config.check_payload_format,
        )
        self._barrier: LogBarrier[Held] = LogBarrier(
            common.kafka, topics.subscriptions, common.tables, self._tail, self._release
        )
        self._ingress.through(self._barrier.enter)
        self._ingress.retaining = self._retention.writer
        setting = TimekeeperSetting(
            common.kafka, topics, member_name(common.me), common.session_timeout_ms, self.counters
        )
        self.delayed = DelayedMessages(
            setting,
            config.delayed_max,
            lambda is_stopping: FreshHeaders(
                self._view(common)(is_stopping), common.fresh, self._retention.writer.read_header
            ),
        )
        delaying = self.delayed.delaying
        self._exchanges = Exchanges(
            common.sources, common.marks, self._requests.send, self._submit_noted, delaying.place
        )
        self._ingress.confirmed = self._exchanges.confirmed
        self._admission = Admission(self._ingress, self._exchanges.begin, delaying, self.counters)
        self._router_view = RouterView(common.sources, common.tables)
        self._probing = Probing(
            topics.publishes, common.sources, config.node, self._appender, common.fresh,
            self._router_view, config.probe_interval, self._announce_routed,
        )  # fmt: skip
        self._retention.hurry = self._probing.hurry

    def _make_kept_sessions(self, common: Common) -> Callable[[], Backlogs] | None:
        """Subscriptions, and delivery to sessions that outlive their connection; returns how to read what waits."""
        config, topics, kafka = self.config, common.topics, common.kafka
        self._application_shares = ApplicationShares(
            EntitySetting(
                kafka, topics, config.node, member_name(common.me), common.session_timeout_ms,
                common.application_properties, self.counters, config.strategies,
            )
        )  # fmt: skip
        self._subscribing = Subscribing(
            topics.subscriptions, common.tables, config.node, self._appender, common.marks, self._local,
            self._requests.send, self._application_shares, DeniedFilters(config.denied_filters, config.denied_reason),
            common.claims, self._retention, exclusive=config.exclusive_subscriptions,
        )  # fmt: skip
        self._persistence: Persistence | None = None
        if config.persistence_store is not None:
            store = open_store(config.persistence_store, prefix=config.topic_prefix)
            self._persistence = Persistence(
                kafka, topics, store, self._appender, self.counters, self._local, common.marks, common.sources,
                config.max_queued, config.max_queued_bytes, self._retention.keep_found,
            )  # fmt: skip
        bounds = Bounds(config.max_queued, config.max_queued_bytes, config.application_replay_rate)
        self._applications = Applications(
            kafka, topics, common.application_properties, bounds, self.counters, self._local, common.marks,
            self._requests.send,
        )  # fmt: skip
        self._returning = Returning(topics.shares, self._appender, self.counters)
        self._kept = KeptSessions(
            self._subscribing, self._persistence, self._applications, self._returning, self.limits
        )
        self._rates = open_rates(config, self._kept.wake)
        return self._persistence.open_backlogs if self._persistence else None

    def _make_sessions(self, common: Common, open_backlogs: Callable[[], Backlogs] | None) -> None:
        """Who may be in: this gateway's clients, and its part in deciding for all of the cluster."""
        config, topics, kafka = self.config, common.topics, common.kafka
        wills = WillPublishing(self._requests.send, self._ingress.submit, lambda: self._pulse.check())
        around = Surroundings(
            self._requests.send,
            wills.publish,
            self._kept.leave,
            self._kept.detach,
            self._kept.resume,
            will_refusal,
            Changes(topics.command_answers, self._appender, self._subscribing).change,
        )
        self.sessions = Clients(
            common.me, self.counters, around,
            persistence=self._persistence is not None, types=config.client_types, longest=config.longest_sessions,
        )  # fmt: skip
        # Who misses heartbeats, which go out twice a second, for the session timeout is lost a second after that.
        self._pulse = Pulse(max(config.session_timeout - 0.5, 2.0), self.sessions.give_up)
        self._releases = Releases(open_backlogs()) if open_backlogs else None
        returned = self._releases.returned if self._releases else None
        removal_delay_ms = round(config.app_removal_delay * 1_000)
        self._fresh_headers = FreshHeaders(
            self._view(common)(lambda: self._owner.is_stopping),
            common.fresh,
            self._retention.writer.read_header,
        )
        owner = self._owner = Owner(
            kafka, topics, common.me, common.session_timeout_ms, removal_delay_ms, returned,
            self._fresh_headers, config.quotas,
        )  # fmt: skip
        self.dispatcher = Dispatcher(
            DispatcherSetting(
                kafka, topics, member_name(common.me), common.session_timeout_ms,
                open_backlogs() if open_backlogs else None, lambda: owner.living, owner.look_soon, self.counters,
                config.strategies,
            ),
            self._view(common),
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
            lambda connection: self._subscribing.drop_unauthorized(connection),
        )  # fmt: skip

    def _view(self, common: Common) -> Callable[[Callable[[], bool]], ShareView]:
        """How a thread has what this gateway knows of subscriptions brought up to date."""
        return lambda is_stopping: ShareView(
            common.kafka, common.topics.subscriptions, common.tables, self._tail, common.groups, is_stopping
        )

    def _make_system_topics(self, common: Common) -> None:
        """What this gateway tells of itself; what it publishes goes in as from a client without a socket."""
        config, own = self.config, self._connection()
        own.headers = connection_headers("", config.node, ProtocolVersion.V5)
        self._system = SystemTopics(
            config.node, config.sys_interval, config.sys_client_events, self.counters,
            lambda packet: self._ingress.submit(own, packet), lambda: self._owner.living,
            lambda: len(self._local),
        )  # fmt: skip
        if config.historical_interval:
            partition_count(common.kafka, common.topics.historical)  # or it is told that the topic is missing
        self._history = History(
            common.topics.historical, config.node, config.historical_interval, self.counters, self._appender,
            lambda: self._system.connections, lambda: len(self._local), lambda: seen(self._router_view),
        )  # fmt: skip
        self._make_state(common)

    def _make_state(self, common: Common) -> None:
        config, access = self.config, self._access
        if config.state_interval:
            partition_count(common.kafka, common.topics.states)  # as above
        state = NodeState(
            NodeParts(
                config.node, common.me[1], config.state_interval, self.counters, lambda: self._system.connections,
                lambda: len(self._local), lambda: self.listeners.addresses, self._router_view,
                lambda: Authentication() if access is None else access.in_force, config.strategies,
            )
        )  # fmt: skip
        self._state = SteadyRecords(common.topics.states, config.state_interval, self._appender, state.record)

    def _make_way_out(self, common: Common) -> None:
        """Routed records, on their way to clients that are served while they are connected."""
        fanout = Fanout(
            self._local, common.marks, self.counters, self._probing.answered, self.sessions.connected,
            self._returning.give_back, self._retention.order,
        )  # fmt: skip
        topics, node = common.topics, self.config.node
        # No client of an earlier life is here any more; what comes after this moment is read, whenever that may be.
        downlinks = [
            from_end(common.kafka, name) for name in (topics.downlink(node), topics.share_downlink(node))
        ]
        self._fanout = fanout
        self._downlink = LogReader(common.kafka, "downlink", downlinks, fanout.take)

    async def start(self) -> tuple[str, int]:
        """Catch up with the subscription log, join the owners, then listen; prints LISTENING with the addresses.

        Returns:
            That of the TCP listener, if there is one: host and port.

        Raises:
            KafkaNotReadyError: Kafka does not let it join.
            DatabaseUnavailableError: The database of identity does not answer.
            OSError: An address can't be listened on; it stands in `filename`.
        """
        config = self.config
        await self._caught_up()
        self._retention.tail.put_right()
        buried = asyncio.Event()
        self._subscribing.bury(self._tail.leftovers(), buried.set)
        await buried.wait()  # before an owner may give the clients of this node's earlier life to others
        self._downlink.start()
        if self._persistence:
            self._persistence.start()
        self._requests.start(self.sessions)
        self._owner.start()
        if not await asyncio.to_thread(self._owner.joined.wait, START_TIMEOUT):
            raise KafkaNotReadyError(
                f"Kafka at {config.kafka} did not take this gateway into the group of owners"
            )
        self.dispatcher.start()
        self.delayed.start()
        if self._access is not None:
            await self._access.start()
        _announce("LISTENING", {"node": config.node} | await self.listeners.open())
        self._probing.start()
        self._system.start()
        self._history.start()
        self._state.start()
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
        self.listeners.close()
        self._probing.stop()
        self._system.stop()
        self._pulse.stop()
        if self._access is not None:
            await self._access.close()
        await self.sessions.close(_FAREWELL)
        self._system.publish_events()
        self._application_shares.turns.stop()
        self._subscribing.stop()
        await _stopped(self._application_shares, self.dispatcher, self.delayed)
        self._tracing.stop()
        self._requests.stop()
        self._applications.stop()
        await _stopped(self._barrier, self._downlink, self._tail, self._retention)
        self._history.stop()
        self._state.stop()
        if left := self._appender.flush(_FAREWELL):
            log.warning(
                "stopped with %d records that Kafka has not acknowledged; no client was told otherwise", left
            )
        if self._releases:
            self._releases.cancel()
        await asyncio.to_thread(self._owner.stop)
        self._fresh_headers.close()
        if self._releases:
            self._releases.close()
        if self._persistence:
            self._persistence.stop()

    # what connections tell (edge.gateway.connection.Handler)

    def about_to_read(self) -> None:
        """Not for clients that others may have by now."""
        self._pulse.check()

    def opened(self) -> None:
        """Count it."""
        self.counters.connections += 1

    def connect_received(self, connection: Connection, event: ConnectReceived) -> None:
        """To the entrance, where there is one, or to the sessions."""
        connection.user_name, connection.keep_alive = event.packet.user_name, event.packet.keep_alive
        if self._access is None:
            self.sessions.connect(connection, event)
        else:
            self._access.connect(connection, event)

    def accepted(self, connection: Connection) -> None:
        """Hold it to its rates, tell of it, and subscribe it by the rules, before what it subscribes to itself."""
        connection.tracer = self._tracing.active
        if self._rates is not None:
            self._rates.accepted(connection)
        self._system.connected(connection)
        rules = self.config.auto_subscribe
        if rules and connection.core.state is State.CONNECTED:
            self._subscribing.subscribe_unasked(
                connection, subscriptions_for(rules, connection.client_id, connection.user_name)
            )

    def auth_received(self, connection: Connection, event: AuthReceived) -> None:
        """To those who have asked for it."""
        if self._access is not None:
            self._access.auth_received(connection, event)

    def publish_received(self, connection: Connection, packet: Publish) -> None:
        """To the ingress' door."""
        self._admission.publish(connection, packet)

    def subscribe_received(self, connection: Connection, event: SubscribeReceived) -> None:
        """To the subscribing."""
        self._subscribing.subscribe(connection, event)

    def unsubscribe_received(self, connection: Connection, event: UnsubscribeReceived) -> None:
        """To the subscribing."""
        self._subscribing.unsubscribe(connection, event)

    def delivery_completed(self, connection: Connection, event: DeliveryCompleted) -> None:
        """To whoever feeds it."""
        self._kept.completed(connection, event)

    def delivery_received(self, connection: Connection, event: DeliveryReceived) -> None:
        """To whoever feeds it."""
        self._kept.received(connection, event)

    def release_received(self, connection: Connection, event: ReleaseReceived) -> None:
        """To the exchanges."""
        self._exchanges.release(connection, event.packet_id)

    def ended(self, connection: Connection, event: ConnectionEnded) -> None:
        """To the entrance, the rates and the sessions."""
        if self._rates is not None:
            self._rates.ended(connection)
        if self._access is not None:
            self._access.ended(connection)
        self.sessions.ended(connection, event)
        self._system.ended(connection, event)

    def _trace(self, tracer: Tracer | None) -> None:
        """Put the tracer where messages pass, or take it away."""
        self._ingress.tracer = self._fanout.tracer = tracer
        if self._persistence is not None:
            self._persistence.trace(tracer)
        for connection in self.sessions:
            connection.tracer = tracer

    def _connection(self) -> Connection:
        return Connection(self, self.limits, self.outbox, self.config.max_unsent_bytes)

    def _release(self, held: list[Held]) -> None:
        self._pulse.check()
        self._ingress.release(held)

    def _submit_noted(self, connection: Connection, packet: Publish) -> None:
        self._pulse.check()
        if not connection.is_given_up:
            self._admission.go_on(connection, packet)

    def _contradict(self, client_id: str, filter: str) -> None:
        connection = self.sessions.connected(client_id)
        if connection is not None:
            self._pulse.check()  # who stood still has the client no more, and is not to say otherwise
            self._subscribing.renew(connection, filter)

    def _announce_routed(self) -> None:
        _announce("ROUTED", {"node": self.config.node})


class Stoppable(Protocol):
    """A part with a thread of its own."""

    def stop(self) -> None:
        """End it; blocks until it has ended."""


async def _stopped(*parts: Stoppable) -> None:
    """Stop parts, all at once: each may take as long as its thread's last look at Kafka."""
    await asyncio.gather(*(asyncio.to_thread(part.stop) for part in parts))


def _announce(what: str, details: dict[str, object]) -> None:
    # For whoever started this process: people, systemd, the embedded stack.
    sys.stdout.write(f"{what} {json.dumps(details)}\n")
    sys.stdout.flush()
