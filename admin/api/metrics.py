"""What the administration tells operators: requests by route and status, how long they take, logins refused."""

from __future__ import annotations

import time
from collections.abc import Callable
from http import HTTPStatus

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from prometheus_client import Counter, Histogram
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from identity.database import Database
from telemetry.health import Failure
from telemetry.registry import process_registry

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_OTHER = "other"
"""Stands for what clients make up, so that they cannot make up labels."""
_REFUSALS = {HTTPStatus.UNAUTHORIZED: "password", HTTPStatus.TOO_MANY_REQUESTS: "limit"}
_LOGIN = "/session"
"""What the route that logs in ends with."""


class ApiMetrics:
    """The administration's registry, and what its requests come to."""

    def __init__(self) -> None:
        self.registry = process_registry("admin")
        self._requests = Counter(
            "sluicemq_admin_requests",
            "Requests answered, by route as the API's document has it.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "sluicemq_admin_request_duration_seconds",
            "From a request until its answer has been sent.",
            ["method", "route"],
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0),
            registry=self.registry,
        )
        self._refused = Counter(
            "sluicemq_admin_logins_refused",
            "Logins refused: a wrong name or password, or too many of them before.",
            ["reason"],
            registry=self.registry,
        )
        for reason in _REFUSALS.values():
            self._refused.labels(reason)

    def answered(self, method: str, route: str | None, status: int, seconds: float) -> None:
        """A request has its answer.

        Args:
            method: Of HTTP.
            route: As it was declared; None where there is none.
            status: The answer's.
            seconds: How long it took.
        """
        method, route = method if method in _METHODS else _OTHER, route or _OTHER
        self._requests.labels(method, route, status).inc()
        self._seconds.labels(method, route).observe(seconds)
        if method == "POST" and route.endswith(_LOGIN) and (reason := _REFUSALS.get(HTTPStatus(status))):
            self._refused.labels(reason).inc()


class Measured:
    """Middleware that counts what the application answers."""

    def __init__(self, app: ASGIApp, metrics: ApiMetrics) -> None:
        self._app = app
        self._metrics = metrics
        self._paths: dict[int, str | None] | None = (
            None  # by the route's id: routes live as long as their application
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count its answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        whole: FastAPI = scope["app"]  # what is mounted in it puts itself there
        began_at, status = time.perf_counter(), int(HTTPStatus.INTERNAL_SERVER_ERROR)

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sent)
        finally:
            path = self._path(whole, scope.get("route"))
            self._metrics.answered(scope["method"], path, status, time.perf_counter() - began_at)

    def _path(self, app: FastAPI, route: BaseRoute | None) -> str | None:
        """A route's whole path, as it was declared; a router's prefix is not in the route's own."""
        if route is None:
            return None
        if self._paths is None:
            self._paths = {id(each.original_route): each.path for each in iter_route_contexts(app.routes)}
        return self._paths.get(id(route)) or getattr(route, "path", None)


def database_check(database: Database) -> Callable[[], Failure | None]:
    """Whether the database of identity answers."""

    def check() -> Failure | None:
        try:
            database.revisions()
        except Exception as error:  # whatever a database's driver says
            return Failure(f"the database of identity does not answer: {type(error).__name__}")
        return None

    return check
