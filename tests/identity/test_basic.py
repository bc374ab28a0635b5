"""The basic provider: who is let in, and what a check costs and remembers."""

from __future__ import annotations

import logging

import pytest

from identity import basic as basic_module
from identity.answers import ClientType, Failure, Rules, Skipped, Success
from identity.basic import BasicProvider
from identity.credentials import BasicCredentials, X509Credentials
from identity.database import Database
from identity.passwords import hash_password, is_password, spend_a_check
from identity.stored_credentials import StoredCredentials
from identity.verified_passwords import VerifiedPasswords
from tests.identity.conftest import Clock


class Checks:
    """Counts the Argon2 checks, which do the same as ever."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.spent = 0
        monkeypatch.setattr(basic_module, "is_password", self.is_password)

        def spent(password: bytes) -> None:
            self.spent += 1
            spend_a_check(password)

        monkeypatch.setattr(basic_module, "spend_a_check", spent)

    def is_password(self, password: bytes, password_hash: str) -> bool:
        self.count += 1
        return is_password(password, password_hash)


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Checks:
    return Checks(monkeypatch)


@pytest.fixture
def stored(database: Database) -> StoredCredentials:
    """Three sets of credentials that a client may fall under."""
    stored = StoredCredentials(database)
    for name, client_id, username in (("by-id", "c", None), ("by-user", None, "u"), ("by-both", "c", "u")):
        stored.add(
            BasicCredentials(
                name=name,
                client_id=client_id,
                username=username,
                client_type=ClientType.APPLICATION if name == "by-both" else ClientType.DEVICE,
                rules=Rules((name,), ()),
                password_hash=hash_password(name.encode()),
            )
        )
    return stored


def who(provider: BasicProvider, client_id: str, username: str | None, password: bytes | None) -> str:
    """The answer in short."""
    answer = provider.authenticate(client_id, username, password)
    return answer.who if isinstance(answer, Success) else type(answer).__name__


def test_success(stored: StoredCredentials) -> None:
    answer = BasicProvider(stored).authenticate("c", "u", b"by-both")
    assert answer == Success(
        ClientType.APPLICATION, Rules(("by-both",), ()), "basic:by-both", stored.get("by-both").id
    )


@pytest.mark.parametrize(
    ("client_id", "username", "password", "expected"),
    [
        ("c", "u", b"by-both", "basic:by-both"),
        ("c", "u", b"by-id", "basic:by-id"),
        ("c", "u", b"by-user", "basic:by-user"),
        ("c", None, b"by-id", "basic:by-id"),
        ("c", "x", b"by-id", "basic:by-id"),
        ("x", "u", b"by-user", "basic:by-user"),
        ("", "u", b"by-user", "basic:by-user"),
        ("c", None, b"by-both", "Failure"),
        ("c", "x", b"by-user", "Failure"),
        ("c", "u", b"", "Failure"),
        ("c", "u", None, "Failure"),
        ("c", "u", b"\xff\x00", "Failure"),
        ("C", "U", b"by-both", "Skipped"),
        ("x", "y", b"by-both", "Skipped"),
        ("", None, None, "Skipped"),
        ("u", "c", b"by-both", "Skipped"),
    ],
)
def test_who_is_let_in(
    stored: StoredCredentials, client_id: str, username: str | None, password: bytes | None, expected: str
) -> None:
    assert who(BasicProvider(stored), client_id, username, password) == expected


def test_credentials_without_password(stored: StoredCredentials) -> None:
    stored.add(BasicCredentials(name="open", username="guest"))
    provider = BasicProvider(stored)
    assert who(provider, "x", "guest", None) == "basic:open"
    assert who(provider, "x", "guest", b"whatever") == "basic:open"


def test_a_password_that_was_right_costs_no_second_check(stored: StoredCredentials, checks: Checks) -> None:
    provider = BasicProvider(stored)
    for _ in range(3):
        assert who(provider, "c", None, b"by-id") == "basic:by-id"
    assert checks.count == 1
    for _ in range(3):
        assert who(provider, "c", None, b"wrong") == "Failure"
    assert checks.count == 4


def test_any_change_asks_anew(stored: StoredCredentials, checks: Checks) -> None:
    provider = BasicProvider(stored)
    who(provider, "c", None, b"by-id")
    stored.add(X509Credentials(name="x", common_name="x"))
    assert who(provider, "c", None, b"by-id") == "basic:by-id"
    assert checks.count == 2


def test_another_password_and_removal_count_at_once(stored: StoredCredentials) -> None:
    provider = BasicProvider(stored)
    assert who(provider, "c", None, b"by-id") == "basic:by-id"
    stored.put([BasicCredentials(name="by-id", client_id="c", password_hash=hash_password(b"another"))])
    assert who(provider, "c", None, b"by-id") == "Failure"
    assert who(provider, "c", None, b"another") == "basic:by-id"
    stored.remove("by-id")
    assert who(provider, "c", None, b"another") == "Skipped"


def test_other_rules_count_at_once(stored: StoredCredentials) -> None:
    provider = BasicProvider(stored)
    provider.authenticate("c", None, b"by-id")
    stored.change_rules({"by-id": lambda _: Rules(("new",), ())})
    answer = provider.authenticate("c", None, b"by-id")
    assert isinstance(answer, Success)
    assert answer.rules == Rules(("new",), ())


def test_one_clients_right_password_is_not_anothers(stored: StoredCredentials) -> None:
    provider = BasicProvider(stored)
    assert who(provider, "c", None, b"by-id") == "basic:by-id"
    assert who(provider, "x", "u", b"by-id") == "Failure"


def test_who_is_unknown_costs_as_much_as_a_wrong_password(stored: StoredCredentials, checks: Checks) -> None:
    assert who(BasicProvider(stored), "x", "y", b"p") == "Skipped"
    assert (checks.count, checks.spent) == (0, 1)
    assert who(BasicProvider(stored), "x", "y", None) == "Skipped"
    assert who(BasicProvider(stored, hide_unknown=False), "x", "y", b"p") == "Skipped"
    assert checks.spent == 1


def test_no_secret_is_shown(stored: StoredCredentials, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    provider = BasicProvider(stored)
    answers = [provider.authenticate("c", "u", password) for password in (b"by-both", b"s3cret", None)]
    shown = f"{answers} {stored.list()} {stored.basic('c', 'u')} {caplog.text}"
    assert "s3cret" not in shown
    assert "argon2id" not in shown
    assert answers[1:] == [Failure("the password is wrong"), Failure("no password was given")]
    assert isinstance(provider.authenticate("x", None, b"p"), Skipped)


class TestVerifiedPasswords:
    def test_for_a_time(self, clock: Clock) -> None:
        verified = VerifiedPasswords(ttl_seconds=10, clock=clock)
        assert not verified.knows(1, "h", b"p")
        verified.add(1, "h", b"p")
        clock.now += 9
        assert verified.knows(1, "h", b"p")
        clock.now += 1
        assert not verified.knows(1, "h", b"p")
        assert len(verified) == 0

    def test_being_asked_does_not_make_it_longer(self, clock: Clock) -> None:
        verified = VerifiedPasswords(ttl_seconds=10, clock=clock)
        verified.knows(1, "h", b"p")
        verified.add(1, "h", b"p")
        for _ in range(10):
            clock.now += 1
            known = verified.knows(1, "h", b"p")
        assert not known

    def test_hash_and_password_count(self) -> None:
        verified = VerifiedPasswords()
        verified.knows(1, "h", b"p")
        verified.add(1, "h", b"p")
        for password_hash, password in (("h", b"q"), ("g", b"p"), ("hp", b""), ("", b"hp")):
            assert not verified.knows(1, password_hash, password)

    def test_bounded(self) -> None:
        verified = VerifiedPasswords(limit=3)
        verified.knows(1, "h", b"")
        for number in range(9):
            verified.add(1, "h", b"%d" % number)
        assert len(verified) == 3
        assert verified.knows(1, "h", b"8")
        assert not verified.knows(1, "h", b"5")

    def test_another_revision_forgets_all(self) -> None:
        verified = VerifiedPasswords()
        verified.knows(1, "h", b"p")
        verified.add(1, "h", b"p")
        assert not verified.knows(2, "h", b"p")
        verified.add(1, "h", b"p")  # checked before the change that has been seen meanwhile
        assert not verified.knows(2, "h", b"p")

    def test_each_has_a_secret_of_its_own(self) -> None:
        assert VerifiedPasswords()._key("h", b"p") != VerifiedPasswords()._key("h", b"p")
