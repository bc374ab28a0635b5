"""All providers in one chain, as settings make it, over a real database and real peers."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator

import jwt
import pytest
import pytest_asyncio
from kafka.net.sasl.scram import ScramClient

from identity.answers import Answer, ClientType, Failure, Rules, Skipped, Success
from identity.attempt import ConnectAttempt
from identity.basic import BasicProvider
from identity.chain import Chain
from identity.conversation import Challenge, Proven
from identity.credentials import BasicCredentials, ScramCredentials, X509Credentials
from identity.database import Database
from identity.errors import InvalidError
from identity.passwords import SCRAM_ITERATIONS, SCRAM_MECHANISMS, hash_password, scram_verifiers
from identity.providers.basic import BasicInThreads
from identity.settings import load_settings
from identity.stored_credentials import StoredCredentials
from tests.identity.providers.authority import Issued, make_root
from tests.identity.providers.loopback import Loopback, Reply, http_server

SECRET = "a-secret-of-thirty-two-bytes-or-more"


@pytest.fixture(scope="module")
def fleet() -> Issued:
    return make_root().issue("Fleet", is_authority=True)


@pytest.fixture
def stored(database: Database) -> StoredCredentials:
    """Credentials of each kind."""
    stored = StoredCredentials(database)
    stored.add(BasicCredentials(name="ann", username="ann", password_hash=hash_password(b"ann's")))
    stored.add(BasicCredentials(name="panel", client_id="panel", password_hash=hash_password(b"panel's")))
    stored.add(
        X509Credentials(
            name="fleet", common_name="Fl..t", is_pattern=True, client_type=ClientType.APPLICATION
        )
    )
    stored.add(
        ScramCredentials(
            name="bob", username="bob", verifiers=scram_verifiers("bob's"), rules=Rules(publish=("b",))
        )
    )
    return stored


@pytest.fixture
def service() -> Iterator[Loopback]:
    """A service that knows one client and ignores all others."""
    with http_server(
        lambda request: Reply.of({"result": "allow" if request.json["clientid"] == "web" else "ignore"})
    ) as server:
        yield server


@pytest_asyncio.fixture
async def chain(
    stored: StoredCredentials, service: Loopback, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Chain]:
    monkeypatch.setenv("SLUICEMQ_AUTH_PROVIDERS", "x509,jwt,http,basic,scram")
    monkeypatch.setenv("SLUICEMQ_AUTH_JWT_SECRET", SECRET)
    monkeypatch.setenv("SLUICEMQ_AUTH_JWT_CLAIMS", '{"sub": "${username}"}')
    monkeypatch.setenv("SLUICEMQ_AUTH_HTTP_URL", service.url)
    monkeypatch.setenv("SLUICEMQ_AUTH_SCRAM_SECRET", SECRET)
    chain = load_settings().chain(stored)
    yield chain
    await chain.close()


async def who(chain: Chain, attempt: ConnectAttempt) -> str:
    answer = await chain.authenticate(attempt)
    return answer.who if isinstance(answer, Success) else "nobody"


async def scram(
    chain: Chain, username: str, password: str, method: str = "SCRAM-SHA-512"
) -> Proven | Failure:
    client = ScramClient(username, password, method)
    conversation = chain.converse(method, ConnectAttempt("c"))
    assert conversation is not None
    challenge = await conversation.start(client.first_message())
    assert isinstance(challenge, Challenge)
    client.process_server_first_message(challenge.data)
    end = await conversation.go_on(client.final_message())
    assert not isinstance(end, Challenge)
    if isinstance(end, Proven):
        client.process_server_final_message(end.data)
    return end


async def test_each_client_is_let_in_by_the_provider_that_knows_it(chain: Chain, fleet: Issued) -> None:
    token = jwt.encode({"sub": "tim", "exp": int(time.time()) + 60}, SECRET).encode()
    sensor = fleet.issue("sensor-1").chain
    assert await who(chain, ConnectAttempt("c", certificates=sensor)) == "x509:fleet"
    assert await who(chain, ConnectAttempt("c", "tim", token)) == "jwt:tim"
    assert await who(chain, ConnectAttempt("web", "ann", b"anything")) == "http"
    assert await who(chain, ConnectAttempt("c", "ann", b"ann's")) == "basic:ann"
    assert await who(chain, ConnectAttempt("panel", None, b"panel's")) == "basic:panel"
    for attempt in (
        ConnectAttempt("c"),
        ConnectAttempt("c", "ann"),
        ConnectAttempt("c", "ann", b"panel's"),
        ConnectAttempt("panel", None, b"panel's", is_id_assigned=True),
        ConnectAttempt("c", "eve", b"ann's"),
        ConnectAttempt("c", "ann", token),
        ConnectAttempt("c", "bob", b"bob's"),
        ConnectAttempt("c", certificates=make_root("Other").issue("sensor-1").chain),
    ):
        assert await who(chain, attempt) == "nobody", attempt


@pytest.mark.parametrize("method", SCRAM_MECHANISMS)
async def test_scram_over_the_database(chain: Chain, stored: StoredCredentials, method: str) -> None:
    end = await scram(chain, "bob", "bob's", method)
    assert isinstance(end, Proven)
    assert end.success == Success(
        ClientType.DEVICE, Rules(publish=("b",)), "scram:bob", stored.get("bob").id, username="bob"
    )
    assert isinstance(await scram(chain, "bob", "ann's", method), Failure)
    assert isinstance(await scram(chain, "ann", "ann's", method), Failure)


async def test_known_and_unknown_users_have_challenges_of_the_same_form(chain: Chain) -> None:
    forms = set()
    for username in ("bob", "eve"):
        conversation = chain.converse("SCRAM-SHA-256", ConnectAttempt("c"))
        assert conversation is not None
        challenge = await conversation.start(f"n,,n={username},r=abc".encode())
        assert isinstance(challenge, Challenge)
        nonce, salt, iterations = challenge.data.decode().split(",")
        forms.add((len(nonce), len(salt), iterations))
    [(_, salt_length, iterations)] = forms
    assert (salt_length, iterations) == (2 + 44, f"i={SCRAM_ITERATIONS}")


async def test_changes_count_from_the_next_connect_on(
    chain: Chain, stored: StoredCredentials, fleet: Issued
) -> None:
    attempt = ConnectAttempt("c", certificates=fleet.issue("sensor-1").chain)
    stored.put([X509Credentials(name="fleet", common_name="Fleet", rules=Rules(publish=()))])
    answer = await chain.authenticate(attempt)
    assert isinstance(answer, Success)
    assert (answer.client_type, answer.rules) == (ClientType.DEVICE, Rules(publish=()))
    for name in ("fleet", "ann", "bob"):
        stored.remove(name)
    assert await who(chain, attempt) == "nobody"
    assert await who(chain, ConnectAttempt("c", "ann", b"ann's")) == "nobody"
    assert isinstance(await scram(chain, "bob", "bob's"), Failure)


async def test_a_user_name_that_credentials_do_not_name_is_not_proven(chain: Chain) -> None:
    answer = await chain.authenticate(ConnectAttempt("panel", "boss", b"panel's"))
    assert isinstance(answer, Success)
    assert answer.username == ""
    answer = await chain.authenticate(ConnectAttempt("c", "ann", b"ann's"))
    assert isinstance(answer, Success)
    assert answer.username is None


@pytest.mark.parametrize("username", ["\u2168", "a\u00adb", "\x07"])
def test_a_scram_name_is_stored_as_clients_send_it(stored: StoredCredentials, username: str) -> None:
    with pytest.raises(InvalidError, match="SCRAM"):
        stored.add(ScramCredentials(name="x", username=username, verifiers=scram_verifiers("pw")))


# The basic provider's threads -----------------------------------------------------------------------------------------


class Gate(BasicProvider):
    """A provider that waits to be let go on, and says whom it was asked about."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.is_in = threading.Event()
        self.may_go_on = threading.Event()

    def authenticate(self, client_id: str, username: str | None, password: bytes | None) -> Answer:  # noqa: ARG002
        self.asked.append(client_id)
        self.is_in.set()
        assert self.may_go_on.wait(120)
        return Skipped("let go on")


