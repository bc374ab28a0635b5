"""Publish a message, as the broker itself."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from admin.console.fields import choice_field, lines_field, number_field, text_field, typed, typed_lines
from admin.console.pages.client_subscriptions import QOS
from admin.console.parts import notice, page_head
from admin.console.shell import console_page
from admin.console.view import View
from admin.words import moment


@console_page("/publish", "Publish")
async def publish(view: View) -> None:
    """The form."""
    page_head("Publish", "A message from the administration, which goes the way of any client's.")
    if not view.may_change:
        notice("This needs the role operator: ask an administrator.", "warn")
        return
    with ui.element("form").props("novalidate").classes("card").style("max-width: 720px; gap: 14px") as form:
        fields = _Fields(view)
        with ui.element("div").classes("buttons"):
            ui.button("Publish").props("unelevated no-caps text-color=on-accent type=submit")
    answered = ui.element("div").style("max-width: 720px").props("aria-live=polite")

    async def send() -> None:
        with view.telling():
            done = await view.calls.send("POST", "/messages", fields.given())
            answered.clear()
            with answered:
                if done["is_published"]:
                    notice(f"Published on {done['topic']} at {moment(done['due_at_ms'])}.", "good")
                else:
                    notice(f"It will be published on {done['topic']} at {moment(done['due_at_ms'])}.", "good")

    form.on("submit.prevent", send)


class _Fields:
    def __init__(self, view: View) -> None:
        self._topic = text_field(
            "Topic",
            view.query.get("topic", ""),
            required=True,
            mono=True,
            hint="$delayed/<seconds>/<topic> publishes later",
        )
        self._payload = lines_field("Payload", rows=6)
        with ui.element("div").classes("split"):
            self._qos = choice_field("QoS", QOS, "1")
            self._retain = ui.checkbox("Retain it", value="retain" in view.query)
        more = ui.expansion("Properties").props("dense header-class=expander").style("width: 100%")
        with more, ui.element("div").style("display: grid; gap: 14px; padding-top: 8px"):
            with ui.element("div").classes("split"):
                self._expiry = number_field("Message expiry, in seconds", None, hint="Empty: never")
                self._content_type = text_field("Content type")
            self._response_topic = text_field("Response topic", mono=True)
            self._user = lines_field("User properties", rows=3, hint="One a line: name = value")

    def given(self) -> dict[str, Any]:
        """As the API takes it."""
        pairs = [line.partition("=") for line in typed_lines(self._user.value)]
        return {
            "topic": self._topic.value or "",
            "payload": self._payload.value or "",
            "qos": int(self._qos.value or 0),
            "retain": self._retain.value,
            "properties": {
                "message_expiry": int(self._expiry.value) if self._expiry.value is not None else None,
                "content_type": typed(self._content_type.value),
                "response_topic": typed(self._response_topic.value),
                "user_properties": [[name.strip(), value.strip()] for name, _, value in pairs],
            },
        }
