"""The settings of SCRAM, `SLUICEMQ_AUTH_SCRAM_…`."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import SecretStr, model_validator
from pydantic_settings import SettingsConfigDict

from identity.credentials import ScramLookup
from identity.passwords import SCRAM_MECHANISMS
from identity.providers.scram import ScramProvider
from identity.setting_values import Names, ProviderSettings, known_names, secret_of

_LEAST_SECRET = 16  # bytes: as hard to guess as a key of AES-128, if they are random


class ScramSettings(ProviderSettings):
    """How clients prove by SCRAM that they know a password."""

    model_config = SettingsConfigDict(env_prefix="SLUICEMQ_AUTH_SCRAM_")

    secret: SecretStr | None = None
    """From what the salts of unknown names are derived, or"""
    secret_file: Path | None = None
    """a file with it."""
    methods: Names = SCRAM_MECHANISMS
    """The mechanisms that clients may choose from."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        known_names(self.methods, SCRAM_MECHANISMS)
        if not self.methods:
            raise ValueError(f"methods is empty: take some of {', '.join(SCRAM_MECHANISMS)}")
        self._secret()
        return self

    def _secret(self) -> bytes:
        secret = secret_of("secret", self.secret, self.secret_file)
        if secret is None:
            raise ValueError(
                "secret or secret_file must be set, to the same random text on all gateways: without it, strangers "
                "could find out which user names there are"
            )
        value = secret.get_secret_value().encode()
        if len(value) < _LEAST_SECRET:
            raise ValueError(
                f"the secret has {len(value)} bytes: make it at least {_LEAST_SECRET}, at random"
            )
        return value

    def provider(self, lookup: ScramLookup) -> ScramProvider:
        """The provider that is configured so."""
        return ScramProvider(lookup, self._secret(), methods=self.methods)
