"""Authentication providers: which are asked, in which order, and how each is set."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from admin.console.dialogs import confirm, confirm_removal, form_dialog
from admin.console.listing import Action, Cell, Column, Listing, Row, whole_of
from admin.console.pages.provider_form import ProviderForm
from admin.console.parts import heading, notice, page_head
from admin.console.shell import console_page
from admin.console.view import View, sentence
from admin.words import listed
from identity.roles import Role


@console_page("/providers", "Authentication")
async def providers(view: View) -> None:
    """The order, and the providers."""
    page_head(
        "Authentication",
        "Providers are asked in this order: the first that knows a client lets it in, and one that refuses it ends it.",
    )
    told = ui.element("div").style("display: grid; gap: 16px")

    async def refresh() -> None:
        with view.telling():
            found = await view.calls.get("/authentication")
            told.clear()
            with told:
                await _Order(view, found, refresh).show()

    await refresh()


class _Order:
    def __init__(self, view: View, found: dict[str, Any], refresh: Any) -> None:
        self._view, self._refresh = view, refresh
        self._asked: list[str] | None = found["providers"]
        self._available: list[Row] = found["available"]
        self._nodes: list[dict[str, Any]] = found["nodes"]

    async def show(self) -> None:
        """Put all of it on the page."""
        if self._asked is None:
            notice("Nothing is stored here: each gateway does what its own environment says.")
        elif not self._asked:
            notice("No provider is asked: everybody is let in.", "warn")
        for node in self._nodes:
            if node["error"]:
                notice(f"{node['node']}: {sentence(node['error'])}", "bad")
        may = self._view.may(Role.ADMINISTRATOR)
        listing = Listing(
            self._view,
            "providers",
            whole_of(self._sorted()),
            _columns(self._place),
            self._actions() if may else (),
            empty="There are none.",
            search=None,
        )
        await listing.refresh()
        if may and self._asked is not None:
            with ui.element("div").classes("buttons"):
                ui.button("Back to the gateways' environment", on_click=self._forget).props("outline no-caps")
        heading(2, "What gateways do now")
        shown = Listing(
            self._view, "nodes", whole_of(self._nodes), _NODE_COLUMNS, empty="No node is known.", search=None
        )
        await shown.refresh()

    def _sorted(self) -> list[Row]:
        asked = self._asked or []
        return sorted(
            self._available, key=lambda row: (row["name"] not in asked, self._place(row), row["name"])
        )

    def _place(self, row: Row) -> int:
        asked = self._asked or []
        return asked.index(row["name"]) + 1 if row["name"] in asked else 0

    def _actions(self) -> tuple[Action, ...]:
        return (
            Action("Settings", self._edit),
            Action(
                "Switch on",
                lambda row: self._order([*(self._asked or []), row["name"]]),
                applies=lambda row: not self._place(row),
            ),
            Action("Ask earlier", self._earlier, applies=lambda row: self._place(row) > 1),
            Action("Switch off", self._switch_off, danger=True, applies=lambda row: self._place(row) > 0),
        )

    async def _order(self, names: list[str]) -> None:
        with self._view.telling():
            await self._view.calls.send("PUT", "/authentication/order", {"providers": names})
            await self._refresh()

    async def _earlier(self, row: Row) -> None:
        names = list(self._asked or [])
        at = names.index(row["name"])
        names[at - 1], names[at] = names[at], names[at - 1]
        await self._order(names)

    def _switch_off(self, row: Row) -> None:
        left = [name for name in self._asked or [] if name != row["name"]]

        async def act() -> None:
            order = {"providers": left} if left else {"providers": left, "let_everybody_in": True}
            await self._view.calls.send("PUT", "/authentication/order", order)
            await self._refresh()

        consequence = (
            f"Clients are known by {listed(left)} only."
            if left
            else "It is the last one: then everybody is let in, whoever they are."
        )
        confirm(f"Switch {row['name']} off?", consequence, "Switch off", act)

    def _forget(self) -> None:
        confirm_removal(
            self._view,
            "Forget this order?",
            "Each gateway then does what its own environment says.",
            "/authentication/order",
            self._refresh,
            verb="Forget",
        )

    async def _edit(self, row: Row) -> None:
        with self._view.telling():
            provider = await self._view.calls.get(f"/authentication/providers/{row['name']}")
            form = ProviderForm(self._view, provider, self._refresh)
            form_dialog(f"Settings of {row['name']}", "Save", form.fill, form.submit)


def _columns(place: Any) -> tuple[Column, ...]:
    return (
        Column("Provider", lambda row: row["name"]),
        Column(
            "State",
            lambda row: (
                Cell(f"Asked as number {place(row)}", tone="good")
                if place(row)
                else Cell("Off", tone="quiet")
            ),
        ),
        Column("Settings", lambda row: ", ".join(sorted(row["settings"])) or "its defaults"),
    )


_NODE_COLUMNS = (
    Column("Node", lambda row: row["node"]),
    Column("Asks", lambda row: listed(row["providers"]) or "nobody: everybody is let in"),
    Column(
        "By",
        lambda row: {"database": "what is stored here", "environment": "its environment"}.get(
            row["source"], "nothing"
        ),
    ),
)
