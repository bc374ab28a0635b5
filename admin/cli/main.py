"""The `sluicemq` command and its sub-commands."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed_version
from typing import Annotated

import typer

from admin.cli import (
    acl,
    administration,
    blocked,
    credentials,
    demo,
    gateway,
    messages,
    notebooks,
    share,
    status,
    topics,
    trace,
    unauthorized,
    up,
    users,
)
from admin.cli.console import out, tell
from admin.errors import AdminError

app = typer.Typer(
    name="sluicemq",
    help="SluiceMQ, a distributed MQTT broker whose router is a Spark Structured Streaming job over Kafka.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    # A traceback is for developers; what a user can change comes as AdminError, in one sentence.
    pretty_exceptions_enable=False,
)
app.command("up")(up.up)
app.command("notebooks")(notebooks.notebooks)
app.command("demo")(demo.demo)
app.command("gateway")(gateway.gateway)
app.command("admin")(administration.administration)
app.command("status")(status.status)
app.command("messages")(messages.messages)
app.command("trace")(trace.trace)
app.add_typer(topics.app, name="topics")
app.add_typer(share.app, name="share")
app.add_typer(credentials.app, name="credentials")
app.add_typer(acl.app, name="acl")
app.add_typer(blocked.app, name="blocked")
app.add_typer(unauthorized.app, name="unauthorized")
app.add_typer(users.app, name="users")


def _show_version(wanted: bool) -> None:
    if wanted:
        out.print(f"SluiceMQ {installed_version('sluicemq')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Hold the options that stand before a sub-command."""


def main() -> None:
    """Run the command; end with status 0, 1 (it did not work) or 2 (it was asked for wrongly)."""
    try:
        app()
    except AdminError as error:
        tell(f"sluicemq: {error}")
        sys.exit(error.exit_status)
