"""The authorization test: may a client publish or subscribe, and by which rule."""

from __future__ import annotations

from nicegui import ui

from admin.console.fields import choice_field, text_field, typed
from admin.console.parts import notice, page_head
from admin.console.shell import console_page
from admin.console.view import View

_ACTIONS = {"publish": "Publish to a topic", "subscribe": "Subscribe to a filter"}


@console_page("/authorization", "Authorization test")
async def authorization(view: View) -> None:
    """Ask the rules."""
    page_head(
        "Authorization test",
        "Whether a client with some credentials may do something, and which rule allows it.",
    )
    with ui.element("form").props("novalidate").classes("card").style("max-width: 640px; gap: 14px") as form:
        credentials = text_field("Name of the credentials", view.query.get("credentials", ""), required=True)
        with ui.element("div").classes("split"):
            client_id = text_field("Client ID", required=True)
            username = text_field("User name", hint="Empty: that of the credentials")
        action = choice_field("What it wants", _ACTIONS, "publish")
        topic = text_field("Topic, or filter", required=True, mono=True)
        with ui.element("div").classes("buttons"):
            ui.button("Test").props("unelevated no-caps text-color=on-accent type=submit")
    answered = ui.element("div").style("max-width: 640px").props("aria-live=polite")

    async def test() -> None:
        answered.clear()
        with answered, view.telling():
            found = await view.calls.send(
                "POST",
                "/authorization-test",
                {
                    "credentials": credentials.value,
                    "client_id": client_id.value,
                    "username": typed(username.value),
                    "action": action.value,
                    "topic": topic.value,
                },
            )
            if found["allowed"]:
                notice(f"Allowed, by the rule {found['rule']}", "good")
            else:
                notice("Denied: no rule of these credentials allows it.", "bad")

    form.on("submit.prevent", test)
