"""Clients that TLS knows by their certificates: a common name along the chain finds the credentials.

Every certificate here comes from an authority that the listener trusts; which of its clients are let in, and as what,
is what credentials say: by the client's own name, by that of the authority above it, or by a pattern for either.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from identity.answers import Answer, Failure, Skipped, Success
from identity.attempt import ConnectAttempt
from identity.credentials import X509Credentials, X509Lookup
from identity.errors import DatabaseUnavailableError, InvalidError
from identity.patterns import check_pattern, matches
from identity.providers.certificate_names import CertificateError, names_along

_log = logging.getLogger(__name__)

TELLS_WHOLE_CHAIN = sys.version_info >= (3, 13)
"""Whether `ssl` tells the chain that it has verified, or only the client's own certificate."""


@dataclass(frozen=True, slots=True)
class _Known:
    """The credentials of one revision, ready to be looked up."""

    revision: int
    exact: dict[str, X509Credentials]
    patterns: tuple[X509Credentials, ...]

    def find(self, names: Sequence[str]) -> X509Credentials | None:
        """Those for the name next to the client; for one name exact ones before patterns, these in their order."""
        for name in names:
            exact = self.exact.get(name)
            if exact is not None:
                return exact
            for credentials in self.patterns:
                if matches(credentials.common_name, name):
                    return credentials
        return None


class X509Provider:
    """Finds credentials by the common names of a client's chain."""

    name = "x509"

    def __init__(
        self,
        lookup: X509Lookup,
        *,
        client_id_is_name: bool = False,
        tells_whole_chain: bool = TELLS_WHOLE_CHAIN,
    ) -> None:
        """Nothing is asked yet.

        Args:
            lookup: The stored credentials, which are kept here until their revision grows.
            client_id_is_name: Whether a client's id must be the common name of its own certificate, so that it cannot
                take another client's session.
            tells_whole_chain: Whether an attempt's certificates are all of the chain. If not, the issuer that the
                last one names counts too.
        """
        self._lookup = lookup
        self._client_id_is_name = client_id_is_name
        self._with_issuer = not tells_whole_chain
        self._known: _Known | None = None
        self._reading = asyncio.Lock()

    async def authenticate(self, attempt: ConnectAttempt) -> Answer:
        """Success by the credentials for a name along the chain; skipped without a certificate or credentials."""
        if not attempt.certificates:
            return Skipped("the client has no certificate")
        try:
            names = names_along(attempt.certificates, with_issuer=self._with_issuer)
            credentials = (await self._current()).find(names.all)
        except CertificateError as error:
            return Failure(str(error))
        except DatabaseUnavailableError as error:
            return Failure(str(error), is_temporary=True)
        if credentials is None:
            return Skipped(f"there are no credentials for {', '.join(map(repr, names.all)) or 'no name'}")
        if self._client_id_is_name and attempt.client_id != names.own:
            return Failure(
                f"the certificate is that of {names.own!r}, and no other client id may be used with it"
            )
        return Success(
            credentials.client_type,
            credentials.rules,
            f"x509:{credentials.name}",
            credentials_id=credentials.id,
            username=names.own or "",  # CONNECT may have any user name: nothing has checked that
        )

    async def _current(self) -> _Known:
        known = self._known
        # The revision is read before the credentials: what is kept is never older than it says.
        revision = await asyncio.to_thread(self._lookup.revision)
        if known is not None and known.revision == revision:
            return known
        async with self._reading:
            # Any other revision: that of a database which was restored may be a smaller one.
            if self._known is None or self._known.revision != revision:
                self._known = await asyncio.to_thread(self._read, revision)
            return self._known

    def _read(self, revision: int) -> _Known:
        exact: dict[str, X509Credentials] = {}
        patterns = []
        for credentials in self._lookup.x509():
            if not credentials.is_pattern:
                exact.setdefault(credentials.common_name, credentials)
                continue
            try:
                check_pattern(credentials.common_name, placeholders=False)
            except InvalidError as error:
                # They are checked when they are stored; one that is wrong all the same lets in nobody.
                _log.error("The X.509 credentials %s are ignored: %s", credentials.name, error)
            else:
                patterns.append(credentials)
        return _Known(revision, exact, tuple(patterns))

    async def close(self) -> None:
        """Nothing to let go of."""
