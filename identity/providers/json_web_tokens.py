"""Clients that bring a JSON Web Token in the password field: who they are and what they may do stands in it, signed.

PyJWT reads and checks it. What is checked, and by which key and algorithms, is the configuration's to say and never the
token's. A password that is no token is left to the next provider; a token that is not good ends the matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jwt

from identity.answers import NO_RULES, Answer, Failure, Rules, Skipped, Success
from identity.attempt import ConnectAttempt
from identity.errors import InvalidError
from identity.providers.placeholders import fill, placeholders_in
from identity.providers.remote_keys import KeysUnavailableError
from identity.providers.signing_keys import SigningKeys
from identity.providers.statements import stated_client_type, stated_end, stated_rules

_MAX_TOKEN = 16_384  # bytes; reading a token costs CPU before its signature is known to be good


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenDemands:
    """What a token must say, and where it says what the client may do."""

    issuer: str | None = None
    """What `iss` must be; None: anything."""
    audience: str | None = None
    """What `aud` must be or have in it; None: tokens for some audience are not taken (RFC 7519, section 4.1.3)."""
    leeway: float = 0.0
    """Seconds by which clocks may differ."""
    must_expire: bool = True
    """Whether a token without `exp` is refused."""
    claims: Mapping[str, str] = field(default_factory=dict)
    """Claims that must be there, and what each must be, `${username}` and `${clientid}` being the client's."""
    client_type_claim: str = "client_type"
    """Where the client type stands, DEVICE or APPLICATION; DEVICE where the token has none."""
    publish_claim: str = "publish"
    """Where the patterns of topics stand that the client may publish to, a list."""
    subscribe_claim: str = "subscribe"
    """Where the patterns of filters stand that it may subscribe to, a list."""
    rules: Rules = NO_RULES
    """What clients may do whose token has no such lists: by default everything."""


class JwtProvider:
    """Judges clients by the token in their password."""

    name = "jwt"

    def __init__(self, keys: SigningKeys, demands: TokenDemands) -> None:
        """A provider that checks signatures by `keys` and what tokens say by `demands`."""
        self._keys = keys
        self._demands = demands

    async def authenticate(self, attempt: ConnectAttempt) -> Answer:
        """Success by a good token, failure by a bad one, skipped where the password is no token."""
        token = attempt.password
        if not token:
            return Skipped("the client has no password")
        if len(token) > _MAX_TOKEN:
            return Skipped(f"the password has more than {_MAX_TOKEN} bytes, which is no token that is taken")
        header = _header(token)
        if header is None:
            return Skipped("the password is no JSON Web Token")
        try:
            claims = await self._verified(token, header)
            self._check_claims(claims, attempt)
            return self._success(claims, attempt)
        except KeysUnavailableError as error:
            return Failure(str(error), is_temporary=True)
        except (jwt.PyJWTError, InvalidError) as error:
            return Failure(f"the token is not good: {error}")

    async def _verified(self, token: bytes, header: Mapping[str, Any]) -> Mapping[str, Any]:
        """The claims of a token whose signature, times, issuer and audience are good."""
        algorithm = header.get("alg")
        if not isinstance(algorithm, str) or algorithm not in self._keys.algorithms:
            raise InvalidError(f"its algorithm, {algorithm!r:.40}, is not among the configured ones")
        kid = header.get("kid")
        key = await self._keys.find(kid, algorithm)
        if key is None:
            raise InvalidError(f"there is no key {kid!r:.100} for {algorithm}")
        demands = self._demands
        wanted = {"exp": demands.must_expire, "iss": demands.issuer, "aud": demands.audience}
        claims: Mapping[str, Any] = jwt.decode(
            token,
            key,
            # The one that the key was chosen for, not all that are configured: a key is used by one algorithm only.
            algorithms=[algorithm],
            issuer=demands.issuer,
            audience=demands.audience,
            leeway=demands.leeway,
            options={
                "require": [name for name, is_wanted in wanted.items() if is_wanted],
                "enforce_minimum_key_length": True,
            },
        )
        return claims

    def _check_claims(self, claims: Mapping[str, Any], attempt: ConnectAttempt) -> None:
        for name, template in self._demands.claims.items():
            wanted = fill(template, _names_of(attempt))
            claim = claims.get(name)
            said = claim if isinstance(claim, list) else [claim]
            if not wanted or wanted not in said:
                raise InvalidError(f"its claim {name!r} is not, for this client, {template}")

    def _success(self, claims: Mapping[str, Any], attempt: ConnectAttempt) -> Success:
        demands = self._demands
        subject = claims.get("sub")
        end = stated_end(claims, "exp")
        return Success(
            stated_client_type(claims, demands.client_type_claim),
            stated_rules(claims, demands.publish_claim, demands.subscribe_claim, demands.rules),
            f"jwt:{subject:.100}" if isinstance(subject, str) and subject.isprintable() else "jwt",
            # A name that no claim was held against is whatever the client likes.
            username=attempt.username if self._proves_username() else "",
            expires_at=None if end is None else end + demands.leeway,
        )

    def _proves_username(self) -> bool:
        return any("username" in placeholders_in(template) for template in self._demands.claims.values())

    async def close(self) -> None:
        """Let go of what finding keys needs."""
        await self._keys.close()


def _header(token: bytes) -> Mapping[str, Any] | None:
    """The header of what looks like a token, unverified; None for what does not."""
    try:
        header: Mapping[str, Any] = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, RecursionError):
        return None
    return header


def _names_of(attempt: ConnectAttempt) -> Mapping[str, str | None]:
    # An id that the gateway has chosen is no proof of anything: no token can be made for it.
    return {
        "username": attempt.username,
        "clientid": None if attempt.is_id_assigned else attempt.client_id,
    }
