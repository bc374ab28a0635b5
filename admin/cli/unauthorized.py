"""`sluicemq unauthorized`: clients that were turned away in the last three days."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from admin.cli.cells import plain, point_in_time
from admin.cli.console import out, tell
from admin.cli.identity_database import DatabaseUrl, identity_database
from admin.errors import AdminError

app = typer.Typer(help="List clients that were turned away, and why.", no_args_is_help=True)


@app.command("list")
def list_unauthorized(
    database: DatabaseUrl,
    limit: Annotated[int, typer.Option(min=1, help="How many, the newest first.")] = 100,
) -> None:
    """List the clients that were turned away lately, each with the last time and how often."""
    with identity_database(database) as stored:
        listed = stored.unauthorized.list(limit)
    table = Table("client id", "address", "user name", "reason", "last", "times")
    for one in listed:
        table.add_row(
            plain(one.client_id), plain(one.address), plain(one.username), plain(one.reason),
            point_in_time(one.at_ms), str(one.attempts),
        )  # fmt: skip
    out.print(table)


@app.command()
def remove(
    client_id: Annotated[str, typer.Argument(help="The client to take off the list.", show_default=False)],
    database: DatabaseUrl,
) -> None:
    """Take a client off the list; it comes back when it is turned away again."""
    with identity_database(database) as stored:
        if not stored.unauthorized.remove(client_id):
            raise AdminError(f"{client_id} is not on the list: `sluicemq unauthorized list` shows it.")
    tell(f"Took {client_id} off the list")


@app.command()
def clear(database: DatabaseUrl) -> None:
    """Empty the list."""
    with identity_database(database) as stored:
        tell(f"Took {stored.unauthorized.clear()} off the list")
