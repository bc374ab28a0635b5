"""The API as an application; `GET /api/v1/openapi.json` describes it, `/api/v1/docs` shows it."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import APIRouter, FastAPI, Response

from admin.api.metrics import ApiMetrics, Measured
from admin.api.problems import answer_with_problems
from admin.api.routes import (
    authentication,
    clients,
    clients_kept_out,
    credentials,
    kafka,
    messages,
    overview,
    retained,
    route_test,
    session,
    shared_subscriptions,
    subscriptions,
    users,
    view,
)
from admin.api.services import Services

PREFIX = "/api/v1"


def create_app(services: Services, metrics: ApiMetrics | None = None) -> FastAPI:
    """The application; whoever makes it closes the services when it has ended. `metrics` counts its requests."""
    app = FastAPI(
        title="SluiceMQ administration",
        version=version("sluicemq"),
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=f"{PREFIX}/docs",
        redoc_url=None,
    )
    app.state.services = services
    if metrics is not None:
        app.add_middleware(Measured, metrics=metrics)
    answer_with_problems(app)
    api = APIRouter(prefix=PREFIX)
    for routes in (
        session, users, credentials, clients_kept_out, authentication, view, clients, subscriptions, retained,
        messages, overview, kafka, route_test, shared_subscriptions,
    ):  # fmt: skip
        api.include_router(routes.router)
    app.include_router(api)
    app.include_router(_health(services))
    return app


def _health(services: Services) -> APIRouter:
    router = APIRouter(prefix="/health", tags=["health"])

    @router.get("/live")
    def live() -> dict[str, str]:
        """Tell that this process answers."""
        return {"status": "up"}

    @router.get("/ready")
    def ready(response: Response) -> dict[str, str]:
        """Tell whether it can do its work: 200, or 503 with a problem document."""
        services.database.revisions()
        response.headers["Cache-Control"] = "no-store"
        return {"status": "up"}

    return router
