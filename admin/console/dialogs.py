"""Dialogs: a form whose problems show inside it, the question before something is lost, and what is only shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from admin.console.calls import ProblemAnswer
from admin.console.view import View, sentence


def form_dialog(
    title: str,
    verb: str,
    fill: Callable[[], None],
    submit: Callable[[], Awaitable[None]],
    *,
    is_destructive: bool = False,
) -> None:
    """Open a form.

    Args:
        title: Its heading.
        verb: What its button says.
        fill: Makes its fields.
        submit: Called when it is sent; the dialog closes unless this raises a ProblemAnswer, which it then shows.
        is_destructive: Whether something is lost when it is sent.
    """
    with ui.dialog() as dialog, ui.element("div").classes("form"):
        dialog.props["aria-label"] = title
        with ui.element("div"):
            with ui.element("h2"):
                ui.label(title)
            with ui.element("form").props("novalidate") as form:
                fill()
                problem = ui.label().classes("problem").props("role=alert")
                problem.set_visibility(False)
                with ui.element("div").classes("buttons"):
                    ui.button("Cancel", on_click=dialog.close).props("flat no-caps")
                    send = ui.button(verb).props("unelevated no-caps text-color=on-accent type=submit")
                    if is_destructive:
                        send.props("color=negative")

    page = ui.context.client

    async def send_it() -> None:
        send.disable()
        try:
            with page.content:  # What this shows must outlive the dialog.
                await submit()
        except ProblemAnswer as answer:
            problem.set_text(sentence(answer.detail))
            problem.set_visibility(True)
        else:
            dialog.close()
        finally:
            send.enable()

    form.on("submit.prevent", send_it)
    dialog.on("hide", dialog.delete)
    dialog.open()


def confirm(
    question: str,
    consequence: str,
    verb: str,
    act: Callable[[], Awaitable[None]],
    *,
    is_destructive: bool = True,
) -> None:
    """Ask before something is done: what will be, and what it means."""

    def fill() -> None:
        ui.label(consequence)

    form_dialog(question, verb, fill, act, is_destructive=is_destructive)


def confirm_removal(
    view: View,
    question: str,
    consequence: str,
    path: str,
    done: Callable[[], Awaitable[None]],
    *,
    verb: str = "Remove",
    is_destructive: bool = True,
    **query: Any,
) -> None:
    """Ask before something is removed by the API.

    Args:
        view: The page's.
        question: What is asked.
        consequence: What it means.
        path: The API's, to which DELETE is sent.
        done: Called when it is removed.
        verb: What the button says.
        is_destructive: Whether something is lost.
        query: What DELETE is sent with.
    """

    async def act() -> None:
        await view.calls.send("DELETE", path, **query)
        await done()

    confirm(question, consequence, verb, act, is_destructive=is_destructive)


def show_dialog(title: str, fill: Callable[[], None]) -> None:
    """Show something until it is closed: its heading, and what makes the rest."""
    with ui.dialog() as dialog, ui.element("div").classes("form wide"):
        dialog.props["aria-label"] = title
        with ui.element("h2"):
            ui.label(title)
        with ui.element("div").style("display: flex; flex-direction: column; gap: 14px; margin-top: 14px"):
            fill()
            with ui.element("div").classes("buttons"):
                ui.button("Close", on_click=dialog.close).props("unelevated no-caps text-color=on-accent")
    dialog.on("hide", dialog.delete)
    dialog.open()
