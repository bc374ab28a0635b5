"""The frame around every page: the places, who is logged in, the theme; and how a page is registered."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Request
from fastapi.responses import RedirectResponse
from nicegui import ui

from admin.console.calls import ProblemAnswer
from admin.console.dialogs import form_dialog
from admin.console.fields import text_field
from admin.console.parts import heading, notice
from admin.console.places import PLACES
from admin.console.static_files import static_text
from admin.console.view import HOME, View, login_address, sentence

Build = Callable[[View], Awaitable[None]]

THEMES = {"light": False, "dark": True, "auto": None}
SECONDS_TO_BUILD = 60.0
"""Until a page is given up; it asks the API, which may have to wait for a busy database."""


def console_page(path: str, title: str) -> Callable[[Build], Build]:
    """Register a page: it is built inside the frame, for somebody who is logged in."""

    def register(build: Build) -> Build:
        @ui.page(path, title=f"{title} – SluiceMQ", response_timeout=SECONDS_TO_BUILD)
        async def page(request: Request) -> Any:
            try:
                view = await View.open(request)
            except ProblemAnswer as problem:
                if not problem.is_logged_out:
                    _show_problem(problem)
                    return None
                asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
                return RedirectResponse(login_address(asked))
            _frame(view, path, title)
            with ui.element("main").classes("page").props("id=content tabindex=-1"):
                try:
                    await build(view)
                except ProblemAnswer as problem:
                    _show_problem(problem)
            return None

        return build

    return register


def _show_problem(problem: ProblemAnswer) -> None:
    notice(sentence(problem.detail), "bad")


def _frame(view: View, path: str, title: str) -> None:
    drawer: ui.left_drawer
    theme = view.theme if view.theme in THEMES else "auto"
    dark = ui.dark_mode(THEMES[theme or "auto"])
    # Before all else in the document, so that it is the keyboard's first stop.
    ui.add_body_html('<a class="skip" href="#content">Skip to the content</a>')
    with ui.header().classes("bar").props("height-hint=50"):
        ui.button(icon="menu", on_click=lambda: drawer.toggle()).props('flat dense aria-label="Menu"')
        ui.label(title).style("font-weight: 500")
    with ui.left_drawer(value=None).classes("places").props("breakpoint=1023 width=224") as drawer:
        with ui.element("a").classes("wordmark").props(f'href="{HOME}/"'):
            ui.html(static_text("sluice.svg"), tag="span", sanitize=False).classes("mark").props(
                "aria-hidden=true"
            )
            ui.label("SluiceMQ")
        _navigation(view, path)
        _who(view, dark, theme or "auto")


def _navigation(view: View, path: str) -> None:
    with ui.element("nav").props('aria-label="Places"'):
        for group, places in PLACES:
            if group:
                heading(2, group)
            with ui.element("ul"):
                for place in places:
                    if not view.may(place.role):
                        continue
                    with ui.element("li"), ui.element("a").props(f'href="{HOME}{place.path}"') as link:
                        ui.label(place.title)
                    if place.path == path:
                        link.props("aria-current=page")


def _who(view: View, dark: ui.dark_mode, theme: str) -> None:
    async def log_out() -> None:
        with view.telling():
            await view.calls.send("DELETE", "/session")
        # The browser forgets its cookie, too: it is out of the reach of scripts, and this answer ends it.
        ui.navigate.to("/")

    def choose(name: str) -> None:
        dark.set_value(THEMES[name])
        cookie = f"sluicemq_theme={name}; path=/; max-age=31536000; samesite=strict"
        ui.run_javascript(f"document.cookie = {json.dumps(cookie)}")

    with ui.element("div").classes("who"):
        with ui.element("div"):
            ui.label(view.session.user).style("font-weight: 500")
            ui.label(view.session.role.capitalize()).classes("soft")
        ui.select(
            {"auto": "Theme: system", "light": "Theme: light", "dark": "Theme: dark"},
            value=theme,
            on_change=lambda event: choose(str(event.value)),
        ).props('dense outlined aria-label="Theme"')
        with ui.element("div").classes("buttons"):
            ui.button("Password", on_click=lambda: _change_password(view)).props("flat dense no-caps")
            ui.button("Log out", on_click=log_out).props("flat dense no-caps")


def _change_password(view: View) -> None:
    fields: dict[str, ui.input] = {}

    def fill() -> None:
        ui.label("You will be logged out everywhere, and log in with the new one.").classes("soft")
        fields["old"] = text_field("Old password", password=True, complete="current-password")
        fields["new"] = text_field("New password", password=True, complete="new-password")

    async def submit() -> None:
        given = {name: field.value for name, field in fields.items()}
        await view.calls.send("PUT", "/password", given)
        ui.navigate.reload()

    form_dialog("Change your password", "Change password", fill, submit)
