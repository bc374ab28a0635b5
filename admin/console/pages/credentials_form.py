"""The form of credentials, of each kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from nicegui import ui

from admin.console.fields import choice_field, lines_field, text_field, typed, typed_lines
from admin.console.listing import Row
from admin.console.view import View

_KINDS = {
    "basic": "Basic: client ID, user name, password",
    "x509": "X.509: the certificate's common name",
    "scram": "SCRAM: a password that is never sent",
}
_ALLOWED = {"everything": "Everything", "patterns": "What a pattern matches", "nothing": "Nothing"}


class CredentialsForm:
    """Makes or changes credentials."""

    def __init__(self, view: View, row: Row | None, done: Callable[[], Awaitable[None]]) -> None:
        """`row`: what is changed, None for new ones; `done`: called when the API has taken it."""
        self._view, self._row, self._done = view, row, done
        self._name: ui.input | None = None

    def fill(self) -> None:
        """Make the fields."""
        row = self._row or {"kind": "basic", "rules": {"publish": None, "subscribe": None}}
        self._name = text_field("Name", row.get("name", ""), required=True)
        self._kind = choice_field("Kind", _KINDS, row["kind"])
        self._type = choice_field(
            "Client type",
            {"DEVICE": "Device", "APPLICATION": "Application"},
            row.get("client_type", "DEVICE"),
        )
        if self._row:
            self._name.disable()
            self._kind.disable()
        self._basic(row)
        self._certificate(row)
        self._rules = {
            "publish": _RuleField("May publish to", row["rules"]["publish"]),
            "subscribe": _RuleField("May subscribe to", row["rules"]["subscribe"]),
        }

    def _basic(self, row: Row) -> None:
        kind = self._kind
        with ui.element("div").classes("split") as names:
            self._client_id = text_field("Client ID", row.get("client_id") or "", hint="Empty: any")
            self._client_id.bind_visibility_from(kind, "value", value="basic")
            self._username = text_field("User name", row.get("username") or "")
        names.bind_visibility_from(kind, "value", backward=lambda value: value != "x509")
        kept = (
            " – left empty, it stays"
            if self._row and row.get("has_password") and row["kind"] == "basic"
            else ""
        )
        self._password = text_field(f"Password{kept}", password=True, complete="new-password")
        self._password.bind_visibility_from(kind, "value", backward=lambda value: value != "x509")
        no_password = bool(self._row) and not row.get("has_password")
        self._open = ui.checkbox("No password: let in whoever gives these names", value=no_password)
        self._open.bind_visibility_from(kind, "value", value="basic")

    def _certificate(self, row: Row) -> None:
        with ui.element("div") as names:
            self._common_name = text_field("Common name", row.get("common_name") or "")
            self._is_pattern = ui.checkbox("It is a pattern", value=bool(row.get("is_pattern")))
        names.bind_visibility_from(self._kind, "value", value="x509")

    async def submit(self) -> None:
        """Send it to the API."""
        given = self._given()
        if self._row:
            await self._view.calls.send("PUT", f"/credentials/{quote(given['name'], safe='')}", given)
        else:
            await self._view.calls.send("POST", "/credentials", given)
        await self._done()

    def _given(self) -> dict[str, Any]:
        given = {
            "name": self._name.value if self._name else "",
            "kind": self._kind.value,
            "client_type": self._type.value,
            "rules": {action: rule.given() for action, rule in self._rules.items()},
        }
        password = typed(self._password.value)
        match self._kind.value:
            case "basic":
                given |= {"client_id": typed(self._client_id.value), "username": typed(self._username.value)}
                given |= {"password": password, "no_password": bool(self._open.value) and password is None}
            case "scram":
                given |= {"username": self._username.value, "password": self._password.value or ""}
            case _:
                given |= {"common_name": self._common_name.value, "is_pattern": self._is_pattern.value}
        return given


class _RuleField:
    """What is allowed: everything, nothing, or what patterns match."""

    def __init__(self, label: str, patterns: list[str] | None) -> None:
        allowed = "everything" if patterns is None else "patterns" if patterns else "nothing"
        self._choice = choice_field(label, _ALLOWED, allowed)
        self._lines = lines_field(
            f"{label}: patterns",
            "\n".join(patterns or []),
            rows=3,
            hint="One a line, each for the whole of it, as sensors/.* ; ${clientid} and ${username} stand for its own.",
        )
        self._lines.bind_visibility_from(self._choice, "value", value="patterns")

    def given(self) -> list[str] | None:
        """As the API takes it."""
        match self._choice.value:
            case "everything":
                return None
            case "nothing":
                return []
            case _:
                return typed_lines(self._lines.value)
