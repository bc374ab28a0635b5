"""What an authentication provider answers: success, skipped, or failure; and what a success lets a client do.

Providers are asked in an order that the configuration gives. The first success lets the client in, a failure turns it
away, and after `Skipped` the next one is asked. No answer ever holds a password, a token or a key.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ClientType(StrEnum):
    """How a client's messages are kept; the names are those of `contracts.session_event`."""

    DEVICE = "DEVICE"
    APPLICATION = "APPLICATION"


@dataclass(frozen=True, slots=True)
class Rules:
    """What a client may publish and subscribe to, as patterns. `identity.rules` checks and applies them.

    In both lists: None (nothing said) allows everything, and an empty list nothing.
    """

    publish: tuple[str, ...] | None = None
    """Patterns of topics; one that matches a whole topic allows it."""
    subscribe: tuple[str, ...] | None = None
    """Patterns of filters, written without `$share/<group>/`, `$queue/` and `$exclusive/`."""


NO_RULES = Rules()
"""Nothing said: everything is allowed."""


@dataclass(frozen=True, slots=True)
class Success:
    """The client is who it says it is."""

    client_type: ClientType
    rules: Rules
    """Not filled in yet: `${clientid}` and `${username}` stand in them as they were written."""
    who: str
    """Provider and credentials, such as `basic:sensors`, for logs and the administration; never a secret."""
    credentials_id: int | None = None
    """The stored credentials behind it, whose later changes concern this client; None where nothing is stored."""
    username: str | None = None
    """What `${username}` stands for in the rules: the name that was proven, whatever user name CONNECT had. Empty: none
    was proven, and rules with `${username}` allow nothing. None: the user name of CONNECT, which was checked."""
    expires_at: float | None = None
    """When this no longer holds (seconds since 1970), so that the connection is to end then; None: it holds on."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """This provider knows nothing of the client; the next one may."""

    reason: str
    """One line for the log and for the list of unauthorized clients; never sent to the client."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The client is turned away, and no other provider is asked."""

    reason: str
    """One line for the log and for the list of unauthorized clients; never sent to the client."""
    is_temporary: bool = False
    """Whether nothing was found wrong with the client, but what judges it did not answer: it may try again."""


Answer = Success | Skipped | Failure
