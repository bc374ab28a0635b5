"""Passwords made unreadable: Argon2id hashes, and verifiers for SCRAM.

All of it takes time on purpose, some 25 ms of a processor each: call it in a thread, never on the event loop.
"""

from __future__ import annotations

from functools import lru_cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from scramp import ScramException, ScramMechanism

from identity.credentials import ScramVerifier
from identity.errors import InvalidError

SCRAM_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")

# What OWASP asks for at least: 19 MiB, two passes, one lane. More would let clients that connect at once, each with a
# check under way, take a gateway's memory.
_HASHER = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
# At each connection the client, perhaps a small device, computes as many rounds.
SCRAM_ITERATIONS = 10_000


def hash_password(password: bytes) -> str:
    """An Argon2id hash with a salt of its own. Blocking.

    Raises:
        InvalidError: The password is empty.
    """
    if not password:
        raise InvalidError("the password is empty: give it at least one character")
    return _HASHER.hash(password)


def is_password(password: bytes, password_hash: str) -> bool:
    """Whether a hash was made of this password; False also for what is no hash. Blocking."""
    try:
        return _HASHER.verify(password_hash, password)
    except (VerificationError, InvalidHashError):
        return False


def spend_a_check(password: bytes) -> None:
    """Take as long as `is_password`, so that the time tells nobody whether there was a hash to check. Blocking."""
    is_password(password, _nobodys_hash())


def scram_verifiers(password: str) -> dict[str, ScramVerifier]:
    """A verifier for each mechanism, with a salt of its own. Blocking.

    Raises:
        InvalidError: The password is empty, or holds what no password in SCRAM may (RFC 4013).
    """
    if not password:
        raise InvalidError("the password is empty: give it at least one character")
    verifiers = {}
    for mechanism in SCRAM_MECHANISMS:
        try:
            salt, stored_key, server_key, iterations = ScramMechanism(mechanism).make_auth_info(
                password, iteration_count=SCRAM_ITERATIONS
            )
        except ScramException:  # its text might show the password
            raise InvalidError(
                "the password has characters that SCRAM does not allow: choose another"
            ) from None
        verifiers[mechanism] = ScramVerifier(iterations, salt, stored_key, server_key)
    return verifiers


@lru_cache(maxsize=1)
def _nobodys_hash() -> str:
    return _HASHER.hash(b"nobody's")
