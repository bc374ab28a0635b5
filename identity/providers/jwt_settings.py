"""The settings of JSON Web Tokens, `SLUICEMQ_AUTH_JWT_…`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import SettingsConfigDict

from identity.answers import Rules
from identity.providers.bounded_http import BoundedHttp
from identity.providers.json_web_tokens import JwtProvider, TokenDemands
from identity.providers.placeholders import check_template, placeholders_in
from identity.providers.remote_keys import RemoteKeys
from identity.providers.signing_keys import (
    PUBLIC_KEY_ALGORITHMS,
    FixedKey,
    SigningKeys,
    public_key,
    shared_secret,
)
from identity.setting_values import (
    Names,
    Patterns,
    ProviderSettings,
    Texts,
    check_url,
    checked_rules,
    known_names,
    secret_of,
    text_of,
)

_MAX_KEY_SET = 1 << 20  # bytes; a key set has some thousand


class JwtSettings(ProviderSettings):
    """Whose tokens are taken, and what they must say."""

    model_config = SettingsConfigDict(env_prefix="SLUICEMQ_AUTH_JWT_")

    secret: SecretStr | None = None
    """An HMAC secret, or"""
    secret_file: Path | None = None
    """a file with one, or"""
    public_key: str | None = None
    """a public key in PEM, or"""
    public_key_file: Path | None = None
    """a file with one, or"""
    jwks_url: str | None = None
    """where a JSON Web Key Set is."""
    algorithms: Names = ()
    """The algorithms that tokens may be signed with; by default HS256 with a secret, RS256 with public keys."""

    issuer: str | None = None
    """What `iss` must be."""
    audience: str | None = None
    """What `aud` must be or hold."""
    leeway: Annotated[float, Field(ge=0, le=300)] = 0.0
    """Seconds by which clocks may differ."""
    must_expire: bool = True
    """Whether a token must have `exp`."""
    claims: Annotated[Texts, Field(default_factory=dict)]
    """Claims that must be there, and what they must be."""
    client_type_claim: str = "client_type"
    """Where the client type stands."""
    publish_claim: str = "publish"
    """Where the patterns for publishing stand."""
    subscribe_claim: str = "subscribe"
    """Where the patterns for subscribing stand."""
    publish: Patterns = None
    """The patterns for publishing where a token has none."""
    subscribe: Patterns = None
    """The patterns for subscribing where a token has none."""

    jwks_ca_file: Path | None = None
    """The authorities (PEM) that the key set's server may have its certificate from, instead of the system's."""
    jwks_refresh: Annotated[float, Field(gt=0)] = 300.0
    """Seconds after which the key set is fetched anew."""
    jwks_max_stale: Annotated[float, Field(gt=0)] = 3600.0
    """Seconds for which keys are used when that does not succeed."""
    jwks_min_interval: Annotated[float, Field(ge=1)] = 10.0
    """Least seconds between two attempts, however many unknown keys tokens name."""
    jwks_timeout: Annotated[float, Field(gt=0, le=60)] = 5.0
    """Seconds for an attempt."""
    allow_plaintext: bool = False
    """Whether the key set may be at a URL without TLS on another machine."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        there = {
            "secret": self.secret is not None or self.secret_file is not None,
            "public_key": self.public_key is not None,
            "public_key_file": self.public_key_file is not None,
            "jwks_url": self.jwks_url is not None,
        }
        if list(there.values()).count(True) != 1:
            raise ValueError("one of secret, public_key (or a file with either) and jwks_url must be set")
        for template in self.claims.values():
            check_template(template, ("clientid", "username"))
            if len(placeholders_in(template)) > 1:
                # With two, "a-b" and "c" would make the same text as "a" and "b-c".
                raise ValueError("a claim can hold one placeholder: write two claims for two")
        checked_rules(self.publish, self.subscribe)
        if self.jwks_url is None:
            self._fixed_key()
        else:
            check_url(self.jwks_url, self.allow_plaintext)
            known_names(self.algorithms, PUBLIC_KEY_ALGORITHMS)
        return self

    def _fixed_key(self) -> FixedKey:
        secret = secret_of("secret", self.secret, self.secret_file)
        if secret is not None:
            return shared_secret(secret.get_secret_value(), self.algorithms or ("HS256",))
        pem = self.public_key
        if pem is None:
            assert self.public_key_file is not None  # noqa: S101 - for the type checker
            pem = text_of("public_key_file", self.public_key_file)
        return public_key(pem.encode(), self.algorithms or ("RS256",))

    def _keys(self) -> SigningKeys:
        if self.jwks_url is None:
            return self._fixed_key()
        return RemoteKeys(
            self.jwks_url,
            BoundedHttp(
                timeout=self.jwks_timeout,
                max_body=_MAX_KEY_SET,
                max_connections=1,
                ca_file=self.jwks_ca_file,
            ),
            self.algorithms or ("RS256",),
            refresh=self.jwks_refresh,
            max_stale=self.jwks_max_stale,
            minimum_interval=self.jwks_min_interval,
        )

    def provider(self) -> JwtProvider:
        """The provider that is configured so."""
        demands = TokenDemands(
            issuer=self.issuer,
            audience=self.audience,
            leeway=self.leeway,
            must_expire=self.must_expire,
            claims=self.claims,
            client_type_claim=self.client_type_claim,
            publish_claim=self.publish_claim,
            subscribe_claim=self.subscribe_claim,
            rules=Rules(self.publish, self.subscribe),
        )
        return JwtProvider(self._keys(), demands)
