"""The console beside the API, in one application."""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, RedirectResponse
from nicegui import app as pages_app
from nicegui import ui

from admin.console import pages
from admin.console.static_files import STATIC, static_text
from admin.console.view import HOME, LOGIN


def mount_console(app: FastAPI) -> None:
    """Serve the console at `/console/`, and lead there from `/`.

    NiceGUI has one application in a process: the last one that is mounted is the one that its pages ask.
    """
    style = static_text("console.css")
    login = static_text("login.html").replace("/* console.css */", style)
    login = login.replace("<!-- sluice.svg -->", static_text("sluice.svg"))

    @app.get("/", include_in_schema=False)
    def lead_to_console() -> RedirectResponse:
        return RedirectResponse(f"{HOME}/")

    @app.get(LOGIN, include_in_schema=False)
    def show_login() -> HTMLResponse:
        return HTMLResponse(login, headers={"Cache-Control": "no-store"})

    pages_app.state.api = app
    pages.load()
    ui.add_head_html(f"<style>{style}</style>", shared=True)
    ui.run_with(
        app,
        mount_path=HOME,
        title="SluiceMQ",
        dark=None,
        language="en-US",
        tailwind=False,
        favicon=str(STATIC / "sluice.svg"),
        show_welcome_message=False,
        # A page that lost its connection for so long, a laptop that slept, say, is built anew.
        reconnect_timeout=30,
    )
