"""The console's calls of the API: its routes, in process, as the user who is logged in."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx
from fastapi import FastAPI

from admin.api.app import PREFIX
from admin.api.caller import COOKIE, CSRF_HEADER


class ProblemAnswer(Exception):  # noqa: N818  (it is what the API answered)
    """The API answered with a problem document."""

    def __init__(self, status: int, detail: str, errors: list[dict[str, str]] | None = None) -> None:
        """`detail` says what to change; `errors` which fields are meant: `where` and `what`."""
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.errors = errors or []

    @property
    def is_logged_out(self) -> bool:
        """Whether the session has ended."""
        return self.status == HTTPStatus.UNAUTHORIZED


@dataclass(frozen=True)
class Session:
    """Who is logged in, as `GET /session` tells."""

    user: str
    role: str
    csrf_token: str


class Calls:
    """Calls of one browser's session."""

    def __init__(self, app: FastAPI, token: str, address: str) -> None:
        """`token`: the session cookie's value; `address`: where the browser is."""
        # An error that the API did not expect comes as 500, as it would over the network.
        transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=(address, 0))
        self._client = httpx.AsyncClient(
            transport=transport, base_url=f"http://console{PREFIX}", cookies={COOKIE: token}
        )

    async def open(self) -> Session:
        """Find out who is logged in; needed before anything can be changed.

        Raises:
            ProblemAnswer: Nobody is.
        """
        found = await self.get("/session")
        self._client.headers[CSRF_HEADER] = found["csrf_token"]
        return Session(found["user"], found["role"], found["csrf_token"])

    async def get(self, path: str, **query: Any) -> Any:
        """Return what a route answers; a parameter that is None is left out.

        Raises:
            ProblemAnswer: It answered with an error.
        """
        return await self._call("GET", path, params=_given(query))

    async def send(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Have something changed, and return the answer; None where it has no content.

        Raises:
            ProblemAnswer: It answered with an error.
        """
        return await self._call(method, path, params=_given(query), json=body)

    async def send_text(self, path: str, text: str, media_type: str, **query: Any) -> Any:
        """Send a text that is not JSON.

        Raises:
            ProblemAnswer: It answered with an error.
        """
        headers = {"Content-Type": media_type}
        return await self._call("POST", path, params=_given(query), content=text, headers=headers)

    async def _call(self, method: str, path: str, **request: Any) -> Any:
        answer = await self._client.request(method, path, **request)
        if answer.is_success:
            return answer.json() if answer.content else None
        try:
            problem = answer.json()
        except ValueError:
            problem = {"detail": "the administration failed: its log tells more"}
        raise ProblemAnswer(answer.status_code, problem["detail"], problem.get("errors"))


def _given(query: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in query.items() if value is not None}
