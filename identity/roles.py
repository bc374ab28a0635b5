"""What users of the administration may do."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """One user's role; each may do what those behind it may."""

    ADMINISTRATOR = "administrator"
    """Everything, users and tokens of others included."""
    OPERATOR = "operator"
    """Everything that concerns clients: their credentials, sessions, subscriptions, retained messages."""
    VIEWER = "viewer"
    """Look, and change nothing."""

    def includes(self, other: Role) -> bool:
        """Whether whoever has this role may do all that the other allows."""
        return _ORDER.index(self) <= _ORDER.index(other)


_ORDER = tuple(Role)
