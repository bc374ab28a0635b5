"""The chain of providers that is in force, and what the database wants to be: built anew when that has changed.

A chain that cannot be built leaves the former one in force, and nobody is let in by less than before.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Protocol

from contracts.state_record import Authentication
from identity.chain import Chain
from identity.errors import InvalidError
from identity.provider_choices import ProviderChoices
from identity.settings import AuthenticationSettings, CredentialsLookup, load_settings

log = logging.getLogger(__name__)


class Choices(Protocol):
    """What is asked when something has changed (`identity.stored_providers.StoredProviders`)."""

    def choices(self) -> ProviderChoices:
        """All that is chosen."""
        ...


@dataclass(frozen=True)
class Rebuilt:
    """What has become of changed choices."""

    choices: ProviderChoices
    chain: Chain | None
    """None: it cannot be built."""
    in_force: Authentication


class Chains:
    """Makes chains of the environment and the database's choices."""

    def __init__(self, stored: Choices, lookup: CredentialsLookup) -> None:
        """Nothing is asked yet."""
        self._stored = stored
        self._lookup = lookup
        self._choices: ProviderChoices | None = None
        self.in_force = Authentication()
        """What the gateway tells of it."""

    def first(self) -> Chain:
        """The chain to begin with; blocking.

        Raises:
            InvalidError: It cannot be built.
            DatabaseUnavailableError: The database does not answer.
        """
        self._choices = self._stored.choices()
        settings = _settings(self._choices)
        chain = settings.chain(self._lookup)
        self.in_force = described(settings)
        return chain

    def rebuild(self) -> Rebuilt | None:
        """What has become of the choices since `taken`; None: they are the same. Blocking, for a thread.

        Raises:
            DatabaseUnavailableError: The database does not answer.
        """
        choices = self._stored.choices()
        if choices == self._choices:
            return None
        try:
            settings = _settings(choices)
            return Rebuilt(choices, settings.chain(self._lookup), described(settings))
        except InvalidError as error:
            log.error("the authentication providers stay as they are: %s", error)
            now = self.in_force
            return Rebuilt(choices, None, Authentication(now.providers, now.source, str(error)))

    def taken(self, rebuilt: Rebuilt) -> None:
        """It is in force from now on."""
        self._choices = rebuilt.choices
        self.in_force = rebuilt.in_force


def described(settings: AuthenticationSettings) -> Authentication:
    """What a gateway tells of its providers."""
    return Authentication(settings.providers, settings.source)


def _settings(choices: ProviderChoices) -> AuthenticationSettings:
    return load_settings(choices.order, choices.settings)
