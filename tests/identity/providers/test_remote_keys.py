"""Keys at a URL, from a real server: rotation, outages, and strangers who name keys that there are not."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from identity.providers.bounded_http import BoundedHttp
from identity.providers.remote_keys import KeysUnavailableError, RemoteKeys, parse_key_set
from tests.identity.providers.authority import make_root
from tests.identity.providers.loopback import Loopback, Reply, Request, http_server

RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())


def rsa_jwk(kid: str | None, **more: Any) -> dict[str, Any]:
    """The public key as JSON."""
    jwk = RSAAlgorithm.to_jwk(RSA_KEY.public_key(), as_dict=True)
    return {**jwk, **({} if kid is None else {"kid": kid}), **more}


def ec_jwk(kid: str) -> dict[str, Any]:
    return {**ECAlgorithm.to_jwk(EC_KEY.public_key(), as_dict=True), "kid": kid}


class Clock:
    """Time that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Published:
    """A key set that a test changes."""

    def __init__(self, *keys: dict[str, Any]) -> None:
        self.keys = list(keys)
        self.is_down = False

    def __call__(self, _: Request) -> Reply:
        return Reply(status=503) if self.is_down else Reply.of({"keys": self.keys})


@pytest.fixture
def published() -> Published:
    return Published(rsa_jwk("one"))


@pytest.fixture
def server(published: Published) -> Iterator[Loopback]:
    with http_server(published) as server:
        yield server


@asynccontextmanager
async def remote_keys(
    server: Loopback,
    clock: Clock,
    *,
    ca_file: Path | None = None,
    patience: float = 5.0,
    max_body: int = 10_000,
) -> AsyncIterator[RemoteKeys]:
    http = BoundedHttp(timeout=patience, max_body=max_body, ca_file=ca_file)
    keys = RemoteKeys(
        f"{server.url}/jwks",
        http,
        ("RS256", "ES256"),
        refresh=300,
        max_stale=3600,
        minimum_interval=10,
        clock=clock,
    )
    try:
        yield keys
    finally:
        await keys.close()


async def test_a_key_is_fetched_once_and_then_known(server: Loopback) -> None:
    async with remote_keys(server, Clock()) as keys:
        assert await keys.find("one", "RS256") == RSA_KEY.public_key()
        assert await keys.find("one", "RS256") is not None
    assert [request.path for request in server.requests] == ["/jwks"]


async def test_a_rotated_key_is_found_after_the_minimum_interval(
    server: Loopback, published: Published
) -> None:
    clock = Clock()
    async with remote_keys(server, clock) as keys:
        await keys.find("one", "RS256")
        published.keys = [ec_jwk("two")]
        assert await keys.find("two", "ES256") is None  # too soon to ask again
        clock.now += 10
        assert await keys.find("two", "ES256") == EC_KEY.public_key()
        assert await keys.find("one", "RS256") is None  # withdrawn


async def test_unknown_ids_do_not_make_it_ask_again_and_again(server: Loopback) -> None:
    clock = Clock()
    async with remote_keys(server, clock) as keys:
        for number in range(50):
            assert await keys.find(f"stranger-{number}", "RS256") is None
        assert len(server.requests) == 1
        clock.now += 10
        found = await asyncio.gather(*(keys.find(f"stranger-{number}", "RS256") for number in range(50)))
        assert found == [None] * 50
        assert len(server.requests) == 2


async def test_many_at_once_wait_for_one_request(server: Loopback, published: Published) -> None:
    may_answer = threading.Event()
    server.answer = lambda request: published(request) if may_answer.wait(20) else Reply(status=500)
    async with remote_keys(server, Clock()) as keys:
        waiting = [asyncio.create_task(keys.find("one", "RS256")) for _ in range(20)]
        await asyncio.sleep(0)
        waiting[0].cancel()  # the client that began it goes away; the others still get their answer
        may_answer.set()
        results = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert all(result == RSA_KEY.public_key() for result in results[1:])
    assert len(server.requests) == 1


async def test_an_old_set_is_refreshed_without_anybody_waiting(
    server: Loopback, published: Published
) -> None:
    clock = Clock()
    asked, may_answer = threading.Event(), threading.Event()
    async with remote_keys(server, clock) as keys:
        await keys.find("one", "RS256")
        published.keys = [rsa_jwk("one"), ec_jwk("two")]

        def answer(request: Request) -> Reply:
            asked.set()
            return published(request) if may_answer.wait(20) else Reply(status=500)

        server.answer = answer
        clock.now += 301
        assert await keys.find("one", "RS256") is not None  # at once: the server still keeps its answer back
        await asyncio.to_thread(asked.wait, 20)
        may_answer.set()
        assert await keys.find("two", "ES256") is not None  # joins the request that is under way
    assert len(server.requests) == 2


