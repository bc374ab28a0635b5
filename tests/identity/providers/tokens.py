"""Tokens for tests: signed by the library, and by hand where it would refuse to; and the provider that judges them."""

from __future__ import annotations

import base64
import hmac
import json
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from identity.answers import Answer
from identity.attempt import ConnectAttempt
from identity.providers.json_web_tokens import JwtProvider, TokenDemands
from identity.providers.signing_keys import SigningKeys, shared_secret

SECRET = "a secret of thirty-two bytes, or more"
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
PEM = RSA_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
LATER = 4_102_444_800
"""Seconds since 1970, of the year 2100: the same whenever tests are collected."""


def pem_of(key: Any) -> bytes:
    return bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))


async def judge(
    token: str | bytes | None,
    keys: SigningKeys | None = None,
    *,
    client_id: str = "c1",
    username: str | None = None,
    is_id_assigned: bool = False,
    **demands: Any,
) -> Answer:
    """What the provider says of a CONNECT with this password."""
    password = token.encode() if isinstance(token, str) else token
    provider = JwtProvider(keys or shared_secret(SECRET, ["HS256"]), TokenDemands(**demands))
    attempt = ConnectAttempt(client_id, username, password, is_id_assigned=is_id_assigned)
    return await provider.authenticate(attempt)


def signed(
    key: Any = SECRET, algorithm: str = "HS256", headers: dict[str, Any] | None = None, **claims: Any
) -> str:
    return jwt.encode({"exp": LATER, **claims}, key, algorithm=algorithm, headers=headers)


def part(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def with_hmac(header: dict[str, Any], claims: dict[str, Any], secret: bytes) -> str:
    """A token whose maker signs by hand, where the library would refuse to."""
    body = f"{part(header)}.{part(claims)}"
    return f"{body}.{part(hmac.digest(secret, body.encode(), 'sha256'))}"
