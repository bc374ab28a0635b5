"""Who may be in: this gateway's clients, and its part in deciding for all of the cluster."""

from __future__ import annotations

from edge.gateway.admission import will_refusal
from edge.gateway.fresh_headers import FreshHeaders
from edge.gateway.node_life import NodeLife
from edge.gateway.pulse import Pulse
from edge.gateway.retained.retention import Retention
from edge.gateway.session_delivery import SessionDelivery
from edge.gateway.sessions.changes import Changes
from edge.gateway.sessions.clients import Clients, Surroundings
from edge.gateway.sessions.owner import Owner
from edge.gateway.sessions.requests import Requests
from edge.gateway.sessions.will_publishing import WillPublishing
from edge.gateway.shares.dispatcher import Dispatcher, DispatcherSetting
from edge.gateway.shares.releases import Releases
from edge.gateway.way_in import Views, WayIn


class ClusterPart:
    """Clients here, and what this gateway owns: sessions, and the dispatch of share groups."""

    def __init__(
        self, life: NodeLife, way_in: WayIn, delivery: SessionDelivery, retention: Retention,
        requests: Requests, views: Views,
    ) -> None:  # fmt: skip
        config, kept, open_backlogs = life.config, delivery.kept, delivery.open_backlogs
        wills = WillPublishing(requests.send, way_in.ingress.submit, lambda: self.pulse.check())
        around = Surroundings(
            requests.send,
            wills.publish,
            kept.leave,
            kept.detach,
            kept.resume,
            will_refusal,
            Changes(life.topics.command_answers, life.appender, delivery.subscribing).change,
        )
        self.clients = Clients(
            life.me, life.counters, around,
            persistence=delivery.persistence is not None, types=config.client_types, longest=config.longest_sessions,
        )  # fmt: skip
        # Who misses heartbeats, which go out twice a second, for the session timeout is lost a second after that.
        self.pulse = Pulse(max(config.session_timeout - 0.5, 2.0), self.clients.give_up)
        self.releases = Releases(open_backlogs()) if open_backlogs else None
        self.fresh_headers = FreshHeaders(
            views(lambda: self.owner.is_stopping), life.fresh, retention.writer.read_header
        )
        owner = self.owner = Owner(
            life.kafka, life.topics, life.me, life.session_timeout_ms, round(config.app_removal_delay * 1_000),
            self.releases.returned if self.releases else None, self.fresh_headers, config.quotas,
        )  # fmt: skip
        self.dispatcher = Dispatcher(
            DispatcherSetting(
                life.kafka, life.topics, life.member, life.session_timeout_ms,
                open_backlogs() if open_backlogs else None, lambda: owner.living, owner.look_soon, life.counters,
                config.strategies,
            ),
            views,
        )  # fmt: skip
