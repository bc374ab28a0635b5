"""SCRAM against a foreign client, kafka-python's own implementation of it, and against those who play it wrong."""

from __future__ import annotations

import base64
import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.net.sasl.scram import ScramClient as ForeignClient
from scramp import ScramClient

from identity.answers import ClientType, Failure, Rules, Skipped, Success
from identity.attempt import ConnectAttempt
from identity.conversation import Challenge, Proven
from identity.credentials import ScramCredentials
from identity.errors import DatabaseUnavailableError
from identity.passwords import SCRAM_MECHANISMS, scram_verifiers
from identity.providers.scram import ScramConversation, ScramProvider

SECRET = b"sixteen random b"
ATTEMPT = ConnectAttempt("c1")


class Stored:
    """Credentials as the database would tell them."""

    def __init__(self, *users: ScramCredentials) -> None:
        self.users = {user.username: user for user in users}
        self.is_down = False

    def scram(self, username: str) -> ScramCredentials | None:
        if self.is_down:
            raise DatabaseUnavailableError("sqlite://", "it is away")
        return self.users.get(username)


def user(username: str, password: str, *mechanisms: str, **more: Any) -> ScramCredentials:
    made = scram_verifiers(password)
    verifiers = {mechanism: made[mechanism] for mechanism in mechanisms or SCRAM_MECHANISMS}
    return ScramCredentials(name=f"for {username}", username=username, verifiers=verifiers, **more)


ANN = user("ann", "a good password", client_type=ClientType.APPLICATION, rules=Rules(publish=("a",)), id=3)
STORED = Stored(ANN, user("bob", "another one", "SCRAM-SHA-512"))


def converse(
    method: str = "SCRAM-SHA-256", attempt: ConnectAttempt = ATTEMPT, username: str | None = None
) -> ScramConversation:
    return ScramProvider(STORED, SECRET).converse(method, attempt, username)


async def played(conversation: ScramConversation, client: ForeignClient) -> Proven | Failure:
    """The whole conversation; the client checks the server's proof."""
    challenge = await conversation.start(client.first_message())
    if isinstance(challenge, Failure):
        return challenge
    client.process_server_first_message(challenge.data)
    end = await conversation.go_on(client.final_message())
    if isinstance(end, Proven):
        client.process_server_final_message(end.data)
    return end


async def challenge_for(
    username: str, method: str = "SCRAM-SHA-256", secret: bytes = SECRET
) -> dict[str, str]:
    """The attributes of the server-first message."""
    conversation = ScramProvider(STORED, secret).converse(method, ATTEMPT)
    challenge = await conversation.start(f"n,,n={username},r=abc".encode())
    assert isinstance(challenge, Challenge)
    return dict(part.split("=", 1) for part in challenge.data.decode().split(","))


# Whom it lets in ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", SCRAM_MECHANISMS)
async def test_a_foreign_client_and_the_server_prove_themselves(method: str) -> None:
    end = await played(converse(method), ForeignClient("ann", "a good password", method))
    assert isinstance(end, Proven)
    assert end.success == Success(
        ClientType.APPLICATION, Rules(publish=("a",)), "scram:for ann", credentials_id=3, username="ann"
    )


@pytest.mark.parametrize(
    ("username", "password", "method"),
    [
        ("ann", "a wrong password", "SCRAM-SHA-256"),
        ("ann", "a good passworD", "SCRAM-SHA-512"),
        ("nobody", "a good password", "SCRAM-SHA-256"),
        ("bob", "another one", "SCRAM-SHA-256"),  # has a verifier for the other mechanism only
        ("Ann", "a good password", "SCRAM-SHA-256"),
    ],
)
async def test_others_fail_at_the_proof_and_all_alike(username: str, password: str, method: str) -> None:
    conversation = converse(method)
    client = ForeignClient(username, password, method)
    challenge = await conversation.start(client.first_message())
    assert isinstance(challenge, Challenge)
    client.process_server_first_message(challenge.data)
    end = await conversation.go_on(client.final_message())
    assert isinstance(end, Failure)
    assert end.reason == (
        "scram: the proof is wrong: unknown user or wrong password (The client keys don't match.: invalid-proof)"
    )
    assert not end.is_temporary


