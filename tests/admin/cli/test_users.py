"""`sluicemq users`: the first one, the others, and their passwords."""

from __future__ import annotations

import pytest

from identity.database import open_database
from identity.users import Users
from tests.admin.cli.identity_command import Command

SECRET = "s3cret-pw"


def may(sluicemq: Command, name: str, password: str) -> bool:
    """Whether a user gets in."""
    database = open_database(sluicemq.url)
    try:
        return Users(database).authenticate(name, password) is not None
    finally:
        database.close()


@pytest.mark.parametrize("words", ["", "list", "add", "password", "role", "remove"])
def test_help(sluicemq: Command, words: str) -> None:
    assert "Usage: " in sluicemq.works("users", *words.split(), "--help").out


def test_a_fresh_install_has_nobody_and_says_how_to_begin(sluicemq: Command) -> None:
    assert "sluicemq users add NAME" in sluicemq.works("users", "list").err
    assert (
        "will be the first user"
        in sluicemq.works("users", "add", "ann", "--password-stdin", stdin=SECRET).err
    )
    second = sluicemq.works("users", "add", "bob", "--password-stdin", stdin=SECRET).err
    assert second == "Added bob\n"
    listed = sluicemq.works("users", "list")
    assert listed.err == ""
    assert "ann" in listed.out
    assert SECRET not in listed.out


def test_from_first_to_last(sluicemq: Command) -> None:
    sluicemq.works("users", "add", "ann", "--password-stdin", stdin=f"{SECRET}\n")
    assert may(sluicemq, "ann", SECRET)
    sluicemq.works("users", "password", "ann", "--password-stdin", stdin="another-password")
    assert not may(sluicemq, "ann", SECRET)
    assert may(sluicemq, "ann", "another-password")
    assert "nobody can use" in sluicemq.works("users", "remove", "ann").err
    assert not may(sluicemq, "ann", "another-password")


@pytest.mark.parametrize(
    ("words", "stdin", "status", "said"),
    [
        ("add ann --password-stdin", SECRET, 1, "there is a user 'ann' already"),
        ("add bob", "", 2, "There is no terminal"),
        ("add bob --password-stdin", "s3c", 2, "at least 8 characters"),
        ("password bob --password-stdin", SECRET, 1, "there is no user 'bob'"),
        ("remove bob", "", 1, "there is no user 'bob'"),
    ],
)
def test_what_cannot_be(sluicemq: Command, words: str, stdin: str, status: int, said: str) -> None:
    sluicemq.works("users", "add", "ann", "--password-stdin", stdin=SECRET)
    error = sluicemq.fails("users", *words.split(), status=status, stdin=stdin)
    assert said in error
    assert "s3c" not in error


def test_roles(sluicemq: Command) -> None:
    refused = sluicemq("users add ann --role viewer --password-stdin", stdin=SECRET)
    assert refused.status == 1
    assert "no administrator" in refused.err
    sluicemq.works("users", "add", "ann", "--password-stdin", stdin=SECRET)
    sluicemq.works("users", "add", "bob", "--role", "viewer", "--password-stdin", stdin=SECRET)
    assert "bob is operator now" in sluicemq.works("users", "role", "bob", "operator").err
    assert "operator" in sluicemq.works("users", "list").out
    assert "no administrator" in sluicemq.fails("users role ann viewer", status=1)
