"""Fields of forms: each with a label that belongs to it, and perhaps a hint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from nicegui import ui

F = TypeVar("F", bound=ui.element)


def text_field(
    label: str,
    value: str = "",
    *,
    hint: str = "",
    required: bool = False,
    password: bool = False,
    complete: str = "off",
    mono: bool = False,
) -> ui.input:
    """One line of text."""
    field = ui.input(label, value=value, password=password)
    field.props(f"outlined dense stack-label autocomplete={complete}")
    return _finished(field, hint, required, mono)


def lines_field(label: str, value: str = "", *, hint: str = "", rows: int = 4) -> ui.textarea:
    """Several lines of text, as they are."""
    field = ui.textarea(label, value=value).props(f"outlined dense stack-label rows={rows} spellcheck=false")
    return _finished(field, hint, False, True)


def choice_field(label: str, choices: Mapping[str, str], value: str | None, *, hint: str = "") -> ui.select:
    """One of some choices: what is sent → what is shown."""
    field = ui.select(dict(choices), label=label, value=value)
    field.props("outlined dense stack-label options-dense")
    return _finished(field, hint, False, False)


def number_field(
    label: str, value: float | None, *, low: int = 0, high: int | None = None, hint: str = ""
) -> ui.number:
    """A whole number."""
    field = ui.number(label, value=value, min=low, max=high, precision=0)
    field.props("outlined dense stack-label")
    return _finished(field, hint, False, False)


def typed_lines(text: str | None) -> list[str]:
    """The lines of a field that have something on them."""
    return [line.strip() for line in (text or "").splitlines() if line.strip()]


def typed(text: str | None) -> str | None:
    """What a field has; None where it is empty."""
    return text if text else None


def _finished(field: F, hint: str, required: bool, mono: bool) -> F:
    if hint:
        field.props["hint"] = hint
    if required:
        field.props("aria-required=true")
    if mono:
        field.classes("mono")
    return field
