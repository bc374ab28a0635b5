"""Problems: every error of the API as a problem document (RFC 9457) whose `detail` says what to change."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from admin.clients.errors import (
    ClusterError,
    ConflictError,
    NobodyAnswersError,
    NotFoundError,
    NotReadyError,
    RejectedError,
)
from admin.errors import AdminError, KafkaUnavailableError, NotConfiguredError
from identity.errors import (
    AlreadyThereError,
    DatabaseUnavailableError,
    IdentityError,
    InvalidError,
    LastAdministratorError,
    NotThereError,
)
from stores import StoreError

MEDIA_TYPE = "application/problem+json"
_RETRY_SECONDS = "5"
"""After which it is worth to ask again for what does not answer."""

_AGAIN = {"Retry-After": "1"}

_STATUS: tuple[tuple[type[Exception], HTTPStatus], ...] = (
    (NotThereError, HTTPStatus.NOT_FOUND),
    (AlreadyThereError, HTTPStatus.CONFLICT),
    (LastAdministratorError, HTTPStatus.CONFLICT),
    (InvalidError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (DatabaseUnavailableError, HTTPStatus.SERVICE_UNAVAILABLE),
    (NotFoundError, HTTPStatus.NOT_FOUND),
    (ConflictError, HTTPStatus.CONFLICT),
    (RejectedError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (NotReadyError, HTTPStatus.SERVICE_UNAVAILABLE),
    (NobodyAnswersError, HTTPStatus.GATEWAY_TIMEOUT),
)


class ProblemError(Exception):
    """Ends a request with a problem document."""

    def __init__(self, status: HTTPStatus, detail: str, headers: dict[str, str] | None = None) -> None:
        """`detail`: one sentence that says what to change."""
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers


def problem(status: int, detail: str, headers: dict[str, str] | None = None, **members: Any) -> JSONResponse:
    """A problem document; `members` are its own beside those that all have."""
    document = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": int(status),
        "detail": detail,
    }
    return JSONResponse(document | members, status, headers, media_type=MEDIA_TYPE)


def answer_with_problems(app: FastAPI) -> None:
    """Let all errors of an application's requests end as problem documents."""

    @app.exception_handler(ProblemError)
    async def own(_: Request, error: ProblemError) -> JSONResponse:
        return problem(error.status, error.detail, error.headers)

    @app.exception_handler(IdentityError)
    async def identity(_: Request, error: IdentityError) -> JSONResponse:
        return problem(_status_of(error), str(error))

    @app.exception_handler(ClusterError)
    async def cluster(_: Request, error: ClusterError) -> JSONResponse:
        headers = _AGAIN if isinstance(error, NotReadyError) else None
        return problem(_status_of(error), str(error), headers)

    @app.exception_handler(AdminError)
    async def admin(_: Request, error: AdminError) -> JSONResponse:
        if isinstance(error, (KafkaUnavailableError, NotConfiguredError)):
            headers = {"Retry-After": _RETRY_SECONDS} if isinstance(error, KafkaUnavailableError) else None
            return problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error), headers)
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))

    @app.exception_handler(StoreError)
    async def store(_: Request, error: StoreError) -> JSONResponse:
        return problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error), {"Retry-After": _RETRY_SECONDS})

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        # What was sent is left out: it may hold a password.
        errors = [{"where": _place(one["loc"]), "what": str(one["msg"])} for one in error.errors()]
        detail = "; ".join(f"{one['where']}: {one['what']}" for one in errors)
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail, errors=errors)

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> JSONResponse:
        return problem(error.status_code, str(error.detail), dict(error.headers or {}))


def _status_of(error: Exception) -> HTTPStatus:
    return next(
        (status for kind, status in _STATUS if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR
    )


def _place(location: tuple[Any, ...]) -> str:
    return ".".join(map(str, location[1:] or location))
