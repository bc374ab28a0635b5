"""Enhanced authentication (section 4.12, MQTT 5.0) as a conversation: data from the client, data for it, an end.

The gateway carries the data in CONNECT, AUTH and CONNACK, and knows nothing of the method. A re-authentication is a
conversation of its own on the open connection.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from identity.answers import Failure, Success

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Challenge:
    """Send this in AUTH with the reason 0x18 (continue), and call `go_on` with what comes back."""

    data: bytes = field(repr=False)
    """The Authentication Data."""


@dataclass(frozen=True, slots=True)
class Proven:
    """The client is who it says it is: send this in CONNACK, or in AUTH with the reason 0 after a re-authentication."""

    success: Success
    """Who it is."""
    data: bytes = field(repr=False)
    """The Authentication Data, by which the server proves itself to the client."""


class Conversation(Protocol):
    """One conversation with one client. Ends with `Proven` or `Failure`; whatever follows is a failure."""

    async def start(self, data: bytes | None) -> Challenge | Proven | Failure:
        """Take the Authentication Data of CONNECT, or of the AUTH that asks for a re-authentication."""
        ...

    async def go_on(self, data: bytes | None) -> Challenge | Proven | Failure:
        """Take the Authentication Data of the AUTH that answers a challenge."""
        ...


class GuardedConversation:
    """A conversation in which what breaks is a failure."""

    def __init__(self, name: str, conversation: Conversation) -> None:
        """`name`: the provider's, for the log."""
        self._name = name
        self._conversation: Conversation | None = conversation

    async def start(self, data: bytes | None) -> Challenge | Proven | Failure:
        """As `Conversation.start`."""
        return (
            self._broken() if self._conversation is None else await self._step(self._conversation.start, data)
        )

    async def go_on(self, data: bytes | None) -> Challenge | Proven | Failure:
        """As `Conversation.go_on`."""
        return (
            self._broken() if self._conversation is None else await self._step(self._conversation.go_on, data)
        )

    async def _step(
        self,
        step: Callable[[bytes | None], Awaitable[Challenge | Proven | Failure]],
        data: bytes | None,
    ) -> Challenge | Proven | Failure:
        try:
            return await step(data)
        except Exception:
            _log.exception("The authentication provider %s broke", self._name)
            self._conversation = None
            return self._broken()

    def _broken(self) -> Failure:
        return Failure(f"{self._name}: it broke", is_temporary=True)
