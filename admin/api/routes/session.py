"""Log in, see who is logged in, log out."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field, SecretStr

from admin.api.caller import COOKIE, Parts, Viewer, csrf_token
from admin.api.problems import ProblemError
from identity.logins import Login
from identity.roles import Role

LOGIN_SECONDS = 8 * 3_600
"""How long a browser stays logged in: a shift."""

router = APIRouter(prefix="/session", tags=["session"])


class LoginRequest(BaseModel):
    """Who wants to log in."""

    name: Annotated[str, Field(max_length=255)]
    password: Annotated[SecretStr, Field(max_length=1024)]


class SessionModel(BaseModel):
    """Who is logged in."""

    user: str
    role: Role
    csrf_token: str
    """To be sent as `X-CSRF-Token` with each request that changes anything."""
    expires_at_ms: int
    """Since 1970."""


class FirstRun(BaseModel):
    """Whether anybody can log in; `POST /session` tells it as well."""

    needs_user: bool


@router.post("")
def log_in(given: LoginRequest, request: Request, response: Response, parts: Parts) -> SessionModel:
    """Log in: the answer sets the session's cookie."""
    address = request.client.host if request.client else ""
    wait = parts.attempts.seconds_to_wait(given.name, address)
    if wait:
        raise ProblemError(
            HTTPStatus.TOO_MANY_REQUESTS,
            f"there were too many wrong passwords: try again in {wait} s",
            {"Retry-After": str(wait)},
        )
    user = parts.users.authenticate(given.name, given.password.get_secret_value())
    if user is None:
        parts.attempts.note_failure(given.name, address)
        raise ProblemError(HTTPStatus.UNAUTHORIZED, _refusal(parts))
    token = parts.logins.open(user.name, LOGIN_SECONDS)
    response.set_cookie(
        COOKIE,
        token,
        max_age=LOGIN_SECONDS,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    login = parts.logins.find(token)
    if login is None:  # the user was removed at this very moment
        raise ProblemError(HTTPStatus.UNAUTHORIZED, _refusal(parts))
    return _session(login, token)


@router.get("")
def show(caller: Viewer) -> SessionModel:
    """Show who is logged in, and its CSRF token."""
    return _session(caller.login, caller.token)


@router.get("/first-run")
def first_run(parts: Parts) -> FirstRun:
    """Tell whether there is no user yet, so that a page that asks to log in can say what to do."""
    return FirstRun(needs_user=parts.users.count() == 0)


@router.delete("", status_code=HTTPStatus.NO_CONTENT)
def log_out(caller: Viewer, response: Response, parts: Parts) -> None:
    """Log out: the token is not valid any more."""
    parts.logins.close(caller.token)
    response.delete_cookie(COOKIE)


def _refusal(parts: Parts) -> str:
    if parts.users.count() == 0:
        return "there is no user yet: `sluicemq users add NAME` adds the first one, and asks for a password"
    return "name or password is wrong"


def _session(login: Login, token: str) -> SessionModel:
    return SessionModel(
        user=login.user, role=login.role, csrf_token=csrf_token(token), expires_at_ms=login.expires_at_ms
    )
