"""The subscriptions on a client's page: added, changed and removed for it."""

from __future__ import annotations

from nicegui import ui

from admin.console.dialogs import confirm_removal, form_dialog
from admin.console.fields import choice_field, number_field, text_field
from admin.console.listing import Action, Cell, Column, Listing, Row, paged
from admin.console.parts import heading
from admin.console.view import View

QOS = {"0": "0: at most once", "1": "1: at least once", "2": "2: exactly once"}
_RETAINED = {
    "0": "at each subscribe",
    "1": "where the subscription is new",
    "2": "never",
}


class ClientSubscriptions:
    """A list with what changes it."""

    def __init__(self, view: View, client_id: str) -> None:
        """Put it on the page."""
        self._view, self._client_id = view, client_id
        with ui.element("div").classes("head").style("align-items: center; margin-top: 6px"):
            with ui.element("div"):
                heading(2, "Subscriptions")
            if view.may_change:
                with ui.element("div").classes("buttons"):
                    ui.button("Subscribe", on_click=lambda: self._edit(None)).props(
                        "unelevated no-caps text-color=on-accent"
                    )
        acting = (
            (Action("Change", self._edit), Action("Remove", self._remove, danger=True))
            if view.may_change
            else ()
        )
        self._listing = Listing(
            view,
            "subscriptions",
            paged(view, "/client/subscriptions", client_id=client_id),
            (
                Column("Filter", lambda row: Cell(row["filter"], mono=True)),
                Column("QoS", lambda row: str(row["qos"])),
                Column("Options", options),
                Column("Identifier", lambda row: str(row["subscription_id"] or "")),
            ),
            acting,
            empty="It subscribes to nothing.",
            search=None,
        )
        self.refresh = self._listing.refresh

    def _edit(self, row: Row | None) -> None:
        had = row or {"filter": "", "qos": 1, "retain_handling": 0, "subscription_id": None}
        form: dict[str, ui.input | ui.select | ui.number | ui.checkbox] = {}

        def fill() -> None:
            form["filter"] = text_field("Filter", had["filter"], required=True, mono=True)
            form["filter"].set_enabled(row is None)
            with ui.element("div").classes("split"):
                form["qos"] = choice_field("QoS", QOS, str(had["qos"]))
                form["subscription_id"] = number_field(
                    "Identifier", had["subscription_id"], low=1, hint="May be empty"
                )
            form["retain_handling"] = choice_field(
                "Retained messages are sent", _RETAINED, str(had["retain_handling"])
            )
            form["no_local"] = ui.checkbox("Not what it publishes itself", value=had.get("no_local", False))
            form["retain_as_published"] = ui.checkbox(
                "Keep the retain flag of what is published", value=had.get("retain_as_published", False)
            )

        async def submit() -> None:
            identifier = form["subscription_id"].value
            given = {
                "filter": form["filter"].value,
                "qos": int(str(form["qos"].value)),
                "retain_handling": int(str(form["retain_handling"].value)),
                "subscription_id": int(identifier) if identifier else None,
                "no_local": bool(form["no_local"].value),
                "retain_as_published": bool(form["retain_as_published"].value),
            }
            await self._view.calls.send("PUT", "/client/subscriptions", given, client_id=self._client_id)
            await self.refresh()

        title = f"Change {had['filter']}" if row else f"Subscribe {self._client_id}"
        form_dialog(title, "Save" if row else "Subscribe", fill, submit)

    def _remove(self, row: Row) -> None:
        confirm_removal(
            self._view,
            f"Remove {row['filter']}?",
            f"{self._client_id} gets no more messages by it, and is not told.",
            "/client/subscriptions",
            self.refresh,
            client_id=self._client_id,
            filter=row["filter"],
        )


def options(row: Row) -> str:
    """A subscription's options in words."""
    told = []
    if row["no_local"]:
        told.append("not its own")
    if row["retain_as_published"]:
        told.append("retain as published")
    if row["retain_handling"]:
        told.append(f"retained {_RETAINED[str(row['retain_handling'])]}")
    return ", ".join(told)
