"""Which authentication providers there are, in what order, and each one's settings: from the environment.

The settings of a provider are read, and must be right, only where it is enabled. What is wrong is told in one sentence
that names the variables, and never shows a value.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Protocol, TypeVar

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import SettingsConfigDict

from identity.basic import BasicLookup, BasicProvider
from identity.chain import Chain, Provider
from identity.credentials import ScramLookup, X509Lookup
from identity.errors import InvalidError
from identity.providers.basic import BasicInThreads
from identity.providers.http_settings import HttpSettings
from identity.providers.jwt_settings import JwtSettings
from identity.providers.scram_settings import ScramSettings
from identity.providers.x509 import X509Provider
from identity.setting_values import Names, ProviderSettings, known_names


class CredentialsLookup(BasicLookup, X509Lookup, ScramLookup, Protocol):
    """What providers ask of the database, as `identity.stored_credentials` answers it."""


_Settings = TypeVar("_Settings", bound=ProviderSettings)

PROVIDERS = ("basic", "x509", "jwt", "http", "scram")
"""What can be enabled."""


class OrderSettings(ProviderSettings):
    """The order of providers, `SLUICEMQ_AUTH_PROVIDERS`."""

    model_config = SettingsConfigDict(env_prefix="SLUICEMQ_AUTH_")

    providers: Names = ()
    """The enabled providers in the order in which they are asked; none: everybody is let in, as a DEVICE."""

    @field_validator("providers")
    @classmethod
    def _providers_are_known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return known_names(names, PROVIDERS)


class BasicSettings(ProviderSettings):
    """How passwords are checked, `SLUICEMQ_AUTH_BASIC_…`."""

    model_config = SettingsConfigDict(env_prefix="SLUICEMQ_AUTH_BASIC_")

    threads: Annotated[int, Field(ge=1, le=64)] = 4
    """How many are checked at a time; each takes a processor and 19 MiB."""
    hide_unknown: bool = True
    """Whether a client that is not known takes as long as one with a wrong password."""

    def provider(self, lookup: BasicLookup) -> BasicInThreads:
        """The provider that is configured so."""
        return BasicInThreads(BasicProvider(lookup, hide_unknown=self.hide_unknown), threads=self.threads)


class X509Settings(ProviderSettings):
    """How clients are known by their certificates, `SLUICEMQ_AUTH_X509_…`."""

    model_config = SettingsConfigDict(env_prefix="SLUICEMQ_AUTH_X509_")

    client_id_is_name: bool = False
    """Whether a client's id must be the common name of its own certificate."""

    def provider(self, lookup: X509Lookup) -> X509Provider:
        """The provider that is configured so."""
        return X509Provider(lookup, client_id_is_name=self.client_id_is_name)


@dataclass(frozen=True, slots=True)
class AuthenticationSettings:
    """The order of providers, and the settings of those that are enabled."""

    providers: tuple[str, ...] = ()
    basic: BasicSettings | None = None
    x509: X509Settings | None = None
    jwt: JwtSettings | None = None
    http: HttpSettings | None = None
    scram: ScramSettings | None = None

    def chain(self, lookup: CredentialsLookup | None = None) -> Chain:
        """The chain of providers that is configured; close it at the end.

        Args:
            lookup: The database's credentials; None where there is no database.

        Raises:
            InvalidError: A provider is enabled that needs a database, or a file cannot be used.
        """
        try:
            return Chain([self._provider(name, lookup) for name in self.providers])
        except OSError as error:
            raise InvalidError(f"a file of certificates cannot be used: {error}") from None

    def _provider(self, name: str, lookup: CredentialsLookup | None) -> Provider:
        if name == "jwt" and self.jwt is not None:
            return self.jwt.provider()
        if name == "http" and self.http is not None:
            return self.http.provider()
        if lookup is None:
            raise InvalidError(f"the provider {name!r} needs a database: configure one, or leave it out")
        if name == "x509" and self.x509 is not None:
            return self.x509.provider(lookup)
        if name == "scram" and self.scram is not None:
            return self.scram.provider(lookup)
        return (self.basic or BasicSettings()).provider(lookup)


def load_settings() -> AuthenticationSettings:
    """The settings in the environment.

    Raises:
        InvalidError: Some are wrong.
    """
    names = _loaded(OrderSettings).providers
    return AuthenticationSettings(
        names,
        basic=_loaded(BasicSettings) if "basic" in names else None,
        x509=_loaded(X509Settings) if "x509" in names else None,
        jwt=_loaded(JwtSettings) if "jwt" in names else None,
        http=_loaded(HttpSettings) if "http" in names else None,
        scram=_loaded(ScramSettings) if "scram" in names else None,
    )


def _loaded(settings: type[_Settings]) -> _Settings:
    prefix = str(settings.model_config["env_prefix"])
    if settings is not OrderSettings:
        _check_names(prefix, settings, os.environ)
    try:
        return settings()
    except ValidationError as error:
        wrong = "; ".join(
            f"{prefix}{'_'.join(str(part).upper() for part in each['loc'][:1]) or '…'}: {each['msg']}"
            for each in error.errors(include_input=False, include_url=False)
        )
        raise InvalidError(f"a setting of authentication is wrong: {wrong}") from None


def _check_names(prefix: str, settings: type[ProviderSettings], environment: Mapping[str, str]) -> None:
    """A misspelt setting would leave something unchecked in silence."""
    known = {prefix + name.upper() for name in settings.model_fields}
    for name in environment:
        if name.upper().startswith(prefix) and name.upper() not in known:
            raise InvalidError(f"there is no setting {name}: its provider has {', '.join(sorted(known))}")
