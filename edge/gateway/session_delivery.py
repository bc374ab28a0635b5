"""Subscriptions, and delivery to sessions that outlive their connection: DEVICEs, APPLICATIONs and what these share."""

from __future__ import annotations

from collections.abc import Callable

from edge.gateway.application_shares.dispatcher import EntitySetting
from edge.gateway.application_shares.shares import ApplicationShares
from edge.gateway.applications.applications import Applications
from edge.gateway.applications.feed import Bounds
from edge.gateway.denied_filters import DeniedFilters
from edge.gateway.kept_sessions import KeptSessions
from edge.gateway.limits.client_rates import open_rates
from edge.gateway.node_life import NodeLife
from edge.gateway.persistence.persistence import Persistence
from edge.gateway.retained.retention import Retention
from edge.gateway.sessions.requests import Requests
from edge.gateway.shares.backlogs import Backlogs
from edge.gateway.shares.returning import Returning
from edge.gateway.subscribing import Subscribing
from edge.mqtt.limits import ServerLimits
from stores import open_store


class SessionDelivery:
    """The parts that a session's deliveries pass."""

    def __init__(
        self, life: NodeLife, retention: Retention, requests: Requests, limits: ServerLimits
    ) -> None:
        """Open the store, where there is one.

        Raises:
            StoreUrlError, StoreUnavailableError: There is no such store, or it does not answer.
        """
        config, topics, kafka = life.config, life.topics, life.kafka
        self.application_shares = ApplicationShares(
            EntitySetting(
                kafka, topics, life.node, life.member, life.session_timeout_ms,
                life.application_properties, life.counters, config.strategies,
            )
        )  # fmt: skip
        self.subscribing = Subscribing(
            topics.subscriptions, life.tables, life.node, life.appender, life.marks, life.local,
            requests.send, self.application_shares, DeniedFilters(config.denied_filters, config.denied_reason),
            life.claims, retention, exclusive=config.exclusive_subscriptions,
        )  # fmt: skip
        self.persistence: Persistence | None = None
        if config.persistence_store is not None:
            store = open_store(config.persistence_store, prefix=config.topic_prefix)
            self.persistence = Persistence(
                kafka, topics, store, life.appender, life.counters, life.local, life.marks, life.sources,
                config.max_queued, config.max_queued_bytes, retention.keep_found,
            )  # fmt: skip
        bounds = Bounds(config.max_queued, config.max_queued_bytes, config.application_replay_rate)
        self.applications = Applications(
            kafka, topics, life.application_properties, bounds, life.counters, life.local, life.marks,
            requests.send,
        )  # fmt: skip
        self.returning = Returning(topics.shares, life.appender, life.counters)
        self.kept = KeptSessions(
            self.subscribing, self.persistence, self.applications, self.returning, limits
        )
        self.rates = open_rates(config, self.kept.wake)

    @property
    def open_backlogs(self) -> Callable[[], Backlogs] | None:
        """How to read what waits for clients that are away; None where nothing is kept for them."""
        return self.persistence.open_backlogs if self.persistence else None
