"""Which authentication providers there are, in what order, and each one's settings: from the environment.

What it leaves open, the database may say (`identity.stored_providers`).

The settings of a provider are read, and must be right, only where it is enabled. What is wrong is told in one sentence
that names the variables, and never shows a value.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Protocol, TypeVar

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
ENVIRONMENT, DATABASE, NONE = "environment", "database", "none"
"""Where an order may come from; `NONE`: nobody says anything, so everybody is let in."""
_ALL = "SLUICEMQ_AUTH_"
_NO_VARIABLE = "="
"""No variable's name can begin so."""


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
    source: str = NONE
    """Where their order comes from."""

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


SETTINGS: Mapping[str, type[ProviderSettings]] = {
    "basic": BasicSettings,
    "x509": X509Settings,
    "jwt": JwtSettings,
    "http": HttpSettings,
    "scram": ScramSettings,
}
"""The settings of each provider."""


def load_settings(
    order: Sequence[str] | None = None, stored: Mapping[str, Mapping[str, Any]] | None = None
) -> AuthenticationSettings:
    """The settings in the environment; what it does not set is taken from what is given.

    Args:
        order: The enabled providers, where the environment names none; None: nobody says.
        stored: Their settings, by provider and name.

    Raises:
        InvalidError: Some are wrong.
    """
    names = _loaded(OrderSettings, {}).providers
    source = ENVIRONMENT if names else NONE if order is None else DATABASE
    return replace(settings_of(names or order or (), stored or {}), source=source)


def settings_of(
    names: Sequence[str], stored: Mapping[str, Mapping[str, Any]], *, with_environment: bool = True
) -> AuthenticationSettings:
    """The settings of these providers.

    Args:
        names: They, in their order.
        stored: What the environment leaves open, by provider and name.
        with_environment: Whether it is looked at.

    Raises:
        InvalidError: Some are wrong.
    """
    try:
        known_names(tuple(names), PROVIDERS)
    except ValueError as error:
        raise InvalidError(f"the providers cannot be these: {error}") from None
    known = {
        name: _loaded(SETTINGS[name], stored.get(name, {}), with_environment=with_environment)
        for name in names
    }
    return AuthenticationSettings(tuple(names), **known)  # type: ignore[arg-type] # each of its own class


def _loaded(
    settings: type[_Settings], stored: Mapping[str, Any], *, with_environment: bool = True
) -> _Settings:
    prefix = str(settings.model_config["env_prefix"])
    if with_environment:
        if settings is not OrderSettings:
            _check_names(prefix, settings, os.environ)
        given = {name.upper() for name in os.environ}
        stored = {name: value for name, value in stored.items() if prefix + name.upper() not in given}
    try:
        # The type checker does not know that settings take this.
        return settings(_env_prefix=None if with_environment else _NO_VARIABLE, **stored)  # type: ignore[call-arg]
    except ValidationError as error:
        shown = prefix if with_environment else prefix.removeprefix(_ALL).lower()
        wrong = "; ".join(
            f"{shown}{_setting(each['loc'], with_environment)}: {each['msg']}"
            for each in error.errors(include_input=False, include_url=False)
        )
        raise InvalidError(f"a setting of authentication is wrong: {wrong}") from None


def _setting(location: tuple[int | str, ...], is_variable: bool) -> str:
    name = "_".join(map(str, location[:1])) or "…"
    return name.upper() if is_variable else name


def _check_names(prefix: str, settings: type[ProviderSettings], environment: Mapping[str, str]) -> None:
    """A misspelt setting would leave something unchecked in silence."""
    known = {prefix + name.upper() for name in settings.model_fields}
    for name in environment:
        if name.upper().startswith(prefix) and name.upper() not in known:
            raise InvalidError(f"there is no setting {name}: its provider has {', '.join(sorted(known))}")
