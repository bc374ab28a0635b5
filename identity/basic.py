"""The basic provider: client id, user name, or both, and a password."""

from __future__ import annotations

from typing import Protocol

from identity.answers import Answer, Failure, Skipped, Success
from identity.credentials import BasicCredentials
from identity.passwords import is_password, spend_a_check
from identity.verified_passwords import VerifiedPasswords


class BasicLookup(Protocol):
    """What this provider asks of the database."""

    def basic(self, client_id: str, username: str | None) -> tuple[int, list[BasicCredentials]]:
        """The revision, and the basic credentials for a client, the most specific first."""
        ...


class BasicProvider:
    """Tells by what the database has, asked anew each time: no answer is older than the question."""

    def __init__(
        self,
        lookup: BasicLookup,
        verified: VerifiedPasswords | None = None,
        *,
        hide_unknown: bool = True,
    ) -> None:
        """`verified`: right passwords of a moment ago, with its own limits; by default this provider's own.

        `hide_unknown`: take as long over a client that is not known as over a wrong password, so that the time does not
        tell which names there are. Where most clients are another provider's, that is an Argon2 check for each of
        their connections; then it may be left out.
        """
        self._lookup = lookup
        self._verified = verified if verified is not None else VerifiedPasswords()
        self._hide_unknown = hide_unknown

    def authenticate(self, client_id: str, username: str | None, password: bytes | None) -> Answer:
        """Tell who a client is.

        Blocking: a query, and for a password that was not right a moment ago some 25 ms of a processor and 19 MiB. Call
        it in a thread pool, whose size bounds both.

        Of several credentials for the client, the most specific whose password is right counts. Skipped: there are
        none. Failure: there are, and the password is wrong or missing.

        Args:
            client_id: From CONNECT; empty where the broker is to assign one.
            username: From CONNECT.
            password: From CONNECT, as it came.

        Raises:
            DatabaseUnavailableError: The database does not answer, so nobody can be let in.
        """
        revision, candidates = self._lookup.basic(client_id, username)
        if not candidates:
            if self._hide_unknown and password is not None:
                spend_a_check(password)
            return Skipped("no basic credentials for this client id and user name")
        for credentials in candidates:
            if self._is_right(revision, credentials.password_hash, password):
                return Success(
                    credentials.client_type,
                    credentials.rules,
                    f"basic:{credentials.name}",
                    credentials.id,
                    # Credentials for a client id alone take any user name: it is proven by nothing.
                    username="" if credentials.username is None else None,
                )
        return Failure("no password was given" if password is None else "the password is wrong")

    def _is_right(self, revision: int, password_hash: str | None, password: bytes | None) -> bool:
        if password_hash is None:
            return True
        if password is None:
            return False
        if self._verified.knows(revision, password_hash, password):
            return True
        if not is_password(password, password_hash):
            return False
        self._verified.add(revision, password_hash, password)
        return True