async def test_a_server_that_does_not_have_the_keys_cannot_prove_itself() -> None:
    """A client sees through a server that lets everybody in."""
    client = ForeignClient("ann", "a good password", "SCRAM-SHA-256")
    conversation = converse()
    challenge = await conversation.start(client.first_message())
    assert isinstance(challenge, Challenge)
    client.process_server_first_message(challenge.data)
    end = await conversation.go_on(client.final_message())
    assert isinstance(end, Proven)
    with pytest.raises(ValueError, match="wrong signature"):
        client.process_server_final_message(b"v=" + base64.b64encode(bytes(32)))


async def test_names_and_passwords_are_prepared_and_escaped() -> None:
    """SASLprep and the escapes of RFC 5802, by another client that knows them."""
    stored = Stored(user("a=b,IX", "Password IX"))
    conversation = ScramProvider(stored, SECRET).converse("SCRAM-SHA-256", ATTEMPT)
    client = ScramClient(["SCRAM-SHA-256"], "a=b,\u2168", "Pass\u00adword\u00a0\u2168")
    challenge = await conversation.start(client.get_client_first().encode())
    assert isinstance(challenge, Challenge)
    client.set_server_first(challenge.data.decode())
    end = await conversation.go_on(client.get_client_final().encode())
    assert isinstance(end, Proven)
    client.set_server_final(end.data.decode())
    assert end.success.username == "a=b,IX"


async def test_a_connect_without_a_method_is_for_others() -> None:
    answer = await ScramProvider(STORED, SECRET).authenticate(ConnectAttempt("c1", "ann", b"a good password"))
    assert isinstance(answer, Skipped)


# Whether a name is known ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", SCRAM_MECHANISMS)
async def test_the_challenge_does_not_tell_whether_a_name_is_known(method: str) -> None:
    known, unknown = await challenge_for("ann", method), await challenge_for("nobody", method)
    assert known.keys() == unknown.keys()
    assert known["i"] == unknown["i"]
    for attribute in ("s", "r"):
        assert len(known[attribute]) == len(unknown[attribute])
    # Whoever tries again, here or on another gateway, gets the same salt in both cases, but for each name its own.
    assert (await challenge_for("ann", method))["s"] == known["s"]
    assert (await challenge_for("nobody", method))["s"] == unknown["s"]
    assert (await challenge_for("nobody2", method))["s"] != unknown["s"]
    assert (await challenge_for("nobody", method, b"another secret !"))["s"] != unknown["s"]


async def test_a_name_without_this_mechanism_looks_unknown() -> None:
    salts = [(await challenge_for("bob", method))["s"] for method in SCRAM_MECHANISMS for _ in range(2)]
    assert salts[0] == salts[1]
    assert salts[2] == salts[3]
    assert salts[0] != salts[2]


async def test_challenges_are_never_the_same() -> None:
    nonces = {(await challenge_for("ann"))["r"] for _ in range(20)}
    assert len(nonces) == 20
    assert all(nonce.startswith("abc") and len(nonce) > 30 for nonce in nonces)


# Who plays it wrong ---------------------------------------------------------------------------------------------------


async def test_what_was_said_in_one_conversation_is_of_no_use_in_another() -> None:
    client = ForeignClient("ann", "a good password", "SCRAM-SHA-256")
    first = client.first_message()
    challenge = await converse().start(first)
    assert isinstance(challenge, Challenge)
    client.process_server_first_message(challenge.data)
    final = client.final_message()
    other = converse()
    await other.start(first)
    assert isinstance(await other.go_on(final), Failure)


