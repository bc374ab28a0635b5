"""JSON Web Tokens: what good ones give, and what they must say."""

from __future__ import annotations

import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519

from identity.answers import ClientType, Failure, Rules, Success
from identity.providers.signing_keys import SigningKeys, public_key, shared_secret
from tests.identity.providers.tokens import (
    EC_KEY,
    LATER,
    PEM,
    RSA_KEY,
    SECRET,
    judge,
    pem_of,
    signed,
    with_hmac,
)


@pytest.mark.parametrize(
    ("keys", "key", "algorithm"),
    [
        (shared_secret(SECRET * 2, ["HS512", "HS256"]), SECRET * 2, "HS512"),
        (public_key(PEM, ["RS256", "PS256"]), RSA_KEY, "RS256"),
        (public_key(PEM, ["RS256", "PS256"]), RSA_KEY, "PS256"),
        (public_key(pem_of(EC_KEY), ["ES256"]), EC_KEY, "ES256"),
    ],
)
async def test_a_good_token_lets_in(keys: SigningKeys, key: Any, algorithm: str) -> None:
    answer = await judge(signed(key, algorithm, sub="sensor-7"), keys)
    assert answer == Success(ClientType.DEVICE, Rules(), "jwt:sensor-7", username="", expires_at=LATER)


async def test_edwards_keys() -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    assert isinstance(await judge(signed(key, "EdDSA"), public_key(pem_of(key), ["EdDSA"])), Success)


async def test_claims_set_client_type_and_rules() -> None:
    token = signed(client_type="APPLICATION", publish=["up/${clientid}/.*"], subscribe=[])
    answer = await judge(token)
    assert isinstance(answer, Success)
    assert answer.client_type is ClientType.APPLICATION
    assert answer.rules == Rules(publish=("up/${clientid}/.*",), subscribe=())


async def test_the_configuration_names_the_claims_and_the_rules_where_there_are_none() -> None:
    answer = await judge(
        signed(kind="APPLICATION", may_send=["a"], publish=["not looked at"]),
        client_type_claim="kind",
        publish_claim="may_send",
        subscribe_claim="may_read",
        rules=Rules(publish=("x",), subscribe=("b",)),
    )
    assert isinstance(answer, Success)
    assert answer.client_type is ClientType.APPLICATION
    assert answer.rules == Rules(publish=("a",), subscribe=("b",))


@pytest.mark.parametrize(
    "claims",
    [
        {"client_type": "ADMIN"},
        {"client_type": ["DEVICE"]},
        {"client_type": None},
        {"publish": "everything"},
        {"publish": [1]},
        {"subscribe": {"a": "b"}},
        {"publish": ["("]},
        {"subscribe": ["${other}"]},
    ],
)
async def test_claims_that_cannot_be_understood_let_nobody_in(claims: dict[str, Any]) -> None:
    assert isinstance(await judge(signed(**claims)), Failure)


@pytest.mark.parametrize(
    ("exp", "until"), [(LATER + 0.5, LATER + 0.5), (10**30, 253_402_300_799), (10**400, 253_402_300_799)]
)
async def test_the_end_is_told(exp: float, until: float) -> None:
    answer = await judge(with_hmac({"alg": "HS256"}, {"exp": exp}, SECRET.encode()))
    assert isinstance(answer, Success)
    assert answer.expires_at == until


async def test_the_end_counts_the_leeway() -> None:
    answer = await judge(signed(exp=int(time.time()) - 5), leeway=60.0)
    assert isinstance(answer, Success)
    assert answer.expires_at is not None
    assert answer.expires_at > time.time()


def from_now(claims: dict[str, Any]) -> dict[str, Any]:
    """Claims whose numbers are seconds from now: when a test runs, is not known when it is collected."""
    now = int(time.time())
    return {name: now + value if type(value) is int else value for name, value in claims.items()}


