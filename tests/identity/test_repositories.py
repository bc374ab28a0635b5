"""What the repositories promise, on SQLite and on PostgreSQL."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from identity.answers import ClientType, Rules
from identity.block_list import Block, Subject
from identity.blocked import BlockedClients
from identity.credentials import (
    BasicCredentials,
    Credentials,
    ScramCredentials,
    ScramVerifier,
    X509Credentials,
)
from identity.database import Database, Group
from identity.errors import AlreadyThereError, InvalidError, LastAdministratorError, NotThereError
from identity.logins import Login, Logins
from identity.roles import Role
from identity.shared_subscriptions import SharedSubscription, SharedSubscriptions
from identity.stored_credentials import StoredCredentials
from identity.unauthorized import LONGEST, Unauthorized, UnauthorizedClients
from identity.users import Users
from tests.identity.conftest import Clock

HASH = "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$abc"
VERIFIERS = {"SCRAM-SHA-256": ScramVerifier(4096, b"salt\0", b"stored", b"server")}
ALL_KINDS: list[Credentials] = [
    BasicCredentials(name="basic", client_id="c/é\n#+", username="u", password_hash=HASH),
    BasicCredentials(name="open", username="u"),
    X509Credentials(name="exact", common_name="device", client_type=ClientType.APPLICATION),
    X509Credentials(name="pattern", common_name="dev.*", is_pattern=True, rules=Rules((), None)),
    ScramCredentials(
        name="scram", username="u", verifiers=VERIFIERS, rules=Rules(None, ("a/${username}/é",))
    ),
]


@pytest.fixture
def credentials(both: Database) -> StoredCredentials:
    return StoredCredentials(both)


class TestCredentials:
    @pytest.mark.parametrize("given", ALL_KINDS, ids=lambda one: one.name)
    def test_each_kind_comes_back_as_it_was(self, credentials: StoredCredentials, given: Credentials) -> None:
        stored = credentials.add(given)
        assert replace(stored, id=None, revision=0) == given
        assert stored.id is not None
        assert credentials.get(given.name) == stored
        assert credentials.list() == [stored]
        assert credentials.by_ids([stored.id, stored.id + 1]) == {stored.id: stored}

    def test_the_most_specific_first(self, credentials: StoredCredentials) -> None:
        for name, client_id, username in (
            ("u", None, "u"),
            ("c", "c", None),
            ("both", "c", "u"),
            ("other", "c", "x"),
        ):
            credentials.add(
                BasicCredentials(name=name, client_id=client_id, username=username, password_hash=HASH)
            )
        credentials.add(ScramCredentials(name="scram", username="u", verifiers=VERIFIERS))

        def found(client_id: str, username: str | None) -> list[str]:
            return [one.name for one in credentials.basic(client_id, username)[1]]

        assert found("c", "u") == ["both", "c", "u"]
        assert found("c", None) == ["c"]
        assert found("d", "u") == ["u"]
        assert found("", "u") == ["u"]
        assert found("c", "") == ["c"]
        assert found("d", "d") == []
        assert found("", None) == []

    def test_x509_and_scram(self, credentials: StoredCredentials) -> None:
        for one in ALL_KINDS:
            credentials.add(one)
        credentials.add(X509Credentials(name="another", common_name="dev.*"))
        assert [one.name for one in credentials.x509()] == ["another", "exact", "pattern"]
        found = credentials.scram("u")
        assert found is not None
        assert found.verifiers == VERIFIERS
        assert credentials.scram("v") is None

    def test_one_name_one_client(self, credentials: StoredCredentials) -> None:
        credentials.add(BasicCredentials(name="a", client_id="c", password_hash=HASH))
        revision = credentials.revision()
        for again in (
            BasicCredentials(name="a", client_id="d", password_hash=HASH),
            BasicCredentials(name="b", client_id="c", password_hash=HASH),
        ):
            with pytest.raises(AlreadyThereError) as caught:
                credentials.add(again)
            assert "argon2" not in str(caught.value)
        assert credentials.revision() == revision
        credentials.add(BasicCredentials(name="b", username="c", password_hash=HASH))
        credentials.add(BasicCredentials(name="d", client_id="c", username="c", password_hash=HASH))

    def test_each_change_raises_the_revision(self, credentials: StoredCredentials) -> None:
        seen = [credentials.revision()]
        first = credentials.add(BasicCredentials(name="a", client_id="c", password_hash=HASH))
        seen.append(credentials.revision())
        changed = credentials.change_rules({"a": lambda rules: Rules(("x",), rules.subscribe)})["a"]
        seen.append(credentials.revision())
        credentials.put(
            [BasicCredentials(name="a", client_id="d"), X509Credentials(name="x", common_name="cn")]
        )
        seen.append(credentials.revision())
        credentials.remove("a")
        seen.append(credentials.revision())
        assert seen == sorted(set(seen))
        assert (first.revision, changed.revision) == (seen[1], seen[2])
        assert changed.rules == Rules(("x",), None)
        assert credentials.basic("d", None)[0] == seen[4]

    def test_what_fails_raises_no_revision(self, credentials: StoredCredentials) -> None:
        credentials.add(X509Credentials(name="x", common_name="cn"))
        revision = credentials.revision()
        with pytest.raises(NotThereError):
            credentials.remove("nobody")
        with pytest.raises(NotThereError):
            credentials.get("nobody")
        with pytest.raises(NotThereError):
            credentials.change_rules({"x": lambda _: Rules(()), "nobody": lambda rules: rules})
        with pytest.raises(InvalidError):
            credentials.change_rules({"x": lambda _: Rules(("(",))})
        with pytest.raises(InvalidError, match="no password"):
            credentials.put(
                [X509Credentials(name="y", common_name="y"), BasicCredentials(name="z", client_id="z")]
            )
        assert credentials.revision() == revision
        assert [one.name for one in credentials.list()] == ["x"]
        assert credentials.get("x").rules == Rules()

    def test_put_keeps_a_password(self, credentials: StoredCredentials) -> None:
        one = BasicCredentials(name="a", client_id="c", password_hash=HASH)
        assert credentials.put([one]) == (1, 0)
        assert credentials.put([replace(one, client_id="d", password_hash=None)]) == (0, 1)
        stored = credentials.get("a")
        assert isinstance(stored, BasicCredentials)
        assert (stored.client_id, stored.password_hash) == ("d", HASH)
        assert credentials.put([BasicCredentials(name="b", client_id="b")], allow_no_password=True) == (1, 0)

    def test_ids_are_never_given_twice(self, credentials: StoredCredentials) -> None:
        first = credentials.add(X509Credentials(name="x", common_name="cn"))
        credentials.remove("x")
        second = credentials.add(X509Credentials(name="x", common_name="cn"))
        assert second.id != first.id
        assert credentials.by_ids([first.id or 0]) == {}

    def test_writers_at_once(self, both: Database, credentials: StoredCredentials) -> None:
        errors: list[Exception] = []

        def write(writer: int) -> None:
            try:
                for number in range(5):
                    credentials.add(
                        X509Credentials(name=f"{writer}.{number}", common_name=f"{writer}.{number}")
                    )
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors
        assert sorted(one.revision for one in credentials.list()) == list(range(1, 21))
        assert both.revisions()[Group.CREDENTIALS] == 20

    def test_a_long_client_id(self, credentials: StoredCredentials) -> None:
        credentials.add(BasicCredentials(name="long", client_id="ü" * 30_000, password_hash=HASH))
        assert credentials.basic("ü" * 30_000, None)[1][0].name == "long"


class TestUsers:
    def test_nobody_at_first(self, both: Database) -> None:
        users = Users(both)
        assert users.count() == 0
        assert users.list() == []
        for password in ("", "admin", "sysadmin", "public"):
            assert users.authenticate("admin", password) is None

    def test_from_first_to_last(self, both: Database, clock: Clock) -> None:
        users = Users(both)
        revision = both.revisions()[Group.USERS]
        user = users.add("ann", "first-pässword")
        assert user.created_at_ms == clock.now * 1000
        assert users.list() == [user]
        assert users.count() == 1
        assert users.authenticate("ann", "first-pässword") == user
        assert users.authenticate("ann", "first-password") is None
        assert users.authenticate("bob", "first-pässword") is None
        users.set_password("ann", "second-password")
        assert users.authenticate("ann", "first-pässword") is None
        assert users.authenticate("ann", "second-password") == user
        users.remove("ann", even_last=True)
        assert users.authenticate("ann", "second-password") is None
        assert both.revisions()[Group.USERS] == revision + 3

    def test_what_cannot_be(self, both: Database) -> None:
        users = Users(both)
        users.add("ann", "password-1")
        with pytest.raises(AlreadyThereError, match="users password"):
            users.add("ann", "password-2")
        with pytest.raises(InvalidError, match="at least 8") as caught:
            users.add("bob", "hunter2")
        assert "hunter2" not in str(caught.value)
        with pytest.raises(InvalidError):
            users.add("", "password-1")
        with pytest.raises(NotThereError):
            users.set_password("bob", "password-1")
        with pytest.raises(NotThereError):
            users.remove("bob")
        with pytest.raises(NotThereError):
            users.set_role("bob", Role.VIEWER)

    def test_an_administrator_is_always_left(self, both: Database) -> None:
        users = Users(both)
        with pytest.raises(LastAdministratorError):
            users.add("eve", "password-1", Role.VIEWER)
        users.add("ann", "password-1")
        users.add("bob", "password-1", Role.OPERATOR)
        with pytest.raises(LastAdministratorError):
            users.remove("ann")
        with pytest.raises(LastAdministratorError):
            users.set_role("ann", Role.OPERATOR)
        users.set_role("bob", Role.ADMINISTRATOR)
        users.remove("ann")
        assert [(user.name, user.role) for user in users.list()] == [("bob", Role.ADMINISTRATOR)]


class TestLogins:
    def test_from_login_to_logout(self, both: Database, clock: Clock) -> None:
        Users(both).add("ann", "password-1")
        logins = Logins(both)
        token, other = logins.open("ann", 60), logins.open("ann", 60)
        login = logins.find(token)
        assert login == Login(
            "ann", Role.ADMINISTRATOR, None, int(clock.now * 1000), int(clock.now * 1000) + 60_000
        )
        assert logins.list_tokens() == []
        logins.close(token)
        assert logins.find(token) is None
        assert logins.find(other) is not None
        clock.now += 60
        assert logins.find(other) is None
        for nobody in ("", "x", "\ud800"):
            assert logins.find(nobody) is None
        with pytest.raises(NotThereError):
            logins.open("bob", 60)

    def test_a_user_that_is_changed_or_gone(self, both: Database) -> None:
        users, logins = Users(both), Logins(both)
        users.add("ann", "password-1")
        users.add("bob", "password-1", Role.OPERATOR)
        token = logins.open("bob", 60)
        users.set_role("bob", Role.VIEWER)
        assert (found := logins.find(token)) is not None
        assert found.role is Role.VIEWER
        users.set_password("bob", "password-2")
        assert logins.find(token) is None
        token = logins.open("bob", 60, "script")
        users.remove("bob")
        assert logins.find(token) is None

    def test_tokens_have_names(self, both: Database) -> None:
        users, logins = Users(both), Logins(both)
        users.add("ann", "password-1")
        users.add("bob", "password-1")
        logins.open("ann", 60)
        logins.open("ann", 60, "script")
        logins.open("bob", 60, "script")
        with pytest.raises(AlreadyThereError):
            logins.open("ann", 60, "script")
        assert [(one.user, one.name) for one in logins.list_tokens()] == [
            ("ann", "script"),
            ("bob", "script"),
        ]
        assert [one.user for one in logins.list_tokens("bob")] == ["bob"]
        logins.remove_token("ann", "script")
        with pytest.raises(NotThereError):
            logins.remove_token("ann", "script")
        assert [one.user for one in logins.list_tokens()] == ["bob"]


class TestSharedSubscriptions:
    def test_from_first_to_last(self, both: Database) -> None:
        shared = SharedSubscriptions(both)
        shared.put(SharedSubscription("a/+/#", 4), SharedSubscription("$data/é", 1))
        shared.put(SharedSubscription("a/+/#", 6))
        for filter, partitions in (("$share/g/a", 1), ("$queue/a", 1), ("a/#/b", 1), ("", 1), ("a", 0)):
            with pytest.raises(InvalidError):
                shared.put(SharedSubscription("good", 1), SharedSubscription(filter, partitions))
        assert shared.list() == [SharedSubscription("$data/é", 1), SharedSubscription("a/+/#", 6)]
        shared.remove("a/+/#")
        with pytest.raises(NotThereError):
            shared.remove("a/+/#")
        assert both.revisions()[Group.SHARED_SUBSCRIPTIONS] == 3


class TestBlocked:
    def test_from_first_to_last(self, both: Database, clock: Clock) -> None:
        blocked = BlockedClients(both)
        now = int(clock.now * 1000)
        by_id = Block(Subject.CLIENT_ID, "bad", reason="noise")
        by_pattern = Block(Subject.ADDRESS, r"10\..*", is_pattern=True, expires_at_ms=now + 1000)
        assert blocked.put([by_id, by_pattern, Block(Subject.ADDRESS, "::ffff:192.0.2.7")]) == 3
        by_address = Block(Subject.ADDRESS, "192.0.2.7")
        assert blocked.list() == [by_pattern, by_address, by_id]
        blocked.put([replace(by_id, reason="more noise")])
        assert blocked.list()[2].reason == "more noise"
        assert both.revisions()[Group.BLOCKED] == 2
        clock.now += 2
        assert blocked.drop_expired() == 1
        assert blocked.drop_expired() == 0
        blocked.remove(Block(Subject.ADDRESS, "::ffff:192.0.2.7"))
        assert blocked.list() == [replace(by_id, reason="more noise")]
        with pytest.raises(NotThereError):
            blocked.remove(by_address)
        with pytest.raises(InvalidError, match="no IP address"):
            blocked.put([by_address, Block(Subject.ADDRESS, "example.org")])
        assert len(blocked.list()) == 1


class TestUnauthorized:
    def test_one_line_for_each_client(self, both: Database, clock: Clock) -> None:
        listed = UnauthorizedClients(both)
        now = int(clock.now * 1000)
        first = Unauthorized("c", "192.0.2.7", "u", "wrong password", now)
        listed.record([first, Unauthorized("d", "192.0.2.8", None, "unknown", now + 1)])
        listed.record([replace(first, address="192.0.2.9", username=None, at_ms=now + 2)])
        assert listed.list() == [
            Unauthorized("c", "192.0.2.9", None, "wrong password", now + 2, attempts=2),
            Unauthorized("d", "192.0.2.8", None, "unknown", now + 1),
        ]
        assert listed.list(limit=1)[0].client_id == "c"
        assert listed.remove("c")
        assert not listed.remove("c")
        assert listed.clear() == 1

    def test_it_is_bounded(self, both: Database, clock: Clock) -> None:
        listed = UnauthorizedClients(both, limit=5, ttl_seconds=60)
        for number in range(20):
            listed.record([Unauthorized(f"{number}", "a", None, "r", int(clock.now * 1000) + number)])
        assert [one.client_id for one in listed.list()] == ["19", "18", "17", "16", "15"]
        clock.now += 61
        assert listed.list() == []
        listed.record([Unauthorized("new", "a", None, "r", int(clock.now * 1000))])
        assert listed.clear() == 1

    def test_names_are_cut(self, both: Database, clock: Clock) -> None:
        listed = UnauthorizedClients(both)
        now = int(clock.now * 1000)
        listed.record([Unauthorized("x" * 60_000 + end, "a\0", "\ud800", "r" * 999, now) for end in "ab"])
        lines = listed.list()
        assert len(lines) == 2
        assert {len(line.client_id) for line in lines} == {LONGEST}
        assert (lines[0].address, lines[0].username, len(lines[0].reason)) == ("a�", "?", LONGEST)

    def test_gateways_record_the_same_at_once(self, both: Database, clock: Clock) -> None:
        listed = UnauthorizedClients(both)
        now = int(clock.now * 1000)
        errors: list[Exception] = []

        def record(names: str) -> None:
            try:
                for _ in range(5):
                    listed.record(Unauthorized(name, "a", None, "r", now) for name in names)
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=record, args=(names,)) for names in ("abcde", "edcba", "cabde")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors
        assert [one.attempts for one in listed.list()] == [15] * 5
