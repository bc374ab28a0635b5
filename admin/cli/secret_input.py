"""Passwords from the terminal or from stdin: never from the command line, which every process can read."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from admin.errors import UsageError

PasswordStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from stdin, its first line.")
]


def read_password(*, from_stdin: bool, what: str = "Password") -> str:
    """A password, asked for twice on a terminal, or the first line of stdin without its end.

    Raises:
        UsageError: There is no terminal and stdin was not asked for, or the line cannot be a password.
    """
    if not from_stdin:
        if not sys.stdin.isatty():
            raise UsageError(
                "There is no terminal to ask for the password: give it on stdin, with --password-stdin."
            )
        return str(typer.prompt(what, hide_input=True, confirmation_prompt=True, err=True))
    try:
        password = sys.stdin.readline()
    except UnicodeDecodeError:
        raise UsageError("The password on stdin is not UTF-8.") from None
    password = password.removesuffix("\n").removesuffix("\r")
    if not password:
        raise UsageError("The first line of stdin, which must be the password, is empty.")
    return password
