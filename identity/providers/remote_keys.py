"""A JSON Web Key Set at a URL: fetched when it is needed, kept, and asked for anew when a token names an unknown key.

Strangers choose the key ids in their tokens, so they must not choose how often the URL is asked: after any attempt,
good or bad, there is none for the minimum interval. Tokens with known keys never wait for the URL, unless what is known
has become too old to trust.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import AllowedPublicKeys

from identity.providers.bounded_http import BoundedHttp, HttpServiceError
from identity.providers.signing_keys import LEAST_RSA_BITS

_log = logging.getLogger(__name__)


class KeysUnavailableError(Exception):
    """There are no keys that may be used, and none could be fetched."""


_FAMILIES = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
"""By the first letters of an algorithm's name: what JSON Web Keys call the kind of key that it takes."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """One key of a set."""

    kid: str | None
    """Its id."""
    family: str
    """RSA, EC or OKP."""
    algorithm: str | None
    """The only algorithm that it is for, where the set says so."""
    key: AllowedPublicKeys
    """The key."""

    def fits(self, algorithm: str) -> bool:
        """Whether it may check signatures of this algorithm."""
        if self.algorithm is not None:
            return self.algorithm == algorithm
        return self.family == _FAMILIES.get(algorithm[:2])


class RemoteKeys:
    """The public keys at a URL."""

    def __init__(
        self,
        url: str,
        http: BoundedHttp,
        algorithms: Sequence[str],
        *,
        refresh: float = 300.0,
        max_stale: float = 3600.0,
        minimum_interval: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is fetched yet.

        Args:
            url: Where the key set is.
            http: Asks it; closed by `close`.
            algorithms: Those that tokens may be signed with, none of them HMAC.
            refresh: Seconds after which it is asked for in the background.
            max_stale: Seconds after which keys are no longer used when they could not be fetched anew: how long a key
                that was withdrawn may live while the URL does not answer.
            minimum_interval: Least seconds between two attempts.
            clock: Seconds, monotonic.
        """
        self._url = url
        self._http = http
        self._algorithms = tuple(algorithms)
        self._refresh_after = refresh
        self._max_stale = max_stale
        self._minimum_interval = minimum_interval
        self._clock = clock
        self._keys: tuple[PublicKey, ...] = ()
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._fetching: asyncio.Task[None] | None = None

    @property
    def algorithms(self) -> Sequence[str]:
        """The algorithms that tokens may be signed with."""
        return self._algorithms

    async def find(self, kid: str | None, algorithm: str) -> AllowedPublicKeys | None:
        """The key with this id for this algorithm, or None; without an id, the one key there is for the algorithm.

        Raises:
            KeysUnavailableError: Nothing is known, and the URL gives no key set.
        """
        age = self._age()
        if age is None or age > self._max_stale:
            await self._fetch()
            age = self._age()
            if age is None or age > self._max_stale:
                raise KeysUnavailableError(f"there is no usable key set at {self._url}")
        elif age > self._refresh_after:
            self._start_fetching()
        key = self._known(kid, algorithm)
        if key is None and kid is not None:
            await self._fetch()
            key = self._known(kid, algorithm)
        return key

    def _age(self) -> float | None:
        return None if self._fetched_at is None else self._clock() - self._fetched_at

    def _known(self, kid: str | None, algorithm: str) -> AllowedPublicKeys | None:
        fitting = [key for key in self._keys if key.fits(algorithm) and kid in (None, key.kid)]
        # Without an id there must be no choice: to try one key after the other is work that strangers would cause.
        return fitting[0].key if len(fitting) == 1 or (fitting and kid is not None) else None

    async def _fetch(self) -> None:
        task = self._start_fetching()
        if task is not None:
            # One client that goes away must not end the attempt that others wait for.
            await asyncio.shield(task)

    def _start_fetching(self) -> asyncio.Task[None] | None:
        """The attempt under way, or a new one; None when the last one is too recent."""
        if self._fetching is None:
            now = self._clock()
            if self._tried_at is not None and now - self._tried_at < self._minimum_interval:
                return None
            self._tried_at = now
            self._fetching = asyncio.create_task(self._ask())
            self._fetching.add_done_callback(self._has_asked)
        return self._fetching

    def _has_asked(self, _task: asyncio.Task[None]) -> None:
        self._fetching = None

    async def _ask(self) -> None:
        try:
            answer = await self._http.get(self._url)
            if answer.status != 200:
                raise HttpServiceError(f"it answered with the status {answer.status}")
            keys = parse_key_set(answer.body)
        except (HttpServiceError, ValueError) as error:
            _log.warning("No new key set from %s: %s", self._url, error)
            return
        self._keys = keys
        self._fetched_at = self._clock()

    async def close(self) -> None:
        """End an attempt that is under way and close the connections."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.wait([self._fetching])
        await self._http.close()


def parse_key_set(body: bytes) -> tuple[PublicKey, ...]:
    """The public keys for signatures in a JSON Web Key Set; ValueError where there are none.

    Secrets (`oct`) are left out: what everyone can fetch proves nothing. So are keys for encryption, and kinds that are
    not known here, and RSA keys that are too short.
    """
    try:
        entries = json.loads(body)["keys"]
    except (ValueError, RecursionError, TypeError, KeyError):
        raise ValueError("what it gave is no JSON Web Key Set") from None
    keys = tuple(key for entry in entries if (key := _public_key(entry)) is not None)
    if not keys:
        raise ValueError("its key set has no public key for signatures")
    return keys


def _public_key(entry: Any) -> PublicKey | None:
    if not isinstance(entry, dict) or entry.get("use", "sig") != "sig":
        return None
    family = entry.get("kty")
    if not isinstance(family, str) or family not in _FAMILIES.values():
        return None
    try:
        key = jwt.PyJWK(entry)
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    if isinstance(key.key, rsa.RSAPublicKey) and key.key.key_size < LEAST_RSA_BITS:
        return None
    kid = entry.get("kid")
    return PublicKey(kid if isinstance(kid, str) else None, family, entry.get("alg"), key.key)
