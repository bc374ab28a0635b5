"""What the database chooses about authentication providers, beside the environment: a value, and how it is checked.

The environment of a gateway stands above it, setting by setting: whoever runs a gateway can fix there what nobody is to
change over HTTP.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from pydantic import SecretStr

from identity.errors import InvalidError, NotThereError
from identity.setting_values import ProviderSettings
from identity.settings import PROVIDERS, SETTINGS, CredentialsLookup, settings_of


@dataclass(frozen=True, slots=True)
class ProviderChoices:
    """All that is chosen."""

    order: tuple[str, ...] | None = None
    """The enabled providers in their order; None: nothing is chosen, the environment alone counts."""
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By provider, its settings by name, as JSON has them; secrets too."""

    def of(self, name: str) -> Mapping[str, Any]:
        """The settings of a provider."""
        return self.settings.get(name, {})


def provider_settings(name: str) -> type[ProviderSettings]:
    """The settings that a provider has.

    Raises:
        NotThereError: There is no such provider.
    """
    if name not in SETTINGS:
        raise NotThereError(f"there is no provider {name!r}: take one of {', '.join(PROVIDERS)}")
    return SETTINGS[name]


def secrets_of(name: str) -> frozenset[str]:
    """The settings of a provider that nobody may be shown."""
    return _of_type(provider_settings(name), SecretStr)


def files_of(name: str) -> frozenset[str]:
    """The settings of a provider that name a file: it is on a gateway's machine, so only its environment sets them."""
    return _of_type(provider_settings(name), Path)


def check_settings(name: str, values: Mapping[str, Any]) -> None:
    """Check that a provider has settings of these names that may be chosen here.

    Raises:
        InvalidError: One is not.
        NotThereError: There is no such provider.
    """
    fields, files = provider_settings(name).model_fields, files_of(name)
    for setting in values:
        if setting in files:
            variable = f"{provider_settings(name).model_config['env_prefix']}{setting.upper()}"
            raise InvalidError(
                f"{setting} names a file on a gateway's machine: set {variable} in the gateway's environment"
            )
        if setting not in fields:
            known = ", ".join(sorted(fields.keys() - files))
            raise InvalidError(f"{name} has no setting {setting!r}: it has {known}")


def check_choices(choices: ProviderChoices, lookup: CredentialsLookup, also: Iterable[str] = ()) -> None:
    """Build what is chosen as a gateway with an empty environment would, and throw it away.

    Args:
        choices: What is to be.
        lookup: The database's credentials.
        also: Providers that are built too, though they are not enabled.

    Raises:
        InvalidError: Some of it cannot be.
    """
    names = choices.order or ()
    tried = (*names, *(name for name in also if name not in names))
    for name in set(tried) & set(PROVIDERS):
        check_settings(name, choices.of(name))
    chain = settings_of(tried, choices.settings, with_environment=False).chain(lookup)
    asyncio.run(chain.close())


def _of_type(settings: type[ProviderSettings], kind: type[Any]) -> frozenset[str]:
    return frozenset(
        name
        for name, one in settings.model_fields.items()
        if kind in (one.annotation, *get_args(one.annotation))
    )
