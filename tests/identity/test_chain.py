"""The order of providers: who is asked, whose word counts, and that nothing that goes wrong lets anybody in."""

from __future__ import annotations

import pytest

from identity.answers import Answer, ClientType, Failure, Rules, Skipped, Success
from identity.attempt import ConnectAttempt
from identity.chain import Chain
from identity.conversation import Conversation
from identity.credentials import ScramCredentials
from identity.providers.scram import ScramProvider

ATTEMPT = ConnectAttempt("c1", "ann", b"pw")
SUCCESS = Success(ClientType.APPLICATION, Rules(publish=()), "two:ann")


class Scripted:
    """A provider that says what it is told to, and counts."""

    def __init__(self, name: str, answer: Answer | Exception) -> None:
        self.name = name
        self._answer = answer
        self.asked = 0
        self.is_closed = False

    async def authenticate(self, attempt: ConnectAttempt) -> Answer:
        assert attempt is ATTEMPT
        self.asked += 1
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    async def close(self) -> None:
        self.is_closed = True


async def test_without_providers_everybody_is_a_device_that_may_do_everything() -> None:
    chain = Chain()
    assert chain.is_open
    assert await chain.authenticate(ATTEMPT) == Success(ClientType.DEVICE, Rules(), "open")
    assert chain.converse("SCRAM-SHA-256", ATTEMPT) is None


async def test_the_first_success_wins() -> None:
    one, two, three = (
        Scripted("one", Skipped("no")),
        Scripted("two", SUCCESS),
        Scripted("three", Failure("no")),
    )
    assert await Chain([one, two, three]).authenticate(ATTEMPT) == SUCCESS
    assert [each.asked for each in (one, two, three)] == [1, 1, 0]


@pytest.mark.parametrize("is_temporary", [False, True])
async def test_a_failure_ends_it(is_temporary: bool) -> None:
    one, two = Scripted("one", Failure("wrong", is_temporary)), Scripted("two", SUCCESS)
    assert await Chain([one, two]).authenticate(ATTEMPT) == Failure("one: wrong", is_temporary)
    assert two.asked == 0


async def test_whom_all_have_skipped_is_turned_away() -> None:
    chain = Chain([Scripted("one", Skipped("no token")), Scripted("two", Skipped("no certificate"))])
    assert not chain.is_open
    assert await chain.authenticate(ATTEMPT) == Failure("one: no token; two: no certificate")


async def test_a_provider_that_breaks_is_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    one, two = Scripted("one", RuntimeError("a bug")), Scripted("two", SUCCESS)
    answer = await Chain([one, two]).authenticate(ATTEMPT)
    assert answer == Failure("one: it broke", is_temporary=True)
    assert two.asked == 0
    assert "a bug" in caplog.text


async def test_a_method_is_for_the_provider_that_knows_it() -> None:
    class Nobody:
        def scram(self, username: str) -> ScramCredentials | None:  # noqa: ARG002
            return None

    before = Scripted("one", SUCCESS)
    chain = Chain([before, ScramProvider(Nobody(), b"sixteen random b", methods=["SCRAM-SHA-512"])])
    conversation: Conversation | None = chain.converse("SCRAM-SHA-512", ATTEMPT)
    assert conversation is not None
    assert not isinstance(await conversation.start(b"n,,n=ann,r=abc"), Failure)
    assert before.asked == 0
    for method in ("SCRAM-SHA-256", "scram-sha-512", "", "PLAIN"):
        assert chain.converse(method, ATTEMPT) is None


async def test_a_conversation_that_breaks_is_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def scram(self, username: str) -> ScramCredentials | None:
            raise RuntimeError(f"a bug with {username}")

    conversation = Chain([ScramProvider(Broken(), b"sixteen random b")]).converse("SCRAM-SHA-256", ATTEMPT)
    assert conversation is not None
    broken = Failure("scram: it broke", is_temporary=True)
    assert await conversation.start(b"n,,n=ann,r=abc") == broken
    assert await conversation.go_on(b"c=biws,r=abc,p=AAAA") == broken
    assert await conversation.start(b"n,,n=ann,r=abc") == broken
    assert "a bug with ann" in caplog.text


async def test_all_are_closed() -> None:
    providers = [Scripted("one", SUCCESS), Scripted("two", SUCCESS)]
    await Chain(providers).close()
    assert all(each.is_closed for each in providers)
