"""One page for one browser: its calls of the API, who is logged in, and what becomes of problems."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

from fastapi import Request
from nicegui import ui

from admin.api.caller import COOKIE
from admin.console.calls import Calls, ProblemAnswer, Session
from identity.roles import Role

HOME = "/console"
LOGIN = f"{HOME}/login"


class View:
    """What a page is built with."""

    def __init__(self, calls: Calls, session: Session, query: dict[str, str], theme: str | None) -> None:
        """`query`: what stands behind the question mark of the address; `theme`: that the browser remembers."""
        self.calls = calls
        self.session = session
        self.query = query
        self.theme = theme

    @classmethod
    async def open(cls, request: Request) -> View:
        """The view of the browser that asks for a page.

        Raises:
            ProblemAnswer: Nobody is logged in there, or the API is not able to tell.
        """
        address = request.client.host if request.client else ""
        calls = Calls(request.app.state.api, request.cookies.get(COOKIE, ""), address)
        session = await calls.open()
        return cls(calls, session, dict(request.query_params), request.cookies.get("sluicemq_theme"))

    def may(self, role: Role) -> bool:
        """Whether the user has a role, or one that includes it."""
        return Role(self.session.role).includes(role)

    @property
    def may_change(self) -> bool:
        """Whether the user may change what concerns clients."""
        return self.may(Role.OPERATOR)

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Tells the user of problems of the block; who is logged out meanwhile is led to log in."""
        try:
            yield
        except ProblemAnswer as problem:
            self.tell(problem)

    def tell(self, problem: ProblemAnswer) -> None:
        """Tell the user of a problem."""
        if problem.is_logged_out:
            ui.navigate.reload()  # The page then leads to where one logs in, and back.
        else:
            ui.notify(sentence(problem.detail), type="negative", timeout=8000, close_button="Close")


def login_address(next_place: str) -> str:
    """Where one logs in, to go on to a place afterwards."""
    return f"{LOGIN}?next={quote(next_place, safe='')}"


def sentence(text: str) -> str:
    """A text as a sentence: with a capital letter and a full stop."""
    end = "" if text.endswith((".", "!", "?")) else "."
    return text[:1].upper() + text[1:] + end