async def test_known_keys_outlive_an_outage_but_not_for_ever(server: Loopback, published: Published) -> None:
    clock = Clock()
    async with remote_keys(server, clock) as keys:
        await keys.find("one", "RS256")
        published.is_down = True
        clock.now += 3000
        assert await keys.find("one", "RS256") is not None
        clock.now += 601
        with pytest.raises(KeysUnavailableError):
            await keys.find("one", "RS256")
        published.is_down = False
        clock.now += 10
        assert await keys.find("one", "RS256") is not None


async def test_an_outage_at_the_start_is_not_asked_about_by_everyone(
    server: Loopback, published: Published
) -> None:
    published.is_down = True
    async with remote_keys(server, Clock()) as keys:
        for _ in range(10):
            with pytest.raises(KeysUnavailableError):
                await keys.find("one", "RS256")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b"no json"),
        Reply(b"[" * 5000),
        Reply(b"[]"),
        Reply.of({"keys": {}}),
        Reply.of({"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "one"}, 7, {"kty": "RSA"}, {"kty": []}]}),
        Reply.of({"keys": [rsa_jwk("one")]} | {"filler": "x" * 10_000}),
        Reply(json.dumps({"keys": [rsa_jwk("one")]}).encode(), headers={"Content-Encoding": "gzip"}),
        Reply(status=302, headers={"Location": "/elsewhere"}),
    ],
    ids=["text", "deep", "list", "object", "unusable", "large", "compressed", "redirect"],
)
async def test_what_is_no_key_set_gives_no_key(server: Loopback, reply: Reply) -> None:
    server.answer = lambda _: reply
    async with remote_keys(server, Clock()) as keys:
        with pytest.raises(KeysUnavailableError):
            await keys.find("one", "RS256")
    assert len(server.requests) == 1


async def test_a_server_that_hangs_is_given_up(server: Loopback, published: Published) -> None:
    may_answer = threading.Event()
    server.answer = lambda request: published(request) if may_answer.wait(20) else Reply(status=500)
    async with remote_keys(server, Clock(), patience=0.1) as keys:
        with pytest.raises(KeysUnavailableError):
            await keys.find("one", "RS256")
    may_answer.set()


async def test_an_answer_that_drips_in_is_given_up() -> None:
    is_over = asyncio.Event()

    async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while not writer.is_closing():
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.05)  # well within what a single read may take
        writer.close()
        is_over.set()

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, remote_keys(Loopback(url, Published()), Clock(), patience=0.3) as keys:
        with pytest.raises(KeysUnavailableError):
            await asyncio.wait_for(keys.find("one", "RS256"), 20)
        await asyncio.wait_for(is_over.wait(), 20)


async def test_the_server_must_have_a_certificate_of_a_trusted_authority(
    published: Published, tmp_path: Path
) -> None:
    trusted, other = make_root("Trusted"), make_root("Other")
    ca_file = trusted.write_certificate(tmp_path)
    for issuer, is_good in ((trusted, True), (other, False)):
        certificate = issuer.issue("keys", address="127.0.0.1").write(tmp_path)
        with http_server(published, certificate=certificate) as server:
            async with remote_keys(server, Clock(), ca_file=ca_file) as keys:
                if is_good:
                    assert await keys.find("one", "RS256") is not None
                else:
                    with pytest.raises(KeysUnavailableError):
                        await keys.find("one", "RS256")
            assert bool(server.requests) == is_good


async def test_without_an_id_there_must_be_one_key_only(server: Loopback, published: Published) -> None:
    clock = Clock()
    async with remote_keys(server, clock) as keys:
        assert await keys.find(None, "RS256") is not None
        assert await keys.find(None, "ES256") is None
        published.keys = [rsa_jwk("one"), rsa_jwk("two")]
        clock.now += 20
        await keys.find("two", "RS256")
        assert await keys.find(None, "RS256") is None


@pytest.mark.parametrize(
    ("jwk", "algorithm", "fits"),
    [
        (rsa_jwk("k"), "RS256", True),
        (rsa_jwk("k"), "PS512", True),
        (rsa_jwk("k"), "ES256", False),
        (rsa_jwk("k"), "HS256", False),
        (rsa_jwk("k", alg="PS256"), "RS256", False),
        (rsa_jwk("k", alg="PS256"), "PS256", True),
        (rsa_jwk("k", use="sig"), "RS256", True),
        (ec_jwk("k"), "ES256", True),
        (ec_jwk("k"), "RS256", False),
    ],
)
def test_a_key_fits_the_algorithms_of_its_kind(jwk: dict[str, Any], algorithm: str, fits: bool) -> None:
    [key] = parse_key_set(json.dumps({"keys": [jwk]}).encode())
    assert key.fits(algorithm) is fits


def test_short_keys_are_left_out() -> None:
    short = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505 - that is the point
    jwk = RSAAlgorithm.to_jwk(short.public_key(), as_dict=True)
    with pytest.raises(ValueError, match="no public key"):
        parse_key_set(json.dumps({"keys": [jwk]}).encode())


def test_keys_for_encryption_are_left_out() -> None:
    keys = parse_key_set(json.dumps({"keys": [rsa_jwk("enc", use="enc"), ec_jwk("sig")]}).encode())
    assert [key.kid for key in keys] == ["sig"]
