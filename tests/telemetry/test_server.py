"""What the small HTTP server answers."""

from __future__ import annotations

import socket
from contextlib import closing

import httpx
import pytest
from prometheus_client import CollectorRegistry, Gauge

from telemetry.health import Failure, Health
from telemetry.registry import process_registry
from telemetry.server import TelemetryServer
from tests.telemetry.scraping import served


def test_metrics_with_the_checks_among_them() -> None:
    registry = process_registry("gateway", node="gw1")
    Gauge("answer", "To all.", registry=registry).set(42)
    with served(registry, {"good": lambda: None, "bad": lambda: Failure("it is")}) as scrape:
        text = scrape.metrics()
        packed = httpx.get(f"{scrape.url}/metrics", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "answer 42.0" in packed.text
    assert "answer 42.0" in text
    assert 'sluicemq_health_check_failing{check="good"} 0.0' in text
    assert 'sluicemq_health_check_failing{check="bad"} 1.0' in text
    assert 'node="gw1"' in text
    assert "process_cpu_seconds_total" in text


def test_health() -> None:
    with served(CollectorRegistry(), {"good": lambda: None, "bad": lambda: Failure("it is", 0.0)}) as scrape:
        status, told = scrape.ready()
        assert status == 503
        assert told["status"] == "down"
        assert told["checks"]["good"] == {"status": "up"}
        assert told["checks"]["bad"]["reason"] == "it is"
        assert told["checks"]["bad"]["since"] == "1970-01-01T00:00:00+00:00"
        assert scrape.ready("?exclude=bad") == (200, {"status": "up", "checks": {"good": {"status": "up"}}})
        assert scrape.ready("?exclude=good&exclude=bad") == (200, {"status": "up", "checks": {}})
        status, told = scrape.ready("?exclude=bad&exclude=ugly")
        assert status == 200, "one that there is not is passed over, and named"
        assert told["no_such_check"] == ["ugly"]
        assert httpx.get(f"{scrape.url}/health/live").json() == {"status": "up", "checks": {}}


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/", 404), ("GET", "/metricsx", 404), ("POST", "/metrics", 405)]
)
def test_what_is_not_there(method: str, path: str, status: int) -> None:
    with served(CollectorRegistry(), {}) as scrape:
        assert httpx.request(method, scrape.url + path).status_code == status


def test_who_says_nothing_keeps_nobody_from_being_answered() -> None:
    with served(CollectorRegistry(), {}) as scrape:
        host, port = scrape.url.removeprefix("http://").split(":")
        silent = [socket.create_connection((host, int(port)), 60) for _ in range(5)]
        assert scrape.ready()[0] == 200
        for one in silent:
            one.close()


def test_an_address_in_use_is_named() -> None:
    with closing(TelemetryServer(("127.0.0.1", 0), CollectorRegistry(), Health(), Health())) as server:
        with pytest.raises(OSError) as error:
            TelemetryServer(server.address, CollectorRegistry(), Health(), Health())
        assert error.value.filename == "{}:{}".format(*server.address)
