"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677) for enhanced authentication: a password that never travels.

The exchange itself is scramp's. This module finds the user's keys for it and sees to it that a client cannot tell a
name that there is from one that there is not: for an unknown name it goes on with a salt that is derived from a secret,
the same at each try and on each gateway, and keys that no password fits. It fails where a wrong password fails.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from scramp import ScramException, ScramMechanism

from identity.answers import Answer, Failure, Skipped, Success
from identity.attempt import ConnectAttempt
from identity.conversation import Challenge, Proven
from identity.credentials import ScramCredentials, ScramLookup, ScramVerifier
from identity.errors import DatabaseUnavailableError, InvalidError
from identity.passwords import SCRAM_ITERATIONS, SCRAM_MECHANISMS
from identity.scram_names import name_in, prepared_name

_SALT_BYTES = 32  # as many as stored verifiers have
_MAX_DATA = 1024  # a client's messages have some hundred bytes; SASLprep takes microseconds for each
_KEY_BYTES = {"SCRAM-SHA-256": 32, "SCRAM-SHA-512": 64}


class ScramProvider:
    """Clients that prove by SCRAM that they know a password."""

    name = "scram"

    def __init__(
        self,
        lookup: ScramLookup,
        secret: bytes,
        *,
        methods: Sequence[str] = SCRAM_MECHANISMS,
    ) -> None:
        """Nothing is asked yet.

        Args:
            lookup: The stored verifiers.
            secret: From which the salts of unknown names are derived: the same on all gateways, and kept over restarts.
            methods: The mechanisms that clients may choose from.
        """
        self._lookup = lookup
        self._secret = secret
        self._methods = tuple(methods)

    @property
    def methods(self) -> Sequence[str]:
        """The mechanisms that clients may choose from."""
        return self._methods

    async def authenticate(self, attempt: ConnectAttempt) -> Answer:  # noqa: ARG002
        """A CONNECT without an authentication method is for others."""
        return Skipped("the client names no authentication method")

    def converse(
        self, method: str, attempt: ConnectAttempt, username: str | None = None
    ) -> ScramConversation:
        """A conversation by one of `methods`; `username` as in `identity.chain.ConversingProvider`."""
        return ScramConversation(self, method, attempt, username)

    async def close(self) -> None:
        """Nothing to let go of."""

    async def find(self, method: str, username: str) -> tuple[ScramCredentials | None, ScramVerifier]:
        """What the database has on a name, and what to converse with: for an unknown name, with what fits nothing."""
        # Made in any case, so that both ways take the same time.
        unknown = self._verifier_of_nobody(method, username)
        credentials = await asyncio.to_thread(self._lookup.scram, username)
        verifiers: Mapping[str, ScramVerifier] = {} if credentials is None else credentials.verifiers
        verifier = verifiers.get(method)
        return (credentials, verifier) if verifier is not None else (None, unknown)

    def _verifier_of_nobody(self, method: str, username: str) -> ScramVerifier:
        salt = hmac.digest(self._secret, f"{method}\0{username}".encode(), "sha256")[:_SALT_BYTES]
        size = _KEY_BYTES[method]
        # What the hash of a key is to be, picked at random: nobody knows such a key.
        return ScramVerifier(SCRAM_ITERATIONS, salt, secrets.token_bytes(size), secrets.token_bytes(size))


class ScramConversation:
    """One exchange: client-first → server-first, client-final → server-final."""

    def __init__(
        self, provider: ScramProvider, method: str, attempt: ConnectAttempt, username: str | None
    ) -> None:
        """Made by `ScramProvider.converse`."""
        self._provider = provider
        self._method = method
        self._attempt = attempt
        self._expected = username
        self._credentials: ScramCredentials | None = None
        self._username = ""
        self._is_started = False
        self._server: Any = None  # scramp tells no types

    async def start(self, data: bytes | None) -> Challenge | Failure:
        """Take the client-first message; what it is answered with does not tell whether the name is known."""
        if self._is_started:
            return self._fail("the client starts again in the middle")
        self._is_started = True
        try:
            first = _text(data)
            self._username = name_in(first)
            if self._expected not in (None, self._username):
                return self._fail("a re-authentication names another user")
            if not _is_same(self._attempt.username, self._username):
                return self._fail("CONNECT has another user name than the SCRAM message")
            self._credentials, verifier = await self._provider.find(self._method, self._username)
            keys = (verifier.salt, verifier.stored_key, verifier.server_key, verifier.iterations)
            self._server = ScramMechanism(self._method).make_server(lambda _name: keys)
            self._server.set_client_first(first)
            return Challenge(self._server.get_server_first().encode())
        except ScramException as error:
            return self._fail(f"the first message is wrong ({error})")
        except DatabaseUnavailableError as error:
            self._server = None
            return Failure(str(error), is_temporary=True)

    async def go_on(self, data: bytes | None) -> Proven | Failure:
        """Take the client-final message."""
        server, self._server = self._server, None
        if server is None:
            return self._fail("no challenge waits for this answer")
        try:
            server.set_client_final(_text(data))
            final: str = server.get_server_final()
        except ScramException as error:
            return self._fail(f"the proof is wrong: unknown user or wrong password ({error})")
        credentials = self._credentials
        if credentials is None:
            # Would need a key of which a random number is the hash; for the type checker, and for good.
            return self._fail("the user is unknown")
        success = Success(
            credentials.client_type,
            credentials.rules,
            f"scram:{credentials.name}",
            credentials_id=credentials.id,
            username=self._username,
        )
        return Proven(success, final.encode())

    def _fail(self, reason: str) -> Failure:
        self._server = None
        return Failure(f"{self._provider.name}: {reason}")


def _is_same(in_connect: str | None, proven: str) -> bool:
    """Whether CONNECT has no user name, or one that is this name once it is prepared."""
    if in_connect is None or in_connect == proven:
        return True
    if len(in_connect) > _MAX_DATA:
        return False
    try:
        return prepared_name(in_connect) == proven
    except InvalidError:
        return False


def _text(data: bytes | None) -> str:
    """A message as text; ScramException where it is none, or too long."""
    if not data:
        raise ScramException("the client sent no data")
    if len(data) > _MAX_DATA:
        raise ScramException(f"the message has more than {_MAX_DATA} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ScramException("the message is not UTF-8") from None
