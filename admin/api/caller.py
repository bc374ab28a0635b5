"""Who calls: a browser's cookie or a program's token, its role, and that a browser means what it sends."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, Request

from admin.api.problems import ProblemError
from admin.api.services import Services
from admin.clients.administered import AdministeredClients
from identity.logins import Login
from identity.roles import Role

COOKIE = "sluicemq_session"
CSRF_HEADER = "X-CSRF-Token"
"""What a browser must send along with what changes anything: other sites can make it send the cookie, but not this."""

_SAFE = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True)
class Caller:
    """Who sends a request."""

    login: Login
    token: str

    @property
    def user(self) -> str:
        """The user's name."""
        return self.login.user


def csrf_token(token: str) -> str:
    """What belongs to a session's token, and tells nothing of it."""
    return hashlib.sha256(b"csrf " + token.encode()).hexdigest()


def services(request: Request) -> Services:
    """What the application was made with."""
    found: Services = request.app.state.services
    return found


Parts = Annotated[Services, Depends(services)]


def caller(request: Request, parts: Parts) -> Caller:
    """Whoever calls; blocking, as it asks the database.

    Raises:
        ProblemError: Nobody that may be here.
    """
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    is_browser = scheme.lower() != "bearer"
    token = request.cookies.get(COOKIE, "") if is_browser else given.strip()
    login = parts.logins.find(token) if token else None
    if login is None:
        raise ProblemError(
            HTTPStatus.UNAUTHORIZED,
            "log in, or send a valid token as `Authorization: Bearer`",
            {"WWW-Authenticate": "Bearer"},
        )
    sent = request.headers.get(CSRF_HEADER, "")
    if (
        is_browser
        and request.method not in _SAFE
        and not hmac.compare_digest(sent.encode(), csrf_token(token).encode())
    ):
        raise ProblemError(
            HTTPStatus.FORBIDDEN, f"send the session's csrf_token in the header {CSRF_HEADER}, too"
        )
    return Caller(login, token)


def at_least(role: Role) -> Callable[[Caller], Caller]:
    """A dependency that lets in who has this role, or one that includes it."""

    def check(found: Annotated[Caller, Depends(caller)]) -> Caller:
        if not found.login.role.includes(role):
            raise ProblemError(
                HTTPStatus.FORBIDDEN,
                f"this needs the role {role}, and {found.user} is {found.login.role}: ask an administrator",
            )
        return found

    return check


def clients(parts: Parts) -> AdministeredClients:
    """The cluster's clients.

    Raises:
        ProblemError: Nobody said where its Kafka is.
    """
    if parts.clients is None:
        raise ProblemError(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "this process knows no cluster: start `sluicemq admin` with --kafka, or set TB_KAFKA_SERVERS",
        )
    return parts.clients


Clients = Annotated[AdministeredClients, Depends(clients)]
"""Named behind the caller: who may not ask is not told what there is."""
Viewer = Annotated[Caller, Depends(at_least(Role.VIEWER))]
Operator = Annotated[Caller, Depends(at_least(Role.OPERATOR))]
Administrator = Annotated[Caller, Depends(at_least(Role.ADMINISTRATOR))]
