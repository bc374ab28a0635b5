"""Authentication providers in their order: the first success lets a client in, a failure turns it away at once.

A provider that knows nothing of a client skips it, and the next one is asked; a client that all have skipped is turned
away. Where no provider is enabled every client is a DEVICE that may do everything. A provider that breaks is a failure:
nothing that goes wrong lets anybody in.

A CONNECT of MQTT 5.0 that names an authentication method is for the provider of that method alone: `converse`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from identity.answers import NO_RULES, Answer, ClientType, Failure, Skipped, Success
from identity.attempt import ConnectAttempt
from identity.conversation import Conversation, GuardedConversation

_log = logging.getLogger(__name__)

OPEN = Success(ClientType.DEVICE, NO_RULES, "open")
"""What everybody gets where no provider is enabled."""


class Provider(Protocol):
    """One way of telling who a client is."""

    @property
    def name(self) -> str:
        """Its name in the settings and in logs."""
        ...

    async def authenticate(self, attempt: ConnectAttempt) -> Answer:
        """Judge a CONNECT without an authentication method."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


@runtime_checkable
class ConversingProvider(Provider, Protocol):
    """A provider that also does enhanced authentication (section 4.12, MQTT 5.0)."""

    @property
    def methods(self) -> Sequence[str]:
        """The authentication methods that it knows."""
        ...

    def converse(self, method: str, attempt: ConnectAttempt, username: str | None = None) -> Conversation:
        """A conversation by one of its methods.

        Args:
            method: One of `methods`.
            attempt: The CONNECT; in a re-authentication that which the connection began with.
            username: In a re-authentication the name that was proven first: no other may be proven now.
        """
        ...


class Chain:
    """The providers of one gateway."""

    def __init__(self, providers: Sequence[Provider] = ()) -> None:
        """`providers` in the order in which they are asked."""
        self._providers = tuple(providers)
        conversing = [each for each in providers if isinstance(each, ConversingProvider)]
        self._by_method = {method: each for each in conversing for method in each.methods}

    @property
    def is_open(self) -> bool:
        """Whether no provider is enabled, so that everybody is let in."""
        return not self._providers

    async def authenticate(self, attempt: ConnectAttempt) -> Success | Failure:
        """Who this client is, or why it is turned away."""
        if self.is_open:
            return OPEN
        skipped = []
        for provider in self._providers:
            try:
                answer = await provider.authenticate(attempt)
            except Exception:
                _log.exception("The authentication provider %s broke", provider.name)
                return Failure(f"{provider.name}: it broke", is_temporary=True)
            if isinstance(answer, Failure):
                return Failure(f"{provider.name}: {answer.reason}", answer.is_temporary)
            if isinstance(answer, Skipped):
                skipped.append(f"{provider.name}: {answer.reason}")
            else:
                return answer
        return Failure("; ".join(skipped))

    def converse(
        self, method: str, attempt: ConnectAttempt, username: str | None = None
    ) -> Conversation | None:
        """A conversation by this method (see `ConversingProvider`); None where no provider knows it: 0x8C."""
        provider = self._by_method.get(method)
        if provider is None:
            return None
        return GuardedConversation(provider.name, provider.converse(method, attempt, username))

    async def close(self) -> None:
        """Let go of what the providers hold."""
        for provider in self._providers:
            await provider.close()