async def test_steps_out_of_turn_fail() -> None:
    client = ForeignClient("ann", "a good password", "SCRAM-SHA-256")
    conversation = converse()
    assert isinstance(await conversation.go_on(b"c=biws,r=x,p=AAAA"), Failure)
    challenge = await conversation.start(client.first_message())
    assert isinstance(challenge, Challenge)
    client.process_server_first_message(challenge.data)
    assert isinstance(await conversation.go_on(client.final_message()), Proven)
    assert isinstance(await conversation.go_on(client.final_message()), Failure)

    for first in (b"nonsense", b"n,,n=ann,r=abc"):
        again = converse()
        await again.start(first)
        assert isinstance(await again.start(b"n,,n=ann,r=abc"), Failure)
        assert isinstance(await again.go_on(client.final_message()), Failure)


async def test_a_wrong_proof_has_no_second_try() -> None:
    client = ForeignClient("ann", "a good password", "SCRAM-SHA-256")
    conversation = converse()
    challenge = await conversation.start(client.first_message())
    assert isinstance(challenge, Challenge)
    client.process_server_first_message(challenge.data)
    final = client.final_message()
    assert isinstance(await conversation.go_on(final[:-8] + b"AAAAAAA="), Failure)
    assert isinstance(await conversation.go_on(final), Failure)


@pytest.mark.parametrize(
    "first",
    [
        None,
        b"",
        b"\xff",
        b"n,,n=ann",
        b"n,,r=abc",
        b"n,,n=,r=abc",
        b"n,,n=ann,r=",
        b"n,,n=a=b,r=abc",
        b"n,,n=an\x00n,r=abc",
        b"n,,m=x,n=ann,r=abc",
        b"n,,n=ann,n=bob,r=abc",
        b"n,a=bob,n=ann,r=abc",
        b"p=tls-exporter,,n=ann,r=abc",
        b"p=tls-unique,,n=ann,r=abc",
        b"x,,n=ann,r=abc",
        b"n,,n=ann,r=" + b"a" * 5000,
        "n,,n=\u0627a,r=abc".encode(),
    ],
    ids=lambda first: repr(first)[:40],
)
async def test_a_first_message_that_is_none_fails(first: bytes | None) -> None:
    assert isinstance(await converse().start(first), Failure)


@given(
    st.binary(max_size=60) | st.text(alphabet="nypcrsimaev=,\x00AZ", max_size=60).map(str.encode),
    st.binary(max_size=60),
)
async def test_whatever_comes_proves_nothing_and_breaks_nothing(first: bytes, final: bytes) -> None:
    conversation = converse()
    assert isinstance(await conversation.start(first), Challenge | Failure)
    assert isinstance(await conversation.go_on(final), Failure)


@given(st.binary(max_size=100) | st.text(alphabet="crpbiws=,nAZ09+/", max_size=100).map(str.encode))
async def test_whatever_follows_a_good_start_proves_nothing(final: bytes) -> None:
    conversation = converse()
    assert isinstance(await conversation.start(b"n,,n=ann,r=abc"), Challenge)
    assert isinstance(await conversation.go_on(final), Failure)


# Who is who -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("username", "expected"), [(None, Proven), ("ann", Proven), ("bob", Failure), ("", Failure)]
)
async def test_the_user_name_of_connect_must_be_the_same(username: str | None, expected: type) -> None:
    conversation = converse(attempt=dataclasses.replace(ATTEMPT, username=username))
    assert isinstance(
        await played(conversation, ForeignClient("ann", "a good password", "SCRAM-SHA-256")), expected
    )


async def test_a_re_authentication_is_for_the_same_user() -> None:
    client = ForeignClient("ann", "a good password", "SCRAM-SHA-256")
    assert isinstance(await played(converse(username="ann"), client), Proven)
    method = "SCRAM-SHA-512"
    other = ForeignClient("bob", "another one", method)
    assert isinstance(await played(converse(method), other), Proven)
    other = ForeignClient("bob", "another one", method)
    assert isinstance(await played(converse(method, username="ann"), other), Failure)


async def test_without_the_database_nobody_is_let_in() -> None:
    stored = Stored(ANN)
    stored.is_down = True
    end = await ScramProvider(stored, SECRET).converse("SCRAM-SHA-256", ATTEMPT).start(b"n,,n=ann,r=abc")
    assert isinstance(end, Failure)
    assert end.is_temporary
