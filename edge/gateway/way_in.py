"""Publishes, on their way from clients to the router: what they pass, in which order, and what is asked beside it."""

from __future__ import annotations

from collections.abc import Callable

from edge.gateway.admission import Admission
from edge.gateway.announcements import announce
from edge.gateway.connection import Connection
from edge.gateway.delayed.delayed_messages import DelayedMessages
from edge.gateway.delayed.timekeeper import TimekeeperSetting
from edge.gateway.fresh_headers import FreshHeaders
from edge.gateway.ingress import Held, Ingress
from edge.gateway.log_barrier import LogBarrier
from edge.gateway.node_life import NodeLife
from edge.gateway.persistence.exchanges import Exchanges
from edge.gateway.probing import Probing
from edge.gateway.pulse import Pulse
from edge.gateway.retained.retention import Retention
from edge.gateway.router_view import RouterView
from edge.gateway.sessions.requests import Requests
from edge.gateway.shares.view import ShareView
from edge.gateway.subscription_log import SubscriptionTail
from edge.mqtt.packets import Publish

Views = Callable[[Callable[[], bool]], ShareView]
"""How a thread has what this gateway knows of subscriptions brought up to date; given: whether it is to stop."""


class WayIn:
    """The parts, from the door to the log."""

    pulse: Pulse
    """Set before the first client comes."""

    def __init__(
        self, life: NodeLife, tail: SubscriptionTail, views: Views, retention: Retention, requests: Requests
    ) -> None:
        config, topics = life.config, life.topics
        self.ingress = Ingress(
            topics.publishes,
            life.appender,
            life.fresh,
            life.counters,
            config.max_held_bytes,
            check_payload_format=config.check_payload_format,
        )
        self.barrier: LogBarrier[Held] = LogBarrier(
            life.kafka, topics.subscriptions, life.tables, tail, self._release
        )
        self.ingress.through(self.barrier.enter)
        self.ingress.retaining = retention.writer
        self.delayed = DelayedMessages(
            TimekeeperSetting(life.kafka, topics, life.member, life.session_timeout_ms, life.counters),
            config.delayed_max,
            lambda is_stopping: FreshHeaders(views(is_stopping), life.fresh, retention.writer.read_header),
        )
        delaying = self.delayed.delaying
        self.exchanges = Exchanges(
            life.sources, life.marks, requests.send, self._submit_noted, delaying.place
        )
        self.ingress.confirmed = self.exchanges.confirmed
        self.admission = Admission(self.ingress, self.exchanges.begin, delaying, life.counters)
        self.router_view = RouterView(life.sources, life.tables)
        self.probing = Probing(
            topics.publishes, life.sources, life.node, life.appender, life.fresh,
            self.router_view, config.probe_interval, lambda: announce("ROUTED", {"node": life.node}),
        )  # fmt: skip
        retention.hurry = self.probing.hurry

    def _release(self, held: list[Held]) -> None:
        self.pulse.check()
        self.ingress.release(held)

    def _submit_noted(self, connection: Connection, packet: Publish) -> None:
        self.pulse.check()
        if not connection.is_given_up:
            self.admission.go_on(connection, packet)
