"""How settings are named in the environment."""

from __future__ import annotations

from pydantic import AliasChoices


def env(name: str, field: str) -> AliasChoices:
    """A setting's two names: its field's, for the command line and for code, and the environment's."""
    return AliasChoices(field, name)
