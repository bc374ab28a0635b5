"""A small HTTP server in a thread: `/metrics` for Prometheus, `/health/live` and `/health/ready` for supervisors.

It is Python's own WSGI server around prometheus_client's application. In a thread, since the process' main one may be
busy, or hang, which is what one wants to hear then. It answers anybody who reaches it, so where it listens is the
operator's choice.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from socket import AF_INET6
from socketserver import TCPServer, ThreadingMixIn
from typing import Any
from urllib.parse import parse_qs
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer
from wsgiref.types import StartResponse, WSGIEnvironment

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from telemetry.addresses import Address
from telemetry.health import Check, Health, report

METRICS, LIVE, READY = "/metrics", "/health/live", "/health/ready"
_SECONDS_TO_ASK = 5.0
"""Whoever connects and says nothing is not waited for longer."""
_MOST_REQUESTS = 16
"""Answered at a time; more connections than that are closed at once."""
_JSON = ("Content-Type", "application/json")
_UNSTORED = ("Cache-Control", "no-store")


class HealthCollector(Collector):
    """`sluicemq_health_check_failing`: what `/health/ready` says, for Prometheus."""

    def __init__(self, health: Health) -> None:
        self._health = health

    def describe(self) -> Iterable[Metric]:
        """Nothing is checked for the sake of names."""
        return [self._family()]

    def collect(self) -> Iterable[Metric]:
        """Make the checks."""
        family, failures = self._family(), self._health.failures()
        for name in self._health.names:
            family.add_metric([name], float(name in failures))
        return [family]

    def _family(self) -> GaugeMetricFamily:
        return GaugeMetricFamily(
            "sluicemq_health_check_failing", "1 while this check of /health/ready fails.", labels=["check"]
        )


class TelemetryServer:
    """Serves until it is closed."""

    def __init__(self, address: Address, registry: CollectorRegistry, live: Health, ready: Health) -> None:
        """Listen, and answer.

        Args:
            address: Where; port 0 takes a free one.
            registry: What `/metrics` shows.
            live: What `/health/live` checks: whether only a restart can help.
            ready: What `/health/ready` checks.

        Raises:
            OSError: It can't be listened on; it stands in `filename`.
        """
        self._metrics = make_wsgi_app(registry)
        self._health = {LIVE: live, READY: ready}
        registry.register(HealthCollector(ready))
        try:
            self._server = _server(address)
        except OSError as error:
            raise OSError(error.errno, error.strerror, f"{address[0]}:{address[1]}") from error
        self._server.set_app(self._answer)
        self._thread = threading.Thread(target=self._server.serve_forever, name="telemetry", daemon=True)
        self._thread.start()

    @property
    def address(self) -> Address:
        """Where it listens."""
        host, port = self._server.server_address[:2]
        return str(host), int(port)

    def close(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if environ.get("REQUEST_METHOD") not in ("GET", "HEAD"):
            return _told(start, "405 Method Not Allowed", {"error": "ask with GET"})
        if path == METRICS:
            shown: Iterable[bytes] = self._metrics(environ, start)
            return shown
        if (health := self._health.get(path)) is None:
            there = ", ".join((METRICS, LIVE, READY))
            return _told(start, "404 Not Found", {"error": f"there are {there}"})
        exclude = frozenset(parse_qs(environ.get("QUERY_STRING", "")).get("exclude", ()))
        failures = health.failures(exclude)
        status = "503 Service Unavailable" if failures else "200 OK"
        told = report(health, failures, exclude, time.time())
        # A gateway without a store has no check of it: whoever asks all of them alike must not be refused.
        if unknown := sorted(exclude.difference(health.names)):
            told["no_such_check"] = unknown
        return _told(start, status, told)


def _told(start: StartResponse, status: str, content: dict[str, Any]) -> Iterable[bytes]:
    body = json.dumps(content, ensure_ascii=False).encode() + b"\n"
    start(status, [_JSON, _UNSTORED, ("Content-Length", str(len(body)))])
    return [body]


@contextmanager
def serving(
    registry: CollectorRegistry, address: Address | None, checks: Mapping[str, Check]
) -> Iterator[None]:
    """Serve while the block runs, where there is an address.

    Args:
        registry: What `/metrics` shows.
        address: Where; None: nowhere.
        checks: Those of `/health/ready`. Nothing speaks against being alive but silence.

    Raises:
        OSError: It can't be listened on; it stands in `filename`.
    """
    if address is None:
        yield
        return
    ready = Health()
    for name, check in checks.items():
        ready.add(name, check)
    with closing(TelemetryServer(address, registry, Health(), ready)):
        yield


class _Handler(WSGIRequestHandler):
    timeout = _SECONDS_TO_ASK

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: a scrape every few seconds is no news."""


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    block_on_close = False  # a client that reads slowly must not keep the process from ending

    def __init__(self, *args: Any) -> None:
        self._free = threading.Semaphore(_MOST_REQUESTS)
        super().__init__(*args)

    def server_bind(self) -> None:
        """Without asking for this host's name, which may take seconds where nobody knows it."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread, if there are not too many."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Then there is room for the next one."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is its own affair."""


class _Server6(_Server):
    address_family = AF_INET6


def _server(address: Address) -> _Server:
    return (_Server6 if ":" in address[0] else _Server)(address, _Handler)
