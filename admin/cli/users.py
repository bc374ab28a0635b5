"""`sluicemq users`: who may use the administration."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from admin.cli.cells import plain, point_in_time
from admin.cli.console import out, tell
from admin.cli.identity_database import DatabaseUrl, identity_database
from admin.cli.secret_input import PasswordStdin, read_password
from identity.roles import Role

app = typer.Typer(
    help="List, add and remove users of the administration. There is none, and no password, until the first is added.",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(help="The user's name.", show_default=False)]


@app.command("list")
def list_users(database: DatabaseUrl) -> None:
    """List all users."""
    with identity_database(database) as stored:
        listed = stored.users.list()
    table = Table("name", "role", "since")
    for user in listed:
        table.add_row(plain(user.name), user.role, point_in_time(user.created_at_ms))
    out.print(table)
    if not listed:
        tell("There is nobody yet: `sluicemq users add NAME` adds the first user, and asks for a password.")


@app.command()
def add(
    name: Name,
    database: DatabaseUrl,
    role: Annotated[Role, typer.Option(help="What the user may do.")] = Role.ADMINISTRATOR,
    password_stdin: PasswordStdin = False,
) -> None:
    """Add a user; the password is asked for. The first one is added in the same way: none is there by default."""
    with identity_database(database) as stored:
        is_first = stored.users.count() == 0
        if is_first:
            tell(f"{name} will be the first user of this database, and may add others.")
        stored.users.add(name, read_password(from_stdin=password_stdin), role)
    tell(f"Added {name}")


@app.command()
def password(name: Name, database: DatabaseUrl, password_stdin: PasswordStdin = False) -> None:
    """Give a user another password, which is asked for."""
    with identity_database(database) as stored:
        stored.users.set_password(name, read_password(from_stdin=password_stdin))
    tell(f"{name} has another password now")


@app.command()
def role(name: Name, role: Annotated[Role, typer.Argument()], database: DatabaseUrl) -> None:
    """Give a user another role."""
    with identity_database(database) as stored:
        stored.users.set_role(name, role)
    tell(f"{name} is {role} now")


@app.command()
def remove(name: Name, database: DatabaseUrl) -> None:
    """Remove a user."""
    with identity_database(database) as stored:
        stored.users.remove(name, even_last=True)
        left = stored.users.count()
    tell(f"Removed {name}{'' if left else '; nobody can use the administration now'}")
