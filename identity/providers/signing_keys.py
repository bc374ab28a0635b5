"""The key that a token's signature is checked with, and the algorithms it may be checked by: fixed by configuration.

A token names its algorithm itself, and an attacker writes tokens. So what the header says only chooses among those that
the configuration allows, and the kinds are never mixed: where a public key is configured no HMAC is allowed (else the
public key would be the secret), where a secret is, nothing but HMAC. `none` is never an algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from jwt.algorithms import AllowedPublicKeys

HMAC_ALGORITHMS = ("HS256", "HS384", "HS512")
RSA_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
EC_ALGORITHMS = ("ES256", "ES384", "ES512")
EDWARDS_ALGORITHMS = ("EdDSA",)
PUBLIC_KEY_ALGORITHMS = RSA_ALGORITHMS + EC_ALGORITHMS + EDWARDS_ALGORITHMS


_CURVES = {"ES256": "secp256r1", "ES384": "secp384r1", "ES512": "secp521r1"}
LEAST_RSA_BITS = 2048
"""Of a key that is good for RSA signatures (RFC 7518, section 3.3)."""


class SigningKeys(Protocol):
    """Where keys come from."""

    @property
    def algorithms(self) -> Sequence[str]:
        """The algorithms that tokens may be signed with."""
        ...

    async def find(self, kid: str | None, algorithm: str) -> AllowedPublicKeys | str | bytes | None:
        """The key for a token whose header names this key id and this (allowed) algorithm; None where there is none.

        Raises:
            KeysUnavailableError: Keys are elsewhere, and cannot be had now (`identity.providers.remote_keys`).
        """
        ...

    async def close(self) -> None:
        """Let go of what finding keys needs."""
        ...


class FixedKey:
    """One key, for every token."""

    def __init__(self, key: AllowedPublicKeys | str | bytes, algorithms: Sequence[str]) -> None:
        """Made by `shared_secret` and `public_key`, which check that key and algorithms belong together."""
        self._key = key
        self._algorithms = tuple(algorithms)

    @property
    def algorithms(self) -> Sequence[str]:
        """The algorithms that tokens may be signed with."""
        return self._algorithms

    async def find(self, kid: str | None, algorithm: str) -> AllowedPublicKeys | str | bytes | None:  # noqa: ARG002
        """The key: there is but one, whatever id the token gives it."""
        return self._key

    async def close(self) -> None:
        """Nothing to let go of."""


def shared_secret(secret: str, algorithms: Sequence[str]) -> FixedKey:
    """An HMAC secret.

    Raises:
        ValueError: An algorithm is not HMAC, or the secret is too short for it (RFC 7518, section 3.2) or a public key.
    """
    wrong = [name for name in algorithms if name not in HMAC_ALGORITHMS]
    if wrong or not algorithms:
        raise ValueError(f"with a secret, the algorithms can be {', '.join(HMAC_ALGORITHMS)}, not {wrong}")
    needed = max(int(name[2:]) // 8 for name in algorithms)
    if len(secret.encode()) < needed:
        raise ValueError(f"the secret is too short: {max(algorithms)} wants at least {needed} bytes")
    try:
        jwt.get_algorithm_by_name(algorithms[0]).prepare_key(secret)
    except jwt.InvalidKeyError:
        raise ValueError("the secret is a key in PEM or SSH form: configure it as a public key") from None
    return FixedKey(secret, algorithms)


def public_key(pem: bytes, algorithms: Sequence[str]) -> FixedKey:
    """A public key in PEM (SubjectPublicKeyInfo).

    Raises:
        ValueError: It is no such key, or an algorithm is not for it.
    """
    try:
        key = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("it has no public key in PEM form (-----BEGIN PUBLIC KEY-----)") from None
    if isinstance(key, rsa.RSAPublicKey):
        if key.key_size < LEAST_RSA_BITS:
            raise ValueError(f"its key has {key.key_size} bits: RSA wants at least {LEAST_RSA_BITS}")
        fitting: Sequence[str] = RSA_ALGORITHMS
    elif isinstance(key, ec.EllipticCurvePublicKey):
        fitting = tuple(name for name in EC_ALGORITHMS if _CURVES[name] == key.curve.name)
    elif isinstance(key, ed25519.Ed25519PublicKey | ed448.Ed448PublicKey):
        fitting = EDWARDS_ALGORITHMS
    else:
        raise ValueError("its key is neither RSA nor of an elliptic curve")
    wrong = [name for name in algorithms if name not in fitting]
    if wrong or not algorithms:
        raise ValueError(f"with this key, the algorithms can be {', '.join(fitting)}, not {wrong}")
    return FixedKey(key, algorithms)
