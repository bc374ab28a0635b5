"""Which passwords were right a moment ago, so that a client that comes back does not cost an Argon2 check each time.

A password is never kept: what is kept is an HMAC of the stored hash and the password, by a key that this process made
for itself and that never leaves it. Another hash, as after a change of the password, is another HMAC. Only right
passwords are here, so being quick tells nobody anything that the answer does not.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock


class VerifiedPasswords:
    """Right passwords, at most `limit`, each for `ttl_seconds` since it was checked. For any thread."""

    def __init__(
        self, limit: int = 10_000, ttl_seconds: float = 600, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`clock` tells seconds."""
        self._limit = limit
        self._ttl = ttl_seconds
        self._clock = clock
        self._secret = secrets.token_bytes(32)
        self._until: OrderedDict[bytes, float] = OrderedDict()
        self._revision: int | None = None
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._until)

    def knows(self, revision: int, password_hash: str, password: bytes) -> bool:
        """Whether this password was right for this hash, and nothing has changed since.

        `revision` is that of the credentials as they were read; another than last time forgets everything.
        """
        key = self._key(password_hash, password)
        with self._lock:
            if revision != self._revision:
                self._until.clear()
                self._revision = revision
            until = self._until.get(key)
            if until is None:
                return False
            if until <= self._clock():
                del self._until[key]
                return False
            return True

    def add(self, revision: int, password_hash: str, password: bytes) -> None:
        """Remember a password that was right."""
        key = self._key(password_hash, password)
        with self._lock:
            if revision != self._revision:
                return  # a change came meanwhile
            self._until[key] = self._clock() + self._ttl
            self._until.move_to_end(key)
            while len(self._until) > self._limit:
                self._until.popitem(last=False)

    def _key(self, password_hash: str, password: bytes) -> bytes:
        # A hash in its usual form holds no U+0000: nothing of the one can be taken for the other's.
        return hmac.digest(self._secret, password_hash.encode() + b"\0" + password, "sha256")
