"""Credentials of MQTT clients: list, make, change, import."""

from __future__ import annotations

from urllib.parse import quote

from nicegui import ui
from nicegui.events import UploadEventArguments

from admin.console.dialogs import confirm_removal, form_dialog
from admin.console.fields import lines_field
from admin.console.listing import Action, Cell, Column, Listing, Row, paged
from admin.console.pages.credentials_form import CredentialsForm
from admin.console.parts import page_head
from admin.console.shell import console_page
from admin.console.view import View
from admin.words import counted

LARGEST_FILE = 64 * 1024 * 1024
_KINDS = {"basic": "Basic", "x509": "X.509", "scram": "SCRAM"}


@console_page("/credentials", "Credentials")
async def credentials(view: View) -> None:
    """All credentials."""
    buttons = page_head(
        "Credentials",
        "Who clients are, and what they may publish and subscribe to. Changed rules count within two seconds.",
    )

    listing: Listing

    def edit(row: Row | None) -> None:
        form = CredentialsForm(view, row, listing.refresh)
        title = f"Change {row['name']}" if row else "New credentials"
        form_dialog(title, "Save" if row else "Create", form.fill, form.submit)

    def remove(row: Row) -> None:
        confirm_removal(
            view,
            f"Remove {row['name']}?",
            "Clients that use these credentials cannot connect with them any more.",
            f"/credentials/{quote(row['name'], safe='')}",
            listing.refresh,
        )

    acting = (Action("Change", edit), Action("Remove", remove, danger=True)) if view.may_change else ()
    if view.may_change:
        with buttons:
            ui.button("Import", on_click=lambda: _import(view, listing)).props("outline no-caps")
            ui.button("New credentials", on_click=lambda: edit(None)).props(
                "unelevated no-caps text-color=on-accent"
            )
    listing = Listing(
        view,
        "credentials",
        paged(view, "/credentials"),
        (
            Column("Name", lambda row: row["name"]),
            Column("Kind", lambda row: _KINDS[row["kind"]]),
            Column("Recognised by", _recognised),
            Column("Type", lambda row: row["client_type"].capitalize()),
            Column("May publish to", lambda row: _patterns(row["rules"]["publish"])),
            Column("May subscribe to", lambda row: _patterns(row["rules"]["subscribe"])),
        ),
        acting,
        empty="There are no credentials yet.",
        search="Search by name, client ID or user name",
    )
    await listing.refresh()


def _recognised(row: Row) -> Cell:
    by = []
    if row["client_id"]:
        by.append(f"client ID {row['client_id']}")
    if row["username"]:
        by.append(f"user name {row['username']}")
    if row["common_name"]:
        by.append(f"common name {row['common_name']}" + (" (pattern)" if row["is_pattern"] else ""))
    note = None if row["kind"] != "basic" or row["has_password"] else "without a password"
    return Cell(", ".join(by), note=note)


def _patterns(patterns: list[str] | None) -> Cell:
    if patterns is None:
        return Cell("everything")
    if not patterns:
        return Cell("nothing", tone="warn")
    more = f"and {len(patterns) - 1} more" if len(patterns) > 1 else None
    return Cell(patterns[0], mono=True, note=more)


def _import(view: View, listing: Listing) -> None:
    text: ui.textarea
    without: ui.checkbox

    async def take(event: UploadEventArguments) -> None:
        text.set_value(await event.file.text())

    def fill() -> None:
        nonlocal text, without
        ui.label(
            "All of a CSV file, or nothing of it, is taken. Its first line names the columns: Name, Client type,"
            " Client ID, Username, Password, Pub auth rule patterns, Sub auth rule patterns and more. Credentials"
            " whose name is there already are replaced."
        ).classes("soft")
        upload = ui.upload(on_upload=take, auto_upload=True, max_files=1, max_file_size=LARGEST_FILE)
        upload.props('accept=".csv,text/csv" flat bordered label="Choose a file"').style("width: 100%")
        text = lines_field("Or its text", rows=7)
        without = ui.checkbox("Also take those without a password, who need none to connect")

    async def submit() -> None:
        done = await view.calls.send_text(
            "/credentials/import",
            text.value or "",
            "text/csv",
            allow_no_password=without.value,
        )
        await listing.refresh()
        ui.notify(
            f"{counted(done['added'], 'was', 'were')} added, {done['replaced']:,} replaced.", type="positive"
        )

    form_dialog("Import credentials", "Import", fill, submit)
