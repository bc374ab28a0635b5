"""`sluicemq acl`: rules of credentials, and what they mean for a topic."""

from __future__ import annotations

import pytest

from tests.admin.cli.identity_command import Command


@pytest.fixture
def acl(sluicemq: Command) -> Command:
    """The command, with credentials `a` that may publish to their own, and `b` that may everything."""
    sluicemq.works(
        "credentials add a --client-id c --publish own/${clientid}/.* --no-subscribe --no-password"
    )
    sluicemq.works("credentials add b --username u --no-password")
    return sluicemq


@pytest.mark.parametrize("words", ["", "list", "add", "remove", "everything", "nothing", "import", "check"])
def test_help(sluicemq: Command, words: str) -> None:
    assert "Usage: " in sluicemq.works("acl", *words.split(), "--help").out


def test_list(acl: Command) -> None:
    listed = acl.works("acl", "list").out
    for text in ("own/${clientid}/.*", "(nothing)", "(everything)"):
        assert text in listed
    assert "own" not in acl.works("acl", "list", "b").out


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("a publish own/c/x", "allowed by own/${clientid}/.*"),
        ("a publish own/d/x", None),
        ("a publish own/d/x --client-id d", "allowed by own/${clientid}/.*"),
        ("a publish own/+/x --client-id +", None),
        ("a publish $delayed/5/own/c/x", "allowed by own/${clientid}/.*"),
        ("a subscribe own/c/x", None),
        ("b publish x", "allowed by .*"),
        ("b subscribe $share/g/#", "allowed by .*"),
        ("b subscribe a/#/b", None),
    ],
)
def test_check(acl: Command, words: str, answer: str | None) -> None:
    result = acl("acl", "check", *words.split())
    assert result.out == f"{answer or 'denied: no pattern allows it'}\n"
    assert result.status == (0 if answer else 1)


def test_check_needs_names_that_the_rules_hold(acl: Command) -> None:
    acl.works("acl add b publish own/${clientid}")
    assert "give --client-id" in acl.fails("acl check b publish own/c", status=2)
    acl.works("acl check b publish own/c --client-id c")


def test_a_user_name_that_nothing_proves_counts_for_nothing(acl: Command) -> None:
    acl.works("acl add a publish of/${username}")
    assert acl("acl check a publish of/ann --username ann").status == 1
    acl.works("acl add b publish of/${username}")
    acl.works("acl check b publish of/u")


def test_add_and_remove(acl: Command) -> None:
    assert acl.works("acl add a publish more/.*").err == "a may publish to more/.*\n"
    acl.works("acl add a publish more/.*")
    assert acl.works("acl list a").out.count("more/.*") == 1
    assert "and nothing else" in acl.works("acl add a subscribe s").err
    assert "and nothing else" in acl.works("acl add b subscribe s").err
    acl.works("acl check b subscribe s")
    assert acl("acl check b subscribe t").status == 1
    assert "nor to anything else" in acl.works("acl remove b subscribe s").err
    assert acl("acl check b subscribe s").status == 1
    acl.works("acl everything b subscribe")
    acl.works("acl check b subscribe #")
    acl.works("acl nothing b subscribe")
    assert acl("acl check b subscribe #").status == 1


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("add a publish (", 2, "cannot be read"),
        ("add x publish a", 1, "there are no credentials 'x'"),
        ("remove a publish x", 1, "a has no such pattern"),
        ("remove b publish x", 1, "b has no such pattern"),
        ("nothing x publish", 1, "there are no credentials 'x'"),
        ("list x", 1, "there are no credentials 'x'"),
    ],
)
def test_what_cannot_be(acl: Command, words: str, status: int, said: str) -> None:
    assert said in acl.fails("acl", *words.split(), status=status)


def test_import(acl: Command) -> None:
    path = acl.file(
        "rules.csv", "Credentials,Action,Pattern", "a,subscribe,x/.*", 'b,PUBLISH,"y{1,2}"', "a,subscribe,z"
    )
    assert acl.works("acl", "import", path).err == "Added to the rules of 2\n"
    acl.works("acl check a subscribe x/#")
    acl.works("acl check a subscribe z")
    acl.works("acl check b publish yy")


@pytest.mark.parametrize(
    ("row", "status", "said"),
    [
        ("a,subscribe,(", 2, "line 3: the pattern"),
        ("a,read,x", 2, "line 3: action: write one of publish, subscribe"),
        ("a,publish,", 2, "line 3: a pattern is empty"),
        ("x,publish,a", 1, "there are no credentials 'x'"),
    ],
)
def test_import_is_all_or_nothing(acl: Command, row: str, status: int, said: str) -> None:
    path = acl.file("rules.csv", "credentials,action,pattern", "a,subscribe,first", row)
    assert said in acl.fails("acl", "import", path, status=status)
    assert "first" not in acl.works("acl", "list").out
