"""Lists: a table with a search and pages, from a route of the API that has both."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from admin.console.static_files import STATIC
from admin.console.view import HOME, View

Row = dict[str, Any]
PAGE_SIZE = 50
_REMEMBERED = 16
"""How many states of a list are known besides the one that is shown."""


@dataclass(frozen=True)
class Cell:
    """What stands in one cell."""

    text: str
    href: str | None = None
    """A place of the console that it leads to."""
    tone: str | None = None
    """good, warn, bad or quiet: shown as a chip."""
    note: str | None = None
    """Smaller, below."""
    hint: str | None = None
    """Told on top of it, where a pointer rests."""
    mono: bool = False


@dataclass(frozen=True)
class Column:
    """A column: its heading, and what it says of an object."""

    label: str
    cell: Callable[[Row], Cell | str]
    number: bool = False
    sort: str | None = None
    """By what the API sorts for it; None: it does not."""


@dataclass(frozen=True)
class Action:
    """What can be done with an object of the list."""

    label: str
    run: Callable[[Row], Awaitable[None] | None]
    danger: bool = False
    applies: Callable[[Row], bool] = lambda _: True


class _Table(ui.element, component=STATIC / "listing.js"):
    pass


@dataclass(frozen=True)
class Ask:
    """Which part of a list is wanted, and in which order."""

    search: str
    offset: int
    limit: int
    sort: str | None
    descending: bool


Fetch = Callable[[Ask], Awaitable[tuple[int, list[Row]]]]
"""What is wanted → how many there are, and these."""


class ShownRows:
    """Which rows a list has shown, and when: what is clicked is a row as it was seen, though others came since."""

    def __init__(self) -> None:
        self._number = 0
        self._states: dict[int, Sequence[Row]] = {}

    def show(self, rows: Sequence[Row]) -> int:
        """Remember what is shown from now on; the answer is the number of this state of the list."""
        self._number += 1
        self._states[self._number] = rows
        self._states.pop(self._number - 1 - _REMEMBERED, None)
        return self._number

    def seen(self, number: int, index: int) -> Row | None:
        """The row that stood there in a state of the list; None where that is too long ago."""
        return self._states[number][index] if number in self._states else None


class Listing:
    """A list on a page; `await refresh()` shows it."""

    def __init__(
        self,
        view: View,
        caption: str,
        fetch: Fetch,
        columns: Sequence[Column],
        actions: Sequence[Action] = (),
        *,
        empty: str,
        search: str | None = "Search",
        page_size: int = PAGE_SIZE,
    ) -> None:
        """`caption`: what a row is, in the plural; `empty`: what is said where there is nothing."""
        self._view, self._fetch, self._columns, self._page_size = view, fetch, columns, page_size
        self._actions = {action.label: action for action in actions}
        self._empty = empty
        self._offset, self._total = 0, 0
        self._sort: str | None = None
        self._descending = False
        self._shown = ShownRows()
        self._asked = 0
        self._search: ui.input | None = None
        with ui.element("div").classes("tools") as self.tools:
            if search is not None:
                self._search = ui.input(search, value=view.query.get("search", ""))
                self._search.props("outlined dense clearable debounce=300 type=search")
                self._search.on_value_change(self.search_anew)
        with ui.element("div").classes("panel"):
            self._table = _Table().on("act", self._act).on("sort", self._sort_anew)
        self._table.props["caption"], self._table.props["rows"] = caption, []
        self._table.props["state"] = self._shown.show([])
        self._table.props["columns"] = [
            {"label": one.label, "number": one.number, "sort": one.sort} for one in columns
        ]
        self._table.props["actions"] = {
            one.label: {"label": one.label, "danger": one.danger} for one in actions
        }
        self._pager()

    def _pager(self) -> None:
        with ui.element("div").classes("pager"):
            self._count = ui.label().props("aria-live=polite")
            with ui.element("div").classes("buttons") as self._turns:
                self._back = ui.button("Previous", on_click=lambda: self._turn(-1)).props(
                    "outline dense no-caps padding='2px 12px'"
                )
                self._on = ui.button("Next", on_click=lambda: self._turn(1)).props(
                    "outline dense no-caps padding='2px 12px'"
                )

    async def refresh(self) -> None:
        """Ask the API again, and show what it answers."""
        sought = (self._search.value or "") if self._search else ""
        self._asked = asked = self._asked + 1
        with self._view.telling():
            total, rows = await self._fetch(self._ask(sought))
            if not rows and self._offset and asked == self._asked:
                self._offset = max(0, (total - 1) // self._page_size * self._page_size)
                total, rows = await self._fetch(self._ask(sought))
            if asked == self._asked:  # else something newer is on its way
                self._show(sought, total, rows)

    def _ask(self, sought: str) -> Ask:
        return Ask(sought, self._offset, self._page_size, self._sort, self._descending)

    def _show(self, sought: str, total: int, rows: Sequence[Row]) -> None:
        self._total = total
        self._table.props["empty"] = f"Nothing holds “{sought}”." if sought else self._empty
        self._table.props["rows"] = [self._told(index, row) for index, row in enumerate(rows)]
        self._table.props["state"] = self._shown.show(rows)
        self._table.props["sorted"] = self._sort
        self._table.props["descending"] = self._descending
        self._table.update()
        first, last = self._offset + 1, self._offset + len(rows)
        many = self._total > self._page_size
        self._count.set_text(f"{first:,}–{last:,} of {self._total:,}" if many else f"{self._total:,} in all")
        self._turns.set_visibility(many)
        self._back.set_enabled(self._offset > 0)
        self._on.set_enabled(last < self._total)

    def _told(self, index: int, row: Row) -> dict[str, Any]:
        cells = [column.cell(row) for column in self._columns]
        told = [asdict(cell if isinstance(cell, Cell) else Cell(cell)) for cell in cells]
        for one in told:
            one["href"] = one["href"] and HOME + one["href"]
        able = [label for label, action in self._actions.items() if action.applies(row)]
        return {"key": index, "title": told[0]["text"], "cells": told, "actions": able}

    async def search_anew(self) -> None:
        """Ask again from the first page on: what is sought has changed."""
        self._offset = 0
        await self.refresh()

    async def _sort_anew(self, event: GenericEventArguments) -> None:
        self._descending = not self._descending if self._sort == event.args else False
        self._sort = str(event.args)
        await self.search_anew()

    async def _turn(self, pages: int) -> None:
        self._offset = max(0, self._offset + pages * self._page_size)
        await self.refresh()

    async def _act(self, event: GenericEventArguments) -> None:
        row, action = (
            self._shown.seen(event.args["state"], event.args["key"]),
            self._actions[event.args["action"]],
        )
        if row is None:
            ui.notify("The list has changed since. Please choose again.", type="warning")
            return
        done = action.run(row)
        if done is not None:
            await done


def paged(view: View, path: str, **query: Any) -> Fetch:
    """Ask a route that searches and turns pages; what is callable in `query` is asked each time."""

    async def fetch(ask: Ask) -> tuple[int, list[Row]]:
        order = {"sort": ask.sort, "descending": ask.descending} if ask.sort else {}
        asked = {name: value() if callable(value) else value for name, value in query.items()}
        found = await view.calls.get(
            path, search=ask.search or None, offset=ask.offset, limit=ask.limit, **order, **asked
        )
        return found["total"], found["items"]

    return fetch


def whole_of(rows: Sequence[Row]) -> Fetch:
    """Pages of what is there already."""

    async def fetch(ask: Ask) -> tuple[int, list[Row]]:
        return len(rows), list(rows[ask.offset : ask.offset + ask.limit])

    return fetch


def whole(view: View, path: str, *names: str) -> Fetch:
    """Ask a route that answers with all there is; what these members hold is searched here."""

    async def fetch(ask: Ask) -> tuple[int, list[Row]]:
        sought = ask.search.casefold()
        found = [
            row
            for row in await view.calls.get(path)
            if any(sought in str(row[name] or "").casefold() for name in names)
        ]
        return len(found), found[ask.offset : ask.offset + ask.limit]

    return fetch
