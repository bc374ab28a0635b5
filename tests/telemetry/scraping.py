"""Asking a process of itself, as Prometheus and Kubernetes do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from prometheus_client import CollectorRegistry

from telemetry.addresses import http_url
from telemetry.health import Check, Health
from telemetry.server import TelemetryServer

SECONDS = 60.0


@dataclass(frozen=True)
class Scrape:
    """Where one process serves its metrics and health."""

    url: str

    def metrics(self) -> str:
        """All of them."""
        answer = httpx.get(f"{self.url}/metrics", timeout=SECONDS)
        assert answer.status_code == 200, answer.text
        return answer.text

    def ready(self, query: str = "") -> tuple[int, dict[str, Any]]:
        """Status and body of `/health/ready`."""
        answer = httpx.get(f"{self.url}/health/ready{query}", timeout=SECONDS)
        return answer.status_code, answer.json()


@contextmanager
def served(registry: CollectorRegistry, checks: Mapping[str, Check]) -> Iterator[Scrape]:
    """Serve a registry and checks of a test's own."""
    ready = Health()
    for name, check in checks.items():
        ready.add(name, check)
    with closing(TelemetryServer(("127.0.0.1", 0), registry, Health(), ready)) as server:
        yield Scrape(http_url(server.address))
