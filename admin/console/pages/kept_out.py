"""Clients that are kept out, and those that were turned away."""

from __future__ import annotations

import time

from nicegui import ui

from admin.console.dialogs import confirm, confirm_removal, form_dialog
from admin.console.fields import choice_field, text_field
from admin.console.listing import Action, Cell, Column, Listing, Row, paged
from admin.console.parts import page_head
from admin.console.shell import console_page
from admin.console.view import View
from admin.words import ago, counted, moment
from contracts.wall_clock import epoch_ms

SUBJECTS = {"client-id": "Client ID", "username": "User name", "address": "Address"}
_LENGTHS = {"": "For ever", "3600": "For an hour", "86400": "For a day", "604800": "For a week"}


def block_dialog(view: View, subject: str, value: str, done: Listing | None) -> None:
    """Ask whom to keep out, and why."""

    def fill() -> None:
        ui.label("Whoever is connected is disconnected within two seconds, and cannot come back.").classes(
            "soft"
        )
        form["subject"] = choice_field("By", SUBJECTS, subject)
        form["value"] = text_field("Value", value, required=True)
        form["pattern"] = ui.checkbox("It is a pattern, for the whole of it")
        form["reason"] = text_field("Reason", hint="For people")
        form["length"] = choice_field("How long", _LENGTHS, "")

    async def submit() -> None:
        seconds = form["length"].value
        await view.calls.send(
            "POST",
            "/blocked",
            {
                "subject": form["subject"].value,
                "value": form["value"].value,
                "is_pattern": bool(form["pattern"].value),
                "reason": form["reason"].value or "",
                "expires_at_ms": int((time.time() + int(seconds)) * 1000) if seconds else None,
            },
        )
        if done:
            await done.refresh()
        ui.notify("Blocked.", type="positive")

    form: dict[str, ui.input | ui.select | ui.checkbox] = {}
    form_dialog("Block a client", "Block", fill, submit, is_destructive=True)


@console_page("/blocked", "Blocked clients")
async def blocked(view: View) -> None:
    """Who is kept out."""
    buttons = page_head(
        "Blocked clients",
        "Who may not connect, by client ID, user name or address, whatever the credentials.",
    )

    listing: Listing

    def unblock(row: Row) -> None:
        confirm_removal(
            view,
            f"Unblock {row['value']}?",
            "It may connect again.",
            "/blocked",
            listing.refresh,
            verb="Unblock",
            is_destructive=False,
            subject=row["subject"],
            value=row["value"],
            is_pattern=row["is_pattern"],
        )

    if view.may_change:
        with buttons:
            ui.button("Block a client", on_click=lambda: block_dialog(view, "client-id", "", listing)).props(
                "unelevated no-caps text-color=on-accent"
            )
    listing = Listing(
        view,
        "blocked",
        paged(view, "/blocked"),
        (
            Column(
                "Value",
                lambda row: Cell(
                    row["value"], mono=row["is_pattern"], note="pattern" if row["is_pattern"] else None
                ),
            ),
            Column("By", lambda row: SUBJECTS[row["subject"]]),
            Column("Reason", lambda row: row["reason"]),
            Column("Until", _until),
        ),
        (Action("Unblock", unblock),) if view.may_change else (),
        empty="Nobody is blocked.",
        search="Search by value or reason",
    )
    await listing.refresh()


def _until(row: Row) -> Cell:
    ends, now_ms = row["expires_at_ms"], epoch_ms()
    if ends is None:
        return Cell("for ever")
    return Cell("over", tone="quiet") if ends <= now_ms else Cell(ago(ends, now_ms), hint=moment(ends))


@console_page("/unauthorized", "Unauthorized clients")
async def unauthorized(view: View) -> None:
    """Who was turned away."""
    buttons = page_head(
        "Unauthorized clients", "Who was turned away during the last three days, and why; the newest first."
    )

    listing: Listing

    async def forget(row: Row) -> None:
        with view.telling():
            await view.calls.send("DELETE", "/unauthorized", client_id=row["client_id"])
            await listing.refresh()

    def clear() -> None:
        async def act() -> None:
            done = await view.calls.send("DELETE", "/unauthorized")
            await listing.refresh()
            ui.notify(f"{counted(done['removed'], 'line')} removed.", type="positive")

        confirm("Clear the list?", "All lines are removed; nobody is let in or kept out by it.", "Clear", act)

    def block(row: Row) -> None:
        block_dialog(view, "client-id", row["client_id"], None)

    if view.may_change:
        with buttons:
            ui.button("Clear the list", on_click=clear).props("outline no-caps")
    listing = Listing(
        view,
        "unauthorized",
        paged(view, "/unauthorized"),
        (
            Column("Client ID", lambda row: row["client_id"]),
            Column("User name", lambda row: row["username"] or ""),
            Column("Address", lambda row: row["address"]),
            Column("Why", lambda row: row["reason"]),
            Column(
                "Last",
                lambda row: Cell(ago(row["at_ms"], epoch_ms()), hint=moment(row["at_ms"])),
            ),
            Column("Attempts", lambda row: f"{row['attempts']:,}", number=True),
        ),
        (Action("Block", block, danger=True), Action("Forget", forget)) if view.may_change else (),
        empty="Nobody was turned away.",
        search="Search by client ID, user name or address",
    )
    await listing.refresh()
