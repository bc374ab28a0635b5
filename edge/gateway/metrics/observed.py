"""A gateway under observation: from before it starts until after it has stopped."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Histogram

from edge.gateway.announcements import announce
from edge.gateway.metrics.checks import KafkaCheck, LoopCheck, RouterCheck, StartCheck, StoreCheck
from edge.gateway.metrics.counted import PREFIX
from edge.gateway.metrics.readings import GatewayCollector
from telemetry.addresses import http_url
from telemetry.health import Asked, Health
from telemetry.registry import process_registry
from telemetry.server import TelemetryServer

if TYPE_CHECKING:
    from edge.gateway.config import GatewayConfig
    from edge.gateway.gateway import Gateway

OBSERVED = "OBSERVED"
"""What the line on standard output begins with that tells where metrics and health are, as JSON."""
_LATENCIES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Seconds: from what a quiet router takes to what one takes that was restarted."""


class Observed:
    """What `/metrics` and `/health` of one gateway are made of."""

    def __init__(self, config: GatewayConfig) -> None:
        self._config = config
        self.registry: CollectorRegistry = process_registry("gateway", node=config.node)
        self.live, self.ready = Health(), Health()
        self._starting = StartCheck()
        self.ready.add("started", self._starting)
        self._server: TelemetryServer | None = None

    def open(self) -> None:
        """Serve, where the configuration has an address; tells it by the OBSERVED line.

        Raises:
            OSError: It can't be listened on; it stands in `filename`.
        """
        address = self._config.metrics_listen
        if address is not None:
            self._server = TelemetryServer(address, self.registry, self.live, self.ready)
            where = {"node": self._config.node, "http": http_url(self._server.address)}
            announce(OBSERVED, where)

    def watch(self, gateway: Gateway) -> None:
        """Look at this gateway from now on; call it in its event loop."""
        config, loop = self._config, asyncio.get_running_loop()
        probes = Histogram(
            f"{PREFIX}router_probe_latency_seconds",
            "From a probe's sending to the router's last answer to it.",
            buckets=_LATENCIES,
            registry=self.registry,
        )
        signs = gateway.signs
        signs.probing.on_latency = probes.observe
        self.registry.register(GatewayCollector(loop, gateway.counters, signs.readings))
        self.live.add("event_loop", LoopCheck(lambda: signs.pulse.still_for))
        kafka = KafkaCheck(config.kafka, config.topics.publishes, lambda: signs.appender.stalled_for)
        self.ready.add("kafka", Asked(kafka))
        self.ready.add(
            "router", RouterCheck(lambda: signs.probing.waiting_for, lambda: signs.probing.has_answer)
        )
        if config.persistence_store is not None:
            store = StoreCheck(
                config.persistence_store, config.topic_prefix, config.kafka, config.topics.persisted
            )
            self.ready.add("store", Asked(store))

    def started(self) -> None:
        """The gateway takes clients."""
        self._starting.is_over = True

    def close(self) -> None:
        """Serve no more."""
        if self._server is not None:
            self._server.close()
