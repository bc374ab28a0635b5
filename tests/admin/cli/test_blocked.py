"""`sluicemq blocked` and `sluicemq unauthorized`."""

from __future__ import annotations

import time

import pytest

from identity.block_list import Block, Subject
from identity.blocked import BlockedClients
from identity.database import open_database
from identity.unauthorized import Unauthorized, UnauthorizedClients
from tests.admin.cli.identity_command import Command


def blocks(sluicemq: Command) -> list[Block]:
    """What the database has."""
    database = open_database(sluicemq.url)
    try:
        return BlockedClients(database).list()
    finally:
        database.close()


@pytest.mark.parametrize(
    "words",
    ["blocked", "blocked list", "blocked add", "blocked import", "blocked remove", "blocked tidy",
     "unauthorized", "unauthorized list", "unauthorized remove", "unauthorized clear"],
)  # fmt: skip
def test_help(sluicemq: Command, words: str) -> None:
    assert "Usage: " in sluicemq.works(*words.split(), "--help").out


def test_add_list_remove(sluicemq: Command) -> None:
    sluicemq.works("blocked", "add", "bad", "--reason", "makes noise")
    sluicemq.works(r"blocked add 10\..* --by address --pattern --until 2030-12-31T18:00:00+01:00")
    sluicemq.works("blocked add u --by username --until 2001-01-01")
    listed = sluicemq.works("blocked", "list").out
    for text in ("bad", "makes noise", r"10\..*", "2030-12-31 17:00:00Z", "2001-01-01 00:00:00Z (over)"):
        assert text in listed
    sluicemq.works("blocked", "tidy")
    sluicemq.works("blocked", "remove", "bad")
    sluicemq.works(r"blocked remove 10\..* --by address --pattern")
    assert blocks(sluicemq) == []


@pytest.mark.parametrize(
    ("duration", "seconds"), [("90s", 90), ("30m", 1800), ("12h", 43_200), ("7d", 604_800)]
)
def test_for_a_time(sluicemq: Command, duration: str, seconds: int) -> None:
    before = int(time.time() * 1000)
    sluicemq.works("blocked", "add", "c", "--for", duration)
    after = int(time.time() * 1000)
    (block,) = blocks(sluicemq)
    assert block.expires_at_ms is not None
    assert before <= block.expires_at_ms - seconds * 1000 <= after


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("add a --for 5", 2, "is no duration"),
        ("add a --for 5s --until 2030-01-01", 2, "give one of them"),
        ("add a --until tomorrow", 2, "is no time"),
        ("add a --by address", 2, "is no IP address"),
        ("add ( --pattern", 2, "cannot be read"),
        ("remove a", 1, "is not blocked by client-id"),
        ("remove a --pattern", 1, "is not blocked by client-id pattern"),
    ],
)
def test_what_cannot_be(sluicemq: Command, words: str, status: int, said: str) -> None:
    assert said in sluicemq.fails("blocked", *words.split(), status=status)


def test_import(sluicemq: Command) -> None:
    path = sluicemq.file(
        "b.csv", "By,Value,Pattern,Reason,Expires at", "username,u", ",c,,noise,2030-01-01T00:00:00Z",
        "address,.*,true,", "",
    )  # fmt: skip
    assert sluicemq.works("blocked", "import", path).err == "Blocked 3\n"
    assert blocks(sluicemq) == [
        Block(Subject.ADDRESS, ".*", is_pattern=True),
        Block(Subject.CLIENT_ID, "c", reason="noise", expires_at_ms=1_893_456_000_000),
        Block(Subject.USERNAME, "u"),
    ]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("name,x", "by: write one of client-id, username, address"),
        ("address,x", "'x' is no IP address"),
        ("username,u,maybe", "pattern: write true or false"),
        ("username,u,,,soon", "'soon' is no time"),
        ("username,", "the value is empty"),
    ],
)
def test_import_is_all_or_nothing(sluicemq: Command, row: str, said: str) -> None:
    path = sluicemq.file("b.csv", "by,value,pattern,reason,expires_at", "username,first", row)
    error = sluicemq.fails("blocked", "import", path, status=2)
    assert f"line 3: {said}" in error
    assert blocks(sluicemq) == []


def test_unauthorized(sluicemq: Command) -> None:
    database = open_database(sluicemq.url)
    now = int(time.time() * 1000)
    UnauthorizedClients(database).record(
        [
            Unauthorized(f"c{number}\x1b[31m", "192.0.2.7", "[b]u[/b]", "the password is wrong", now)
            for number in (1, 2, 3)
        ]
    )
    database.close()
    listed = sluicemq.works("unauthorized", "list").out
    for text in (r"c1\x1b[31m", "192.0.2.7", "[b]u[/b]", "the password is wrong"):
        assert text in listed
    assert "\x1b" not in listed
    assert sluicemq.works("unauthorized", "list", "--limit", "1").out.count("192.0.2.7") == 1
    sluicemq.works("unauthorized", "remove", "c1\x1b[31m")
    assert "is not on the list" in sluicemq.fails("unauthorized", "remove", "c1", status=1)
    assert sluicemq.works("unauthorized", "clear").err == "Took 2 off the list\n"
