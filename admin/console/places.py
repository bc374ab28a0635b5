"""The console's places: what stands in its navigation, in which order."""

from __future__ import annotations

from dataclasses import dataclass

from identity.roles import Role


@dataclass(frozen=True)
class Place:
    """A page that the navigation leads to."""

    path: str
    title: str
    role: Role = Role.VIEWER
    """Who sees it."""


PLACES: tuple[tuple[str, tuple[Place, ...]], ...] = (
    (
        "Access",
        (
            Place("/credentials", "Credentials"),
            Place("/authorization", "Authorization test"),
            Place("/blocked", "Blocked clients"),
            Place("/unauthorized", "Unauthorized clients"),
        ),
    ),
    (
        "Administration",
        (
            Place("/users", "Users", Role.ADMINISTRATOR),
            Place("/tokens", "Tokens"),
        ),
    ),
)