async def test_a_password_whose_client_has_gone_is_not_checked() -> None:
    gate = Gate()
    provider = BasicInThreads(gate, threads=1)
    first = asyncio.create_task(provider.authenticate(ConnectAttempt("first")))
    await asyncio.to_thread(gate.is_in.wait, 20)
    gone = asyncio.create_task(provider.authenticate(ConnectAttempt("gone")))
    last = asyncio.create_task(provider.authenticate(ConnectAttempt("last")))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.wait([gone])
    gate.may_go_on.set()
    await asyncio.gather(first, last)
    await provider.close()
    assert gate.asked == ["first", "last"]


async def test_no_more_wait_than_there_is_room_for() -> None:
    gate = Gate()
    provider = BasicInThreads(gate, threads=1, max_waiting=2)
    waiting = [asyncio.create_task(provider.authenticate(ConnectAttempt(name))) for name in ("one", "two")]
    await asyncio.to_thread(gate.is_in.wait, 20)
    refused = await provider.authenticate(ConnectAttempt("three"))
    assert isinstance(refused, Failure)
    assert refused.is_temporary
    gate.may_go_on.set()
    assert all(isinstance(answer, Skipped) for answer in await asyncio.gather(*waiting))
    assert isinstance(await provider.authenticate(ConnectAttempt("four")), Skipped)
    await provider.close()
