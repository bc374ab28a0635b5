"""`sluicemq acl`: what clients may publish and subscribe to, by the credentials that they came in with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer
from rich.table import Table

from admin.cli.cells import patterns, plain
from admin.cli.console import out, tell
from admin.cli.identity_database import CsvFile, DatabaseUrl, csv_lines, identity_database
from admin.errors import AdminError, UsageError
from identity.answers import Rules
from identity.credentials import BasicCredentials, Credentials, ScramCredentials
from identity.patterns import CLIENT_ID, USERNAME
from identity.rules import Permissions, placeholders
from identity.rules_file import Action, patterns_of, read_rules, with_pattern, with_patterns

app = typer.Typer(help="List, add, import, remove and check rules of credentials.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="What the credentials are called.", show_default=False)]
What = Annotated[Action, typer.Argument(help="What a rule is about.", show_default=False)]
Pattern = Annotated[
    str, typer.Argument(help="A pattern (RE2) for a whole topic or filter.", show_default=False)
]


@app.command("list")
def list_rules(
    database: DatabaseUrl,
    name: Annotated[str | None, typer.Argument(help="Of these credentials only.")] = None,
) -> None:
    """List the rules of all credentials, or of one."""
    with identity_database(database) as stored:
        listed = stored.credentials.list() if name is None else [stored.credentials.get(name)]
    table = Table("credentials", "publish", "subscribe")
    for one in listed:
        table.add_row(plain(one.name), patterns(one.rules.publish), patterns(one.rules.subscribe))
    out.print(table)


@app.command()
def add(name: Name, action: What, pattern: Pattern, database: DatabaseUrl) -> None:
    """Allow one pattern more; where everything was allowed until now, only it is from now on."""
    with identity_database(database) as stored:
        before = patterns_of(stored.credentials.get(name).rules, action)
        stored.credentials.change_rules({name: lambda rules: with_pattern(rules, action, pattern)})
    tell(f"{name} may {action} to {pattern}{', and nothing else' if not before else ''}")


@app.command()
def remove(name: Name, action: What, pattern: Pattern, database: DatabaseUrl) -> None:
    """Allow one pattern less; after the last one nothing is allowed."""

    def without(rules: Rules) -> Rules:
        listed = patterns_of(rules, action) or ()
        if pattern not in listed:
            raise AdminError(f"{name} has no such pattern: `sluicemq acl list {name}` shows what it has.")
        return with_patterns(rules, action, tuple(one for one in listed if one != pattern))

    changed = _change(database, name, without)
    left = patterns_of(changed.rules, action)
    tell(f"{name} may no longer {action} to {pattern}{'' if left else ', nor to anything else'}")


@app.command()
def everything(name: Name, action: What, database: DatabaseUrl) -> None:
    """Allow everything."""
    _change(database, name, lambda rules: with_patterns(rules, action, None))
    tell(f"{name} may {action} to everything")


@app.command()
def nothing(name: Name, action: What, database: DatabaseUrl) -> None:
    """Allow nothing."""
    _change(database, name, lambda rules: with_patterns(rules, action, ()))
    tell(f"{name} may {action} to nothing")


@app.command("import")
def import_rules(file: CsvFile, database: DatabaseUrl) -> None:
    """Add all patterns of a CSV file (credentials, action, pattern), or none."""
    with csv_lines(file) as lines:
        changes = read_rules(lines)
    with identity_database(database) as stored:
        stored.credentials.change_rules(changes)
    tell(f"Added to the rules of {len(changes)}")


@app.command()
def check(
    name: Name,
    action: What,
    topic: Annotated[str, typer.Argument(help="A topic, or to subscribe a filter.", show_default=False)],
    database: DatabaseUrl,
    client_id: Annotated[
        str | None, typer.Option(help="Of the client.", show_default="the credentials' own")
    ] = None,
    username: Annotated[
        str | None,
        typer.Option(
            help="Of the client; where a certificate proves it, its name.",
            show_default="the credentials' own",
        ),
    ] = None,
) -> None:
    """Tell whether a client may, and by which pattern; exit status 1 when it may not."""
    with identity_database(database) as stored:
        one = stored.credentials.get(name)
    if client_id is None and isinstance(one, BasicCredentials):
        client_id = one.client_id
    if isinstance(one, BasicCredentials) and one.username is None:
        username = ""  # nothing proves the one that such a client gives, so it counts for nothing
    elif username is None and isinstance(one, BasicCredentials | ScramCredentials):
        username = one.username
    used = placeholders(one.rules)
    for placeholder, value, option in (
        (CLIENT_ID, client_id, "--client-id"),
        (USERNAME, username, "--username"),
    ):
        if placeholder in used and value is None:
            raise UsageError(f"The rules of {name} hold {placeholder}: give {option}.")
    permissions = Permissions(one.rules, client_id or "", username)
    by = permissions.publish(topic) if action is Action.PUBLISH else permissions.subscribe(topic)
    if by is None:
        out.print("denied: no pattern allows it", markup=False)
        raise typer.Exit(1)
    out.print(f"allowed by {plain(by)}", markup=False)


def _change(database: str, name: str, change: Callable[[Rules], Rules]) -> Credentials:
    with identity_database(database) as stored:
        return stored.credentials.change_rules({name: change})[name]
