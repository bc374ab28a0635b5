"""The database of identity as the sub-commands use it: its option, opening it, and its errors in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from admin.errors import AdminError, UsageError
from identity.errors import DatabaseUrlError, IdentityError, InvalidError

if TYPE_CHECKING:  # imported when a database is opened: no other command waits for these libraries
    from identity.blocked import BlockedClients
    from identity.shared_subscriptions import SharedSubscriptions
    from identity.stored_credentials import StoredCredentials
    from identity.unauthorized import UnauthorizedClients
    from identity.users import Users

_OPTION: Any = typer.Option(
    "--database",
    envvar="SLUICEMQ_DATABASE",
    help="sqlite:///FILE or postgresql://USER@HOST/DATABASE; with a password, better in the environment.",
    show_default=False,
)
DatabaseUrl = Annotated[str, _OPTION]
OptionalDatabaseUrl = Annotated[str | None, _OPTION]
CsvFile = Annotated[
    Path, typer.Argument(help="A CSV file; its first line names the columns.", exists=True, dir_okay=False)
]


@dataclass(frozen=True)
class Repositories:
    """What is in the database."""

    credentials: StoredCredentials
    users: Users
    blocked: BlockedClients
    unauthorized: UnauthorizedClients
    shared: SharedSubscriptions


@contextmanager
def identity_database(url: str) -> Iterator[Repositories]:
    """The database at a URL; its tables are made if need be.

    Raises:
        UsageError: The URL names none, or what was given in the block cannot be.
        AdminError: The database does not answer; or there is something already, or not there, as the message says.
    """
    from identity.blocked import BlockedClients
    from identity.database import open_database
    from identity.shared_subscriptions import SharedSubscriptions
    from identity.stored_credentials import StoredCredentials
    from identity.unauthorized import UnauthorizedClients
    from identity.users import Users

    with plain_errors():
        database = open_database(url)
        try:
            yield Repositories(
                StoredCredentials(database),
                Users(database),
                BlockedClients(database),
                UnauthorizedClients(database),
                SharedSubscriptions(database),
            )
        finally:
            database.close()


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turns errors of identity into those that the command shows."""
    try:
        yield
    except (DatabaseUrlError, InvalidError) as error:
        raise UsageError(f"{error}.") from error
    except IdentityError as error:
        raise AdminError(f"{error}.") from error


@contextmanager
def csv_lines(path: Path) -> Iterator[TextIO]:
    """The lines of a CSV file.

    Raises:
        AdminError: It cannot be read.
    """
    try:
        file = path.open(encoding="utf-8", newline="")
    except OSError as error:
        raise AdminError(f"{path} cannot be read: {error.strerror}.") from error
    with file, plain_errors():
        yield file
