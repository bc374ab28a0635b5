"""The form of a provider's settings, made from the schema that the API gives."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from nicegui import ui

from admin.console.calls import ProblemAnswer
from admin.console.fields import choice_field, lines_field, number_field, text_field, typed, typed_lines
from admin.console.listing import Row
from admin.console.view import View

_KEPT = "A secret is there; left empty, it stays"


class ProviderForm:
    """Changes one provider's settings."""

    def __init__(self, view: View, row: Row, done: Callable[[], Awaitable[None]]) -> None:
        """`row`: the provider, with its schema."""
        self._view, self._row, self._done = view, row, done
        self._fields: dict[str, Callable[[], Any]] = {}
        self._secrets: set[str] = set()

    def fill(self) -> None:
        """Make the fields."""
        properties = self._row["settings_schema"].get("properties", {})
        if not properties:
            ui.label("It has no settings.").classes("soft")
        for name, schema in properties.items():
            self._fields[name] = self._field(name, schema)

    def _field(self, name: str, schema: dict[str, Any]) -> Callable[[], Any]:
        label = name.replace("_", " ").capitalize()
        hint = schema.get("description", "")
        value = self._row["settings"].get(name, schema.get("default"))
        kinds = {schema.get("type")} | {one.get("type") for one in schema.get("anyOf", ())}
        if schema.get("x-secret"):
            self._secrets.add(name)
            is_there = self._row["secrets"].get(name)
            secret = lines_field(label, hint=_KEPT if is_there else hint, rows=2)
            return lambda: typed(secret.value)
        if choices := schema.get("enum"):
            chosen = choice_field(label, {one: one for one in choices}, value, hint=hint)
            return lambda: chosen.value
        if "boolean" in kinds:
            ticked = ui.checkbox(label, value=bool(value))
            return lambda: ticked.value
        if kinds & {"integer", "number"}:
            number = number_field(label, value, hint=hint)
            number.precision = None if "number" in kinds else 0
            return lambda: number.value if number.value is None or number.value % 1 else int(number.value)
        if kinds & {"array"}:
            lines = lines_field(
                label, "\n".join(map(str, value or [])), hint=f"{hint} One a line.".strip(), rows=3
            )
            return lambda: typed_lines(lines.value)
        if "object" in kinds:
            document = lines_field(
                label, json.dumps(value) if value else "", hint=f"{hint} As JSON.".strip(), rows=3
            )
            return lambda: _object(label, document.value)
        if name.endswith("_key"):  # PEM has lines
            key = lines_field(label, value or "", hint=hint)
            return lambda: typed(key.value)
        text = text_field(label, "" if value is None else str(value), hint=hint)
        return lambda: typed(text.value)

    async def submit(self) -> None:
        """Send them to the API; what is empty is left out, so that its default holds, and a secret stays."""
        given = {
            name: value for name, read in self._fields.items() if (value := read()) not in (None, [], {})
        }
        await self._view.calls.send(
            "PUT", f"/authentication/providers/{quote(self._row['name'], safe='')}", {"settings": given}
        )
        await self._done()


def _object(label: str, text: str | None) -> dict[str, Any]:
    """What stands in a field as a JSON object."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ProblemAnswer(
            HTTPStatus.UNPROCESSABLE_ENTITY, f'{label}: write a JSON object, as in {{"name": "value"}}'
        )
    return found
