"""`sluicemq credentials`: what is stored, what is shown, and that no secret ever is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import typer

from identity.answers import ClientType, Rules
from identity.credentials import BasicCredentials, Credentials, ScramCredentials, X509Credentials
from identity.database import open_database
from identity.passwords import is_password
from identity.stored_credentials import StoredCredentials
from tests.admin.cli.identity_command import Command

SECRET = "s3cret-pw"


def stored(sluicemq: Command, name: str) -> Credentials:
    """What the database has."""
    database = open_database(sluicemq.url)
    try:
        return StoredCredentials(database).get(name)
    finally:
        database.close()


@pytest.mark.parametrize(
    "words", ["", "list", "show", "add", "add-x509", "add-scram", "password", "import", "remove"]
)
def test_help(sluicemq: Command, words: str) -> None:
    assert "Usage: " in sluicemq.works("credentials", *words.split(), "--help").out


def test_basic(sluicemq: Command) -> None:
    added = sluicemq.works(
        "credentials add sensor --client-id c --username u --client-type application "
        "--publish a/${clientid} --publish b/.* --no-subscribe --password-stdin",
        stdin=f"{SECRET}\nmore\n",
    )
    assert added.err == "Added sensor\n"
    one = stored(sluicemq, "sensor")
    assert isinstance(one, BasicCredentials)
    assert is_password(SECRET.encode(), one.password_hash or "")
    assert (one.client_id, one.username, one.client_type) == ("c", "u", ClientType.APPLICATION)
    assert one.rules == Rules(("a/${clientid}", "b/.*"), ())
    shown = sluicemq.works("credentials", "show", "sensor").out + sluicemq.works("credentials", "list").out
    for text in (
        "sensor",
        "client id c",
        "user name u",
        "a/${clientid}",
        "b/.*",
        "(nothing)",
        "APPLICATION",
        "password",
    ):
        assert text in shown
    assert "argon2" not in shown


def test_x509_and_scram(sluicemq: Command) -> None:
    sluicemq.works("credentials add-x509 exact --common-name device-1")
    sluicemq.works("credentials add-x509 many --common-name device-.* --pattern")
    sluicemq.works("credentials add-scram ann --username ann --password-stdin", stdin=SECRET)
    assert stored(sluicemq, "exact") == X509Credentials(
        name="exact", common_name="device-1", id=1, revision=1
    )
    assert stored(sluicemq, "many") == X509Credentials(
        name="many", common_name="device-.*", is_pattern=True, id=2, revision=2
    )
    ann = stored(sluicemq, "ann")
    assert isinstance(ann, ScramCredentials)
    listed = sluicemq.works("credentials", "list").out
    for text in ("common name device-1", "common name pattern device-.*", "user name ann", "(everything)"):
        assert text in listed
    assert "SCRAM-SHA-256, SCRAM-SHA-512" in sluicemq.works("credentials", "show", "ann").out
    for verifier in ann.verifiers.values():
        assert verifier.stored_key.hex() not in listed


def test_another_password(sluicemq: Command) -> None:
    sluicemq.works("credentials add a --client-id c --publish x --password-stdin", stdin="first\n")
    sluicemq.works("credentials password a --password-stdin", stdin=f"{SECRET}\r\n")
    one = stored(sluicemq, "a")
    assert isinstance(one, BasicCredentials)
    assert is_password(SECRET.encode(), one.password_hash or "")
    assert one.rules == Rules(("x",))
    sluicemq.works("credentials add-scram b --username u --password-stdin", stdin="first")
    before = stored(sluicemq, "b")
    sluicemq.works("credentials password b --password-stdin", stdin=SECRET)
    after = stored(sluicemq, "b")
    assert isinstance(before, ScramCredentials)
    assert isinstance(after, ScramCredentials)
    assert before.verifiers != after.verifiers
    sluicemq.works("credentials add-x509 c --common-name c")
    assert "by their certificate" in sluicemq.fails("credentials password c", status=2)


def test_without_password(sluicemq: Command) -> None:
    sluicemq.works("credentials add guests --username guest --no-password")
    assert "nothing" in sluicemq.works("credentials", "show", "guests").out


def test_rules_by_names_that_the_credentials_do_not_fix(sluicemq: Command) -> None:
    added = sluicemq.works("credentials add a --username u --publish ${clientid}/${username} --no-password")
    assert added.err.count("Mind: ") == 1
    assert "for ${clientid} in its rules a client may give any name" in added.err
    added = sluicemq.works("credentials add b --client-id b --subscribe ${username} --no-password")
    assert "for ${username} in its rules there is no name, so they allow nothing" in added.err
    added = sluicemq.works("credentials add-x509 c --common-name c --subscribe ${username}")
    assert "Mind: " not in added.err


def test_a_password_is_asked_for(sluicemq: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, object]] = []

    def prompt(_: str, **options: object) -> str:
        asked.append(options)
        return SECRET

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(typer, "prompt", prompt)
    monkeypatch.setattr(sys, "argv", ["sluicemq", "credentials", "add", "a", "--client-id", "c"])
    monkeypatch.setattr(sys, "stdin", Terminal())
    from admin.cli.main import main

    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert asked == [{"hide_input": True, "confirmation_prompt": True, "err": True}]
    one = stored(sluicemq, "a")
    assert isinstance(one, BasicCredentials)
    assert is_password(SECRET.encode(), one.password_hash or "")


@pytest.fixture
def with_one(sluicemq: Command) -> Command:
    """The command, with credentials `there` for the client id `c`."""
    sluicemq.works("credentials add there --client-id c --password-stdin", stdin=SECRET)
    return sluicemq


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("add a", 2, "need a client id, a user name, or both"),
        (
            "add a --client-id c --password-stdin",
            1,
            "there are credentials of that name, or for the same client",
        ),
        ("add there --client-id d --password-stdin", 1, "there are credentials of that name"),
        ("add a --client-id d", 2, "There is no terminal to ask for the password"),
        ("add a --client-id d --no-password --password-stdin", 2, "contradict each other"),
        ("add a --client-id d --publish ( --no-password", 2, "the pattern '(' cannot be read"),
        ("add a --client-id d --publish x --no-publish --no-password", 2, "not both"),
        ("add a --client-id d --subscribe x --no-subscribe --no-password", 2, "not both"),
        ("add a --client-id d --publish ${cn} --no-password", 2, "the only placeholders are"),
        ("add-x509 a --common-name ( --pattern", 2, "cannot be read"),
        ("show a", 1, "there are no credentials 'a': `sluicemq credentials list`"),
        ("password a", 1, "there are no credentials 'a'"),
        ("remove a", 1, "there are no credentials 'a'"),
    ],
)
def test_what_cannot_be(with_one: Command, words: str, status: int, said: str) -> None:
    error = with_one.fails("credentials", *words.split(), status=status, stdin=f"{SECRET}\n")
    assert said in error
    assert SECRET not in error


@pytest.mark.parametrize(
    ("stdin", "said"), [(b"", "is empty"), (b"\n", "is empty"), (b"\xff\n", "not UTF-8")]
)
def test_stdin_without_password(sluicemq: Command, stdin: bytes, said: str) -> None:
    error = sluicemq.fails("credentials add a --client-id c --password-stdin", status=2, stdin=stdin)
    assert said in error


def test_import(with_one: Command) -> None:
    path = with_one.file(
        "c.csv",
        "Name,Client type,Client ID,Username,Password,Sub auth rule patterns,Pub auth rule patterns",
        "there,DEVICE,c,,,a/.*,",
        f"new,APPLICATION,,u,{SECRET},,b;c",
    )
    assert with_one.works("credentials", "import", path).err == "Added 1 and replaced 1\n"
    there, new = stored(with_one, "there"), stored(with_one, "new")
    assert isinstance(there, BasicCredentials)
    assert is_password(SECRET.encode(), there.password_hash or "")
    assert there.rules == Rules((), ("a/.*",))
    assert new.rules == Rules(("b", "c"), ())


def test_import_of_what_cannot_be(with_one: Command) -> None:
    none = with_one.file("none.csv", "name,client_id,password", f"new,d,{SECRET}", "open,e,")
    error = with_one.fails("credentials", "import", none, status=2)
    assert "the credentials 'open' have no password" in error
    assert with_one.works("credentials", "list").out.count("client id") == 1
    with_one.works("credentials", "import", none, "--allow-no-password")
    twice = with_one.file("twice.csv", "name,client_id,password", f"another,c,{SECRET}")
    assert "same client" in with_one.fails("credentials", "import", twice, status=1)
    bad = with_one.file("bad.csv", "name,client_id,password", f"a,,{SECRET}")
    error = with_one.fails("credentials", "import", bad, status=2)
    assert "line 2: " in error
    assert SECRET not in error


def test_an_empty_list_says_how_to_add_the_first(sluicemq: Command) -> None:
    told = sluicemq.works("credentials", "list").err
    advice = told.split("`")[1].replace("NAME", "first").replace("USER", "u").removeprefix("sluicemq ")
    sluicemq.works(f"{advice} --password-stdin", stdin=f"{SECRET}\n")
    listed = sluicemq.works("credentials", "list")
    assert "user name u" in listed.out
    assert listed.err == ""


def test_remove(with_one: Command) -> None:
    assert with_one.works("credentials", "remove", "there").err == "Removed there\n"
    assert "there" not in with_one.works("credentials", "list").out


def test_names_are_shown_as_they_are(sluicemq: Command) -> None:
    sluicemq.works("credentials", "add", "[red]a[/red]", "--client-id", "x\x1b[2J\u202e", "--no-password")
    listed = sluicemq.works("credentials", "list").out
    assert "[red]a[/red]" in listed
    assert r"x\x1b[2J\u202e" in listed
    assert "\x1b" not in listed


def test_the_database_is_the_owners_and_its_url_has_no_password_in_errors(
    sluicemq: Command, tmp_path: Path
) -> None:
    sluicemq.works("credentials", "list")
    assert (tmp_path / "identity.db").stat().st_mode & 0o777 == 0o600
    for url, status in (
        (f"postgresql://me:{SECRET}@127.0.0.1:1/db", 1),
        (f"postgresql://me:{SECRET}@h:x/db", 2),
        (f"mysql://me:{SECRET}@h/db", 2),
    ):
        error = sluicemq.fails("credentials", "list", "--database", url, status=status)
        assert SECRET not in error
