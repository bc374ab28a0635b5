"""`sluicemq credentials`: who may connect, and as what."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from admin.cli.cells import both_lists, plain
from admin.cli.console import out, tell
from admin.cli.identity_database import CsvFile, DatabaseUrl, csv_lines, identity_database, plain_errors
from admin.cli.secret_input import PasswordStdin, read_password
from admin.errors import UsageError
from identity.answers import ClientType, Rules
from identity.credentials import (
    BasicCredentials,
    Credentials,
    ScramCredentials,
    X509Credentials,
    check_credentials,
    unproven_placeholders,
)
from identity.patterns import CLIENT_ID

app = typer.Typer(help="List, add, import and remove credentials of MQTT clients.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="What the credentials are called.")]
Type = Annotated[ClientType, typer.Option("--client-type", case_sensitive=False, help="What clients become.")]
Publish = Annotated[
    list[str] | None,
    typer.Option("--publish", help="A pattern of topics; repeatable.", show_default="everything"),
]
Subscribe = Annotated[
    list[str] | None,
    typer.Option("--subscribe", help="A pattern of filters; repeatable.", show_default="everything"),
]
NoPublish = Annotated[bool, typer.Option("--no-publish", help="Nothing may be published.")]
NoSubscribe = Annotated[bool, typer.Option("--no-subscribe", help="Nothing may be subscribed to.")]


@app.command("list")
def list_credentials(database: DatabaseUrl) -> None:
    """List all credentials; no secret is shown."""
    with identity_database(database) as stored:
        listed = stored.credentials.list()
    table = Table("name", "kind", "type", "for", "publish", "subscribe")
    for one in listed:
        table.add_row(plain(one.name), one.kind, one.client_type, _whom(one), *both_lists(one.rules))
    out.print(table)
    if not listed:
        tell(
            "There are none yet: `sluicemq credentials add NAME --username USER` adds the first, for a user name, and "
            "asks for a password."
        )


@app.command()
def show(name: Name, database: DatabaseUrl) -> None:
    """Show all about one; no secret is shown."""
    with identity_database(database) as stored:
        one = stored.credentials.get(name)
    publish, subscribe = both_lists(one.rules)
    table = Table(show_header=False)
    table.add_row("name", plain(one.name))
    table.add_row("kind", one.kind)
    table.add_row("type", one.client_type)
    table.add_row("for", _whom(one))
    table.add_row("proven by", _proof(one))
    table.add_row("publish", publish)
    table.add_row("subscribe", subscribe)
    out.print(table)
    _tell_of_claims(one)


@app.command()
def add(
    name: Name,
    database: DatabaseUrl,
    client_id: Annotated[str | None, typer.Option(help="The client id that they are for.")] = None,
    username: Annotated[str | None, typer.Option(help="The user name that they are for.")] = None,
    client_type: Type = ClientType.DEVICE,
    publish: Publish = None,
    subscribe: Subscribe = None,
    no_publish: NoPublish = False,
    no_subscribe: NoSubscribe = False,
    no_password: Annotated[
        bool, typer.Option("--no-password", help="Let in whoever gives these names.")
    ] = False,
    password_stdin: PasswordStdin = False,
) -> None:
    """Add credentials for a client id, a user name, or both; the password is asked for."""
    from identity.passwords import hash_password

    if no_password and password_stdin:
        raise UsageError("--no-password and --password-stdin contradict each other: give one of them.")
    made = BasicCredentials(
        name=name, client_type=client_type, rules=_rules(publish, subscribe, no_publish, no_subscribe),
        client_id=client_id, username=username,
    )  # fmt: skip
    with plain_errors():
        check_credentials(made)  # before anybody types a password
        if not no_password:
            password = read_password(from_stdin=password_stdin)
            made = replace(made, password_hash=hash_password(password.encode(errors="replace")))
    _add(database, made)


@app.command("add-x509")
def add_x509(
    name: Name,
    database: DatabaseUrl,
    common_name: Annotated[
        str,
        typer.Option(help="What a certificate along the client's chain must be called.", show_default=False),
    ],
    pattern: Annotated[
        bool, typer.Option("--pattern", help="The common name is a pattern for the whole of it.")
    ] = False,
    client_type: Type = ClientType.DEVICE,
    publish: Publish = None,
    subscribe: Subscribe = None,
    no_publish: NoPublish = False,
    no_subscribe: NoSubscribe = False,
) -> None:
    """Add credentials for clients with a certificate."""
    rules = _rules(publish, subscribe, no_publish, no_subscribe)
    _add(
        database,
        X509Credentials(
            name=name, client_type=client_type, rules=rules, common_name=common_name, is_pattern=pattern
        ),
    )


@app.command("add-scram")
def add_scram(
    name: Name,
    database: DatabaseUrl,
    username: Annotated[str, typer.Option(help="The user name that they are for.", show_default=False)],
    client_type: Type = ClientType.DEVICE,
    publish: Publish = None,
    subscribe: Subscribe = None,
    no_publish: NoPublish = False,
    no_subscribe: NoSubscribe = False,
    password_stdin: PasswordStdin = False,
) -> None:
    """Add credentials for SCRAM-SHA-256 and SCRAM-SHA-512 (MQTT 5); the password is asked for."""
    from identity.passwords import scram_verifiers

    rules = _rules(publish, subscribe, no_publish, no_subscribe)
    with plain_errors():
        verifiers = scram_verifiers(read_password(from_stdin=password_stdin))
    made = ScramCredentials(
        name=name, client_type=client_type, rules=rules, username=username, verifiers=verifiers
    )
    _add(database, made)


@app.command()
def password(name: Name, database: DatabaseUrl, password_stdin: PasswordStdin = False) -> None:
    """Give credentials another password, which is asked for; who is connected stays connected."""
    from identity.passwords import hash_password, scram_verifiers

    with identity_database(database) as stored:
        one = stored.credentials.get(name)
        if isinstance(one, X509Credentials):
            raise UsageError(f"{name} has no password: clients prove it by their certificate.")
        given = read_password(from_stdin=password_stdin)
        if isinstance(one, BasicCredentials):
            one = replace(one, password_hash=hash_password(given.encode(errors="replace")))
        else:
            one = replace(one, verifiers=scram_verifiers(given))
        stored.credentials.put([one])
    tell(f"{name} has another password now")


@app.command("import")
def import_credentials(
    file: CsvFile,
    database: DatabaseUrl,
    allow_no_password: Annotated[
        bool, typer.Option("--allow-no-password", help="Take new ones that let in whoever gives their names.")
    ] = False,
) -> None:
    """Add all credentials of a CSV file, or none; those whose name is there already are replaced.

    Where the password's cell is empty, what is replaced keeps its own.
    """
    from identity.credentials_file import read_credentials

    with csv_lines(file) as lines:
        read = read_credentials(lines)
    with identity_database(database) as stored:
        added, replaced = stored.credentials.put(read, allow_no_password=allow_no_password)
    tell(f"Added {added} and replaced {replaced}")


@app.command()
def remove(name: Name, database: DatabaseUrl) -> None:
    """Remove credentials."""
    with identity_database(database) as stored:
        stored.credentials.remove(name)
    tell(f"Removed {name}")


def _rules(
    publish: list[str] | None, subscribe: list[str] | None, no_publish: bool, no_subscribe: bool
) -> Rules:
    if (publish and no_publish) or (subscribe and no_subscribe):
        raise UsageError("Give patterns, or say that there are none: not both.")
    return Rules(() if no_publish else _listed(publish), () if no_subscribe else _listed(subscribe))


def _listed(given: list[str] | None) -> tuple[str, ...] | None:
    return tuple(given) if given else None


def _add(database: str, made: Credentials) -> None:
    with identity_database(database) as stored:
        stored.credentials.add(made)
    tell(f"Added {made.name}")
    _tell_of_claims(made)


def _tell_of_claims(one: Credentials) -> None:
    for name in sorted(unproven_placeholders(one)):
        what = (
            "a client may give any name" if name == CLIENT_ID else "there is no name, so they allow nothing"
        )
        tell(f"Mind: for {name} in its rules {what}, since these credentials do not fix it.")


def _whom(one: Credentials) -> Text:
    names: list[tuple[str, str | None]]
    match one:
        case BasicCredentials():
            names = [("client id", one.client_id), ("user name", one.username)]
        case X509Credentials():
            names = [("common name pattern" if one.is_pattern else "common name", one.common_name)]
        case ScramCredentials():
            names = [("user name", one.username)]
    return Text("\n").join(Text(f"{what} ").append(plain(name)) for what, name in names if name is not None)


def _proof(one: Credentials) -> str:
    match one:
        case BasicCredentials():
            return "nothing" if one.password_hash is None else "password"
        case X509Credentials():
            return "certificate"
        case ScramCredentials():
            return ", ".join(sorted(one.verifiers))
