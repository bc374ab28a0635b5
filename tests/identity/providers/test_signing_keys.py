"""Keys and the algorithms that they are for: never one that belongs to keys of another kind."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from identity.providers.signing_keys import public_key, shared_secret
from tests.identity.providers.tokens import (
    PEM,
    SECRET,
    pem_of,
)


@pytest.mark.parametrize("algorithms", [[], ["RS256"], ["HS256", "RS256"], ["none"]])
def test_a_secret_is_for_hmac_alone(algorithms: list[str]) -> None:
    with pytest.raises(ValueError, match="HS256, HS384, HS512"):
        shared_secret(SECRET, algorithms)


def test_a_secret_must_be_long_and_no_public_key() -> None:
    with pytest.raises(ValueError, match="at least 32 bytes"):
        shared_secret("short", ["HS256"])
    with pytest.raises(ValueError, match="at least 64 bytes"):
        shared_secret(SECRET, ["HS256", "HS512"])
    with pytest.raises(ValueError, match="public key"):
        shared_secret(PEM.decode(), ["HS256"])


@pytest.mark.parametrize("algorithms", [[], ["HS256"], ["RS256", "HS256"], ["ES256"], ["none"]])
def test_a_public_key_is_never_for_hmac(algorithms: list[str]) -> None:
    with pytest.raises(ValueError, match="the algorithms can be"):
        public_key(PEM, algorithms)


def test_only_public_keys_of_good_length_are_taken() -> None:
    small = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505 - that is the point
    with pytest.raises(ValueError, match="1024 bits"):
        public_key(pem_of(small), ["RS256"])
    with pytest.raises(ValueError, match="the algorithms can be"):
        public_key(pem_of(ec.generate_private_key(ec.SECP256K1())), ["ES256"])
    with pytest.raises(ValueError, match="BEGIN PUBLIC KEY"):
        public_key(b"nonsense", ["RS256"])
