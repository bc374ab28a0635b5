"""Programs' tokens."""

from __future__ import annotations

from urllib.parse import quote

from nicegui import ui

from admin.console.dialogs import confirm_removal, form_dialog
from admin.console.fields import number_field, text_field
from admin.console.listing import Action, Cell, Column, Listing, Row, whole
from admin.console.parts import page_head
from admin.console.shell import console_page
from admin.console.view import View
from admin.words import ago, moment
from contracts.wall_clock import epoch_ms

LONGEST_DAYS = 3_650


@console_page("/tokens", "Tokens")
async def tokens(view: View) -> None:
    """One's own tokens; an administrator sees all."""
    buttons = page_head(
        "Tokens",
        "Programs send one as <code>Authorization: Bearer</code>. A token has its user's role, and is shown once.",
    )

    listing: Listing

    def make() -> None:
        form: dict[str, ui.input | ui.number] = {}

        def fill() -> None:
            form["name"] = text_field("Name", required=True, hint="What the program is called")
            form["days"] = number_field("Days until it ends", 90, low=1, high=LONGEST_DAYS)

        async def submit() -> None:
            days = form["days"].value
            given = {"name": form["name"].value or "", "days": int(days) if days else 0}
            made = await view.calls.send("POST", "/tokens", given)
            await listing.refresh()
            _show(made["name"], made["token"])

        form_dialog("New token", "Create", fill, submit)

    def remove(row: Row) -> None:
        confirm_removal(
            view,
            f"Remove {row['name']}?",
            "Programs that send this token are turned away from now on.",
            f"/tokens/{quote(row['user'], safe='')}/{quote(row['name'], safe='')}",
            listing.refresh,
        )

    with buttons:
        ui.button("New token", on_click=make).props("unelevated no-caps text-color=on-accent")
    listing = Listing(
        view,
        "tokens",
        whole(view, "/tokens", "name", "user"),
        (
            Column("Name", lambda row: row["name"]),
            Column("User", lambda row: row["user"]),
            Column("Made", lambda row: moment(row["created_at_ms"])),
            Column("Ends", _ends),
        ),
        (Action("Remove", remove, danger=True),),
        empty="There are no tokens.",
        search="Search by name or user",
    )
    await listing.refresh()


def _ends(row: Row) -> Cell:
    now_ms = epoch_ms()
    if row["expires_at_ms"] <= now_ms:
        return Cell("over", tone="quiet")
    return Cell(ago(row["expires_at_ms"], now_ms), hint=moment(row["expires_at_ms"]))


def _show(name: str, token: str) -> None:
    with (
        ui.dialog().props('persistent aria-label="The token"') as dialog,
        ui.element("div").classes("form"),
        ui.element("div"),
    ):
        with ui.element("h2"):
            ui.label(f"The token {name}")
        with ui.element("div").style("display: flex; flex-direction: column; gap: 14px; margin-top: 14px"):
            ui.label("Copy it now: it is not shown again.")
            ui.label(token).classes("secret").props("tabindex=0")
            with ui.element("div").classes("buttons"):
                ui.button("Done", on_click=dialog.close).props("unelevated no-caps text-color=on-accent")
    dialog.open()
