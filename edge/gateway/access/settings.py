"""Where a gateway finds out who its clients are; the providers have settings of their own (`identity.settings`)."""

from __future__ import annotations

import os
from typing import Annotated

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings

from edge.gateway.environment import env

_PROVIDERS = "SLUICEMQ_AUTH_PROVIDERS"


class AccessSettings(BaseSettings):
    """What decides whether anybody is asked who it is."""

    database: Annotated[SecretStr | None, Field(validation_alias=env("SLUICEMQ_DATABASE", "database"))] = None
    """URL of the database of identity: credentials, blocked clients, the list of unauthorized ones."""

    @property
    def asks_who(self) -> bool:
        """Whether clients are asked anything at all; if not, what asks them need not even be loaded."""
        is_named = any(name.upper() == _PROVIDERS and value.strip() for name, value in os.environ.items())
        return is_named or self.database is not None
