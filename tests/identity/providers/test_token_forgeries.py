"""Passwords that are no tokens, and tokens that are forged: they let nobody in."""

from __future__ import annotations

import hmac
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jwt.algorithms import RSAAlgorithm

from identity.answers import Failure, Skipped, Success
from identity.providers.bounded_http import BoundedHttp
from identity.providers.remote_keys import RemoteKeys
from identity.providers.signing_keys import SigningKeys, public_key, shared_secret
from tests.identity.providers.loopback import Reply, http_server
from tests.identity.providers.tokens import (
    EC_KEY,
    LATER,
    OTHER_RSA_KEY,
    PEM,
    RSA_KEY,
    SECRET,
    judge,
    part,
    signed,
    with_hmac,
)


@pytest.mark.parametrize(
    "password",
    [None, b"", b"secret", b"a.b.c", b"..", b"\xff\xfe\x00", b"x" * 60_000, b"." * 60_000, b"W10.e30.AAAA"],
)
async def test_a_password_that_is_no_token_is_skipped(password: bytes | None) -> None:
    assert isinstance(await judge(password), Skipped)


GOOD = signed().encode()


@given(
    st.binary(max_size=200)
    | st.tuples(st.integers(0, len(GOOD) - 1), st.integers(1, 255)).map(
        lambda at: GOOD[: at[0]] + bytes([GOOD[at[0]] ^ at[1]]) + GOOD[at[0] + 1 :]
    )
)
@example(b'{"alg":"none"}.{}.')
async def test_whatever_comes_lets_nobody_in_and_breaks_nothing(password: bytes) -> None:
    assert isinstance(await judge(password), Skipped | Failure)


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "nOnE", "", None, ["HS256"], "HS384", "RS256"])
@pytest.mark.parametrize("keys", [shared_secret(SECRET, ["HS256"]), public_key(PEM, ["PS256"])])
async def test_an_algorithm_that_is_not_configured_is_refused(algorithm: Any, keys: SigningKeys) -> None:
    body = f"{part({'alg': algorithm, 'typ': 'JWT'})}.{part({'exp': LATER})}"
    for token in (f"{body}.", f"{body}.{part(hmac.digest(SECRET.encode(), body.encode(), 'sha256'))}"):
        assert isinstance(await judge(token, keys), Failure)


async def test_a_token_without_algorithm_is_refused() -> None:
    assert isinstance(await judge(with_hmac({"typ": "JWT"}, {"exp": LATER}, SECRET.encode())), Failure)


async def test_a_public_key_is_no_secret() -> None:
    """The classical confusion: everyone has the public key, and signs by HMAC with its text."""
    for text in (PEM, PEM.strip(), PEM.replace(b"\n", b"\r\n")):
        token = with_hmac({"alg": "HS256", "typ": "JWT"}, {"exp": LATER}, text)
        for algorithms in (["RS256"], ["RS256", "PS256"]):
            assert isinstance(await judge(token, public_key(PEM, algorithms)), Failure)


async def test_a_signature_by_another_key_is_refused() -> None:
    assert isinstance(await judge(signed(SECRET + "x")), Failure)
    assert isinstance(await judge(signed(OTHER_RSA_KEY, "RS256"), public_key(PEM, ["RS256"])), Failure)
    assert isinstance(await judge(signed(EC_KEY, "ES256"), public_key(PEM, ["RS256"])), Failure)


async def test_a_key_that_the_token_brings_along_is_not_used() -> None:
    jwk = RSAAlgorithm.to_jwk(OTHER_RSA_KEY.public_key(), as_dict=True)
    token = signed(OTHER_RSA_KEY, "RS256", headers={"jwk": jwk, "x5c": ["AAAA"]})
    assert isinstance(await judge(token, public_key(PEM, ["RS256"])), Failure)


async def test_only_the_configured_url_is_asked_for_keys() -> None:
    """Not the one that a token names (`jku`), and no key id leads anywhere else."""
    ours, theirs = (
        {"keys": [{**RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid}]}
        for key, kid in ((RSA_KEY, "ours"), (OTHER_RSA_KEY, "theirs"))
    )
    with http_server(lambda _: Reply.of(ours)) as good, http_server(lambda _: Reply.of(theirs)) as evil:
        keys = RemoteKeys(f"{good.url}/jwks", BoundedHttp(timeout=5, max_body=10_000), ["RS256"])
        assert isinstance(await judge(signed(RSA_KEY, "RS256", headers={"kid": "ours"}), keys), Success)
        for kid in ("theirs", "ours", f"{evil.url}/jwks", "../../theirs", None):
            headers = {"jku": f"{evil.url}/jwks", "x5u": f"{evil.url}/x", **({"kid": kid} if kid else {})}
            assert isinstance(await judge(signed(OTHER_RSA_KEY, "RS256", headers=headers), keys), Failure)
        await keys.close()
        assert not evil.requests


async def test_a_secret_in_a_key_set_is_not_used() -> None:
    jwks = {"keys": [{"kty": "oct", "k": part(SECRET.encode()), "kid": "k"}]}
    jwks["keys"].append({**RSAAlgorithm.to_jwk(RSA_KEY.public_key(), as_dict=True), "kid": "r"})
    with http_server(lambda _: Reply.of(jwks)) as server:
        keys = RemoteKeys(server.url, BoundedHttp(timeout=5, max_body=10_000), ["RS256"])
        assert isinstance(await judge(signed(headers={"kid": "k"}), keys), Failure)
        as_rsa = with_hmac({"alg": "RS256", "kid": "k"}, {"exp": LATER}, SECRET.encode())
        assert isinstance(await judge(as_rsa, keys), Failure)
        assert isinstance(await judge(signed(RSA_KEY, "RS256", headers={"kid": "r"}), keys), Success)
        await keys.close()


async def test_no_keys_is_no_fault_of_the_client() -> None:
    with http_server(lambda _: Reply(status=500)) as server:
        keys = RemoteKeys(server.url, BoundedHttp(timeout=5, max_body=10_000), ["RS256"])
        answer = await judge(signed(RSA_KEY, "RS256", headers={"kid": "r"}), keys)
        await keys.close()
    assert isinstance(answer, Failure)
    assert answer.is_temporary


async def test_extensions_that_must_be_understood_are_not() -> None:
    for header in ({"crit": ["exp"]}, {"crit": ["b64"], "b64": False}, {"b64": False}):
        token = with_hmac({"alg": "HS256", **header}, {"exp": LATER}, SECRET.encode())
        assert not isinstance(await judge(token), Success)
