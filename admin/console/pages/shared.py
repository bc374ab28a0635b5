"""What applications share: filters with a Kafka topic of their own."""

from __future__ import annotations

from nicegui import ui

from admin.console.dialogs import confirm, confirm_removal, form_dialog
from admin.console.fields import number_field, text_field
from admin.console.listing import Action, Cell, Column, Listing, Row, paged
from admin.console.parts import page_head
from admin.console.shell import console_page
from admin.console.view import View
from admin.words import counted

_DEFAULT_PARTITIONS = 4


@console_page("/shared-subscriptions", "Shared subscriptions")
async def shared_subscriptions(view: View) -> None:
    """The list."""
    buttons = page_head(
        "Shared subscriptions",
        "Filters that persistent applications share: each needs a Kafka topic, made here. Devices share without one.",
    )
    listing: Listing

    def add() -> None:
        form: dict[str, ui.input | ui.number] = {}

        def fill() -> None:
            form["filter"] = text_field("Filter", required=True, mono=True, hint="Without $share/<group>/")
            form["partitions"] = number_field(
                "Partitions",
                _DEFAULT_PARTITIONS,
                low=1,
                hint="So many applications of a group can read at a time",
            )

        async def submit() -> None:
            given = {"filter": form["filter"].value or "", "partitions": int(form["partitions"].value or 0)}
            await view.calls.send("POST", "/shared-subscriptions", given)
            await listing.refresh()

        form_dialog("New shared subscription", "Create", fill, submit)

    def remove(row: Row) -> None:
        confirm_removal(
            view,
            f"Remove {row['filter']}?",
            "Its Kafka topic is removed, with all that no application has taken yet.",
            "/shared-subscriptions",
            listing.refresh,
            filter=row["filter"],
        )

    def mend() -> None:
        async def act() -> None:
            done = await view.calls.send("POST", "/shared-subscriptions/mend")
            await listing.refresh()
            made = counted(len(done["made"]), "Kafka topic")
            stored = counted(len(done["stored"]), "entry", "entries")
            ui.notify(f"{made} made, {stored} stored, {len(done['unknown']):,} unknown.", type="positive")

        confirm(
            "Mend the differences?",
            "Kafka topics that are missing are made, and filters that only Kafka knows are stored. Nothing is removed.",
            "Mend",
            act,
            is_destructive=False,
        )

    if view.may_change:
        with buttons:
            ui.button("Mend", on_click=mend).props("outline no-caps")
            ui.button("New shared subscription", on_click=add).props(
                "unelevated no-caps text-color=on-accent"
            )
    listing = Listing(
        view,
        "shared subscriptions",
        paged(view, "/shared-subscriptions"),
        (
            Column("Filter", lambda row: Cell(row["filter"] or "not known", mono=bool(row["filter"]))),
            Column("State", _state),
            Column("Partitions", lambda row: str(row["partitions"]), number=True),
            Column("Kafka topic", lambda row: Cell(row["kafka_topic"], mono=True)),
        ),
        (Action("Remove", remove, danger=True, applies=lambda row: row["filter"] is not None),)
        if view.may_change
        else (),
        empty="Applications share nothing yet.",
        search="Search by filter",
    )
    await listing.refresh()


def _state(row: Row) -> Cell:
    return (
        Cell("Differs", tone="warn", note=row["difference"])
        if row["difference"]
        else Cell("Ready", tone="good")
    )
