"""What pages are made of: headings, sentences that stand out, facts, figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nicegui import ui

from admin.console.listing import Cell
from admin.console.view import HOME


def page_head(title: str, about: str = "") -> ui.element:
    """A page's heading, and a sentence about it; returns where its buttons go."""
    with ui.element("div").classes("head"):
        with ui.element("div"):
            heading(1, title)
            if about:
                with ui.element("p"):
                    ui.html(about, tag="span", sanitize=True)
        return ui.element("div").classes("buttons")


def heading(level: int, text: str) -> ui.element:
    """A heading."""
    with ui.element(f"h{level}") as element:
        ui.label(text).style("display: inline")
    return element


def notice(text: str, tone: str = "") -> None:
    """A sentence that stands out; tone: bad, warn, good, or nothing."""
    with ui.element("div").classes(f"notice {f'notice-{tone}' if tone else ''}").props("role=status"):
        ui.label(text)


def facts(told: Iterable[tuple[str, Cell | str]]) -> None:
    """What is known of an object: name and value; what is empty is left out."""
    with ui.element("dl").classes("facts"):
        for name, value in told:
            cell = value if isinstance(value, Cell) else Cell(value)
            if not cell.text:
                continue
            with ui.element("div"):
                with ui.element("dt"):
                    ui.label(name)
                with ui.element("dd"):
                    shown(cell)


def shown(cell: Cell) -> None:
    """A cell outside a table."""
    if cell.href:
        link(cell.text, cell.href)
    else:
        label = ui.label(cell.text).style("display: inline")
        if cell.tone:
            label.classes(f"chip chip-{cell.tone}")
        if cell.mono:
            label.classes("code")
    if cell.note:
        with ui.element("small"):
            ui.label(cell.note)


def link(text: str, place: str) -> None:
    """A link to a place of the console."""
    with ui.element("a") as anchor:
        ui.label(text).style("display: inline")
    anchor.props["href"] = HOME + place


class Figures:
    """Large figures in a row, which change."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """`names`: key → what it is called."""
        self._shown: dict[str, tuple[ui.label, ui.label]] = {}
        with ui.element("dl").classes("figures").style("margin: 0"):
            for key, name in names.items():
                with ui.element("div").classes("figure"):
                    with ui.element("dt"):
                        ui.label(name)
                    with ui.element("dd"):
                        figure = ui.label("–")
                        with ui.element("small").classes("soft").style("font-weight: 400; font-size: 13px"):
                            note = ui.label("")
                    self._shown[key] = figure, note

    def set(self, key: str, figure: str, note: str = "") -> None:
        """Show a figure, and what there is to say of it."""
        for label, text in zip(self._shown[key], (figure, note), strict=True):
            label.set_text(text)
