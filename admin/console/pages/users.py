"""Users of the administration."""

from __future__ import annotations

from urllib.parse import quote

from nicegui import ui

from admin.console.dialogs import confirm_removal, form_dialog
from admin.console.fields import choice_field, text_field, typed
from admin.console.listing import Action, Cell, Column, Listing, Row, whole
from admin.console.parts import page_head
from admin.console.shell import console_page
from admin.console.view import View
from admin.words import moment

ROLES = {
    "viewer": "Viewer: looks",
    "operator": "Operator: changes what concerns clients",
    "administrator": "Administrator: changes users, too",
}


@console_page("/users", "Users")
async def users(view: View) -> None:
    """All users."""
    buttons = page_head("Users", "Who may log in here. A role counts from the next click on.")

    listing: Listing

    def change(row: Row) -> None:
        form: dict[str, ui.input | ui.select] = {}

        def fill() -> None:
            form["role"] = choice_field("Role", ROLES, row["role"])
            form["password"] = text_field(
                "New password",
                password=True,
                complete="new-password",
                hint="Empty: it stays. A new one logs the user out.",
            )

        async def submit() -> None:
            given = {"role": form["role"].value, "password": typed(str(form["password"].value or ""))}
            await view.calls.send("PATCH", f"/users/{quote(row['name'], safe='')}", given)
            await listing.refresh()

        form_dialog(f"Change {row['name']}", "Save", fill, submit)

    def add() -> None:
        form: dict[str, ui.input | ui.select] = {}

        def fill() -> None:
            form["name"] = text_field("Name", required=True)
            form["role"] = choice_field("Role", ROLES, "viewer")
            form["password"] = text_field("Password", password=True, complete="new-password", required=True)

        async def submit() -> None:
            await view.calls.send("POST", "/users", {name: field.value or "" for name, field in form.items()})
            await listing.refresh()

        form_dialog("New user", "Create", fill, submit)

    def remove(row: Row) -> None:
        confirm_removal(
            view,
            f"Remove {row['name']}?",
            "The user is logged out, and its tokens are not valid any more.",
            f"/users/{quote(row['name'], safe='')}",
            listing.refresh,
        )

    with buttons:
        ui.button("New user", on_click=add).props("unelevated no-caps text-color=on-accent")
    listing = Listing(
        view,
        "users",
        whole(view, "/users", "name"),
        (
            Column(
                "Name",
                lambda row: Cell(row["name"], note="you" if row["name"] == view.session.user else None),
            ),
            Column("Role", lambda row: row["role"].capitalize()),
            Column("Since", lambda row: moment(row["created_at_ms"])),
        ),
        (Action("Change", change), Action("Remove", remove, danger=True)),
        empty="There is nobody.",
        search=None,
    )
    await listing.refresh()