@pytest.mark.parametrize(
    ("claims", "demands"),
    [
        ({"exp": -60}, {}),
        ({"exp": None}, {}),
        ({"exp": "soon"}, {}),
        ({"exp": True}, {}),
        ({"nbf": 3_600}, {}),
        ({"nbf": "later"}, {}),
        ({"iat": 3_600}, {}),
        ({}, {"issuer": "mill"}),
        ({"iss": "other"}, {"issuer": "mill"}),
        ({"iss": ["mill"]}, {"issuer": "mill"}),
        ({"iss": "mil"}, {"issuer": "mill"}),
        ({}, {"audience": "mqtt"}),
        ({"aud": "web"}, {"audience": "mqtt"}),
        ({"aud": ["web", "mqt"]}, {"audience": "mqtt"}),
        ({"aud": "web"}, {}),
    ],
    ids=str,
)
async def test_times_issuer_and_audience_must_fit(claims: dict[str, Any], demands: dict[str, Any]) -> None:
    assert isinstance(
        await judge(
            with_hmac({"alg": "HS256"}, {"exp": LATER, **from_now(claims)}, SECRET.encode()), **demands
        ),
        Failure,
    )


@pytest.mark.parametrize(
    ("claims", "demands"),
    [
        ({"exp": -5}, {"leeway": 60.0}),
        ({"nbf": 5}, {"leeway": 60.0}),
        ({"iss": "mill"}, {"issuer": "mill"}),
        ({"aud": ["web", "mqtt"]}, {"audience": "mqtt"}),
        ({"exp": None}, {"must_expire": False}),
    ],
    ids=str,
)
async def test_what_fits_is_taken(claims: dict[str, Any], demands: dict[str, Any]) -> None:
    said = {name: value for name, value in {"exp": LATER, **from_now(claims)}.items() if value is not None}
    assert isinstance(await judge(jwt.encode(said, SECRET), **demands), Success)


@pytest.mark.parametrize(
    ("claims", "client", "is_good"),
    [
        ({"sub": "ann", "cid": "c1"}, {"username": "ann"}, True),
        ({"sub": "ann", "cid": ["c0", "c1"]}, {"username": "ann"}, True),
        ({"sub": "ann", "cid": "c2"}, {"username": "ann"}, False),
        ({"sub": "ann", "cid": "c1"}, {"username": "bob"}, False),
        ({"sub": "ann", "cid": "c1"}, {}, False),
        ({"sub": "ann"}, {"username": "ann"}, False),
        ({"cid": "c1"}, {"username": "ann"}, False),
        ({"sub": "", "cid": "c1"}, {"username": ""}, False),
        ({"sub": "${username}", "cid": "c1"}, {"username": "ann"}, False),
        ({"sub": "c1", "cid": "c1"}, {"username": "${clientid}"}, False),
        ({"sub": "annx", "cid": "c1"}, {"username": "ann"}, False),
        ({"sub": "ann", "cid": "c1"}, {"username": "ann", "is_id_assigned": True}, False),
        ({"sub": "ann", "cid": "c1"}, {"username": "Ann"}, False),
        ({"sub": "ann", "cid": {"c1": True}}, {"username": "ann"}, False),
    ],
    ids=str,
)
async def test_claims_are_held_against_the_client(
    claims: dict[str, Any], client: dict[str, Any], is_good: bool
) -> None:
    # Signed by hand: the library would not make a token with some of these.
    token = with_hmac({"alg": "HS256"}, {"exp": LATER, **claims}, SECRET.encode())
    answer = await judge(token, claims={"sub": "${username}", "cid": "${clientid}"}, **client)
    assert isinstance(answer, Success if is_good else Failure)
    if isinstance(answer, Success):
        assert answer.username == "ann"


async def test_a_claim_can_be_a_fixed_text() -> None:
    assert isinstance(await judge(signed(tenant="north"), claims={"tenant": "north"}), Success)
    assert isinstance(await judge(signed(tenant="south"), claims={"tenant": "north"}), Failure)


async def test_a_name_that_no_claim_was_held_against_is_not_proven() -> None:
    answer = await judge(signed(sub="ann"), username="boss")
    assert isinstance(answer, Success)
    assert answer.username == ""


async def test_no_answer_shows_the_token() -> None:
    token = signed(sub="bad\nline")
    for answer in (await judge(token), await judge(token, issuer="mill"), await judge(token[:-3] + "AAA")):
        assert token[:20] not in repr(answer)
        assert "\n" not in repr(answer).replace("\\n", "")
    assert "\n" not in (await judge(token)).who  # type: ignore[union-attr]
